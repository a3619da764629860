"""Modules trained whole beside adapters. What is right: traces of PEFT 0.21.2 under transformers 5.24 and PyTorch 2.13."""

from __future__ import annotations

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import Estimate

LLAMA_1B = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128_256,
    "tie_word_embeddings": True,
}
TABLE_BYTES = 128_256 * 2048 * 2
TRACED = {
    "none": {"forward_end": 7_572_959_232, "backward_peak": 8_623_623_680, "step_peak": 5_323_880_960},
    "full": {"forward_end": 5_046_816_768, "backward_peak": 6_097_481_216, "step_peak": 5_323_880_960},
}


def answer(saved: list[str], **training: str) -> Estimate:
    """LoRA of rank 16 on every matrix of Llama-3.2-1B, 1024 tokens."""
    lora = {"rank": 16, "modules_to_save": saved}
    return estimate(
        Scenario.model_validate(
            {
                "model": {"config": LLAMA_1B},
                "training": {"method": "lora", "lora": lora, "sequence_length": 1024, **training},
            }
        )
    )


@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_a_copy_of_the_token_table(checkpointing: str) -> None:
    found = answer(["embed_tokens"], checkpointing=checkpointing).bytes
    assert found.loaded == pytest.approx(3_042_056_192, rel=1e-5)
    assert found.optimizer_state == 1_140_851_588
    for name, traced in TRACED[checkpointing].items():
        assert getattr(found, name) == pytest.approx(traced, rel=1e-5), name


def test_both_of_two_tied_modules_are_copied() -> None:
    plain, both = answer([]), answer(["embed_tokens", "lm_head"])
    assert both.bytes.loaded - plain.bytes.loaded == 2 * TABLE_BYTES
    assert both.parameters.trainable - plain.parameters.trainable == 2 * 128_256 * 2048


def test_what_is_left_out_is_said() -> None:
    found = answer(["score"])
    words = [one.message for one in found.warnings if one.path == "training.lora.modules_to_save"]
    assert any(word.startswith('"score" is left out') for word in words)
    assert found.basis == "extrapolated"


@pytest.mark.parametrize("saved", ["lm_head", "embed_tokens", "norm"])
def test_what_is_counted_was_held_against_traces(saved: str) -> None:
    """`unseen.json` has them, whole and with checkpoints."""
    assert answer([saved]).basis == "traced"


def test_a_name_reaches_every_norm_that_ends_in_it() -> None:
    """PEFT compares ends of names: two norms a layer and the last one, of 2048 values each."""
    plain, found = answer([]), answer(["norm"])
    assert found.parameters.trainable - plain.parameters.trainable == 33 * 2048
