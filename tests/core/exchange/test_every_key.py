"""An import lists every key of a file, whatever its format. A model's own config.json is its architecture's business."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from memplan.exchange import import_files
from memplan.exchange.documents import read_documents
from memplan.exchange.formats import read_all
from memplan.exchange.importing import import_documents
from memplan.exchange.notes import ImportNote
from tests.core.exchange.cases import CASES, expected, inputs, name_of

_MODELS = ("Hugging Face model", "safetensors weights")
READ = [case for case in CASES if "error" not in expected(case)]


@pytest.mark.parametrize("case", READ, ids=name_of)
def test_every_key_of_a_file_is_listed(case: Path) -> None:
    documents = [document for path in inputs(case) for document in read_documents(path)]
    answers = {
        path: tuple(value) if isinstance(value, list) else value
        for path, value in expected(case).get("answers", {}).items()
    }
    listed = import_documents(documents, answers).notes
    if any("more keys" in note.title for note in listed):
        return  # so many unknown ones that they are counted instead
    recipes = [one for one in documents if all(reading.title not in _MODELS for reading in read_all(one))]
    assert {str(key) for one in recipes for key in one.content if not _stands_in(str(key), listed)} == set()


def _stands_in(key: str, notes: Sequence[ImportNote]) -> bool:
    pattern = re.compile(rf"(?<![\w.]){re.escape(key)}(?!\w)")
    return any(pattern.search(f"{note.title} {note.words} {note.source}") for note in notes)


def test_what_decides_and_what_is_empty_is_listed(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    lines = (
        "base_model: Qwen/Qwen3-8B",
        "adapter: qlora",
        "load_in_4bit: true",
        "load_in_8bit: false",
        "lora_r: 16",
        "sample_packing: true",
        "pad_to_sequence_len: true",
        "fsdp:",
        "wandb_project:",
    )
    recipe.write_text("\n".join(lines), encoding="utf-8")
    notes = {note.title: note for note in import_files([recipe], {"hardware.devices": 1}).notes}
    assert (notes["sample_packing"].kind, "packed" in notes["sample_packing"].words) == ("assumed", True)
    assert notes["Also read"].words == 'adapter "qlora", load_in_8bit false, pad_to_sequence_len true'
    assert notes["Empty keys"].words == "their defaults count: fsdp, wandb_project"
