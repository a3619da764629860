"""Losses that never hold whole logits: what each makes follows from the sources named in memory/blocks/loss.py."""

from __future__ import annotations

from typing import Any

import pytest

import memplan
from memplan.memory.blocks.loss import chunk_rows

VOCABULARY, HIDDEN, TOKENS = 128_256, 2048, 8192


def with_loss(loss: str, **training: Any) -> memplan.Estimate:
    """Llama-3.2-1B with 8192 tokens, checkpointed, under a loss."""
    given = {"sequence_length": TOKENS, "checkpointing": "full", "loss": loss, **training}
    return memplan.estimate(
        memplan.Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}, "training": given})
    )


def logits_at(estimate: memplan.Estimate, instant: str) -> int:
    """Logits and loss at an instant of a later step."""
    return next(one for one in estimate.instants if one.name == instant).bytes_by_term["logits and loss"]


def test_plain_logits_are_whole() -> None:
    """16-bit logits, fp32 copy, log-softmax: 2 + 4 + 4 bytes a token and entry (transformers 5.24, loss_utils.py)."""
    assert logits_at(with_loss("plain"), "loss") == pytest.approx(10 * TOKENS * VOCABULARY, rel=0.001)


def test_the_fused_loss_holds_one_chunk_and_two_gradients() -> None:
    """Liger: a chunk of logits, its product, and the gradients of hidden states and head; a tied head here."""
    rows = chunk_rows(1, TOKENS, VOCABULARY, HIDDEN)
    assert rows == 256  # ⌈8192 / ⌈128256 / 2048⌉⌉ = ⌈8192 / 63⌉ = 131, the next power of two
    expected = 2 * (rows * VOCABULARY + rows * HIDDEN + TOKENS * HIDDEN + VOCABULARY * HIDDEN)
    assert logits_at(with_loss("fused"), "loss") == pytest.approx(expected, rel=0.001)


def test_the_fused_loss_of_a_frozen_head_makes_no_gradient_of_it() -> None:
    rows = chunk_rows(1, TOKENS, VOCABULARY, HIDDEN)
    expected = 2 * (rows * VOCABULARY + rows * HIDDEN + TOKENS * HIDDEN)
    assert logits_at(with_loss("fused", method="lora"), "loss") == pytest.approx(expected, rel=0.001)


def test_the_chunked_loss_upcasts_an_eighth_at_a_time() -> None:
    """torchtune with 8 chunks: 2 + 12/8 bytes a token and entry in backward, where the head's gradient joins them."""
    expected = (2 + 12 / 8) * TOKENS * VOCABULARY
    assert logits_at(with_loss("chunked"), "backward") == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("training", "words", "source"),
    [
        ({"loss": "plain"}, "logits, fp32 copy, log-softmax, gradients", "loss_utils"),
        ({"loss": "fused"}, "never whole: one chunk of logits at a time", "liger-kernel"),
        ({"loss": "plain", "kernels": "liger"}, "never whole: one chunk of logits at a time", "liger-kernel"),
        ({"loss": "chunked"}, "logits whole; fp32 copy, log-softmax and their gradients of one chunk", "CEWithChunked"),
        ({"loss": "chunked", "kernels": "torchtune"}, "logits and log-softmax whole", "torchtune"),
    ],
)
def test_the_formula_is_that_of_the_loss(training: dict[str, str], words: str, source: str) -> None:
    """As each is walked (memory/blocks/loss.py): only the plain one has whole fp32 copies and gradients."""
    term = next(one for one in with_loss(**training).terms if one.name == "logits and loss")
    assert words in term.formula
    assert source in term.source


@pytest.mark.parametrize("loss", ["chunked", "fused"])
def test_their_basis_is_published(loss: str) -> None:
    assert with_loss(loss).basis == "published"


@pytest.mark.parametrize("loss", ["plain", "chunked", "fused"])
def test_a_head_with_a_bias(loss: str) -> None:
    """Phi-2's head has 51,200 biases: their gradient is there at the end of backward as the matrix's is."""
    given = {"loss": loss, "sequence_length": 512}
    found = memplan.estimate(
        memplan.Scenario.model_validate({"model": {"catalog": "microsoft/phi-2"}, "training": given})
    )
    (backward,) = [one for one in found.instants if one.name == "optimizer_step"]
    assert backward.bytes_by_term["gradients"] == pytest.approx(2 * found.parameters.trainable, rel=1e-4)
    assert found.bytes.backward_peak > found.bytes.loaded
