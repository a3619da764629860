"""Broken files are refused in words: the inputs that once broke a reader, and a few hundred new ones of each reader."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tools.fuzz_exchange import CORPUS, READERS, defect, mutations, seeds

NUM_INPUTS = 150


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.name)
def test_what_once_broke_a_reader_is_read_or_refused(path: Path) -> None:
    assert defect(path.name, path.read_bytes()) == ""


@pytest.mark.parametrize("reader", READERS)
def test_broken_files_are_refused_in_words(reader: str) -> None:
    assert len(seeds(reader)) >= 3
    found = [what for name, data in islice(mutations(reader, 1), NUM_INPUTS) if (what := defect(name, data))]
    assert found == []


def test_the_same_seed_makes_the_same_inputs() -> None:
    assert list(islice(mutations("trl", 5), 20)) == list(islice(mutations("trl", 5), 20))
    assert list(islice(mutations("trl", 5), 20)) != list(islice(mutations("trl", 6), 20))


def test_a_defect_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz_exchange.import_documents", lambda documents, answers: [][1])
    assert "IndexError" in defect("a.json", b'{"base_model": "gpt2", "micro_batch_size": 1}')
