"""DeepSpeed's bucket sizes come in with a configuration. What is right: transformers' rule for auto, DeepSpeed's names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.exchange import import_files
from memplan.plan.hardware import Sharding

MODEL = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "vocab_size": 1000,
}


def sharding(folder: Path, zero: dict[str, Any]) -> Sharding:
    content = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "zero_optimization": zero}
    given = folder / "ds_config.json"
    given.write_text(json.dumps({**content, "bf16": {"enabled": True}}), encoding="utf-8")
    model = folder / "config.json"
    model.write_text(json.dumps(MODEL), encoding="utf-8")
    answers = {"hardware.devices": 8, "training.sequence_length": 512, "training.method": "full"}
    imported = import_files([given, model], answers)
    assert imported.scenario is not None, imported.notes
    return imported.scenario.hardware.sharding


def test_sizes_that_are_given_are_taken(tmp_path: Path) -> None:
    found = sharding(
        tmp_path,
        {
            "stage": 3,
            "reduce_bucket_size": 1e7,
            "stage3_prefetch_bucket_size": 2e7,
            "param_persistence_threshold": 30000,
            "stage3_max_reuse_distance": 0,
        },
    )
    assert (found.reduce_bucket, found.prefetch_bucket) == (10_000_000, 20_000_000)
    assert (found.persistence_threshold, found.reuse_distance) == (30_000, 0)


def test_auto_is_an_empty_field(tmp_path: Path) -> None:
    found = sharding(tmp_path, {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto"})
    assert (found.reduce_bucket, found.prefetch_bucket) == (None, None)
    assert found.persistence_threshold == 100_000  # DeepSpeed's own, where nothing is said


@pytest.mark.parametrize("stage", [1, 2])
def test_overlap_takes_a_second_bucket(tmp_path: Path, stage: int) -> None:
    assert sharding(tmp_path, {"stage": stage, "overlap_comm": True}).overlap_comm
