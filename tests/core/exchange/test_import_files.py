"""Every input means exactly the scenario beside it. What is right: the trainers' own libraries, named in each reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from memplan.exchange import import_files
from tests.core.exchange.cases import CASES, expected, name_of, outcome


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_file_means_this_scenario(case: Path) -> None:
    assert outcome(case) == expected(case)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("fsdp: [full_shard, auto_wrap]", "fsdp"),
        ("fsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: false}", "fsdp_config"),
        ("fsdp_version: 2\nfsdp_config: {offload_params: false}", "fsdp_config"),
    ],
)
def test_sharding_is_said_to_stand_where_it_stands(tmp_path: Path, text: str, key: str) -> None:
    """axolotl takes `fsdp` alone, with no section; the key that an import names is one that the file has."""
    file = tmp_path / "axolotl.yml"
    file.write_text(f"base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 1\nsequence_len: 512\n{text}\n")
    notes = {note.path: note for note in import_files([file]).notes}
    assert notes["hardware.sharding.strategy"].source == f"{key} in axolotl.yml"
