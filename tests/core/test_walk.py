"""Walks of layers and ends. What is right: tensors counted by hand from transformers' modules; cost by kinds of layers."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.architecture.from_config import architecture_of
from memplan.catalog import model
from memplan.estimate import estimate
from memplan.memory.setup import Setup
from memplan.memory.stack import TRACED, Stack
from memplan.memory.walk_ends import walk_ends
from memplan.memory.walk_layer import LayerWalk, walk_layer
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from tests.core.small_models import GEMMA2, LLAMA, QWEN3_MOE, Config

LLAMA_8B = model("meta-llama/Llama-3.1-8B").config
HIDDEN, KEYS, HEADS, WIDTH = 4096, 1024, 32, 14_336


def setup(**values: Any) -> Setup:
    return Setup.of(Training.model_validate(values), TRACED)


def walk(
    config: Config = LLAMA_8B, sequence: int = 4096, batch: int = 1, needs_grad: bool = True, **values: Any
) -> LayerWalk:
    layer, _ = architecture_of(config).layers[0]
    chosen = setup(**values)
    return walk_layer(layer, chosen, batch, sequence, chosen.unpacked_dtype, needs_grad, False)


def roles(found: LayerWalk) -> dict[str, int]:
    return {f"{module}: {role}": num_bytes for module, role, _, _, num_bytes in found.ledger}


# what a layer keeps


def test_what_a_llama_layer_keeps_by_hand() -> None:
    """LlamaDecoderLayer in bf16, bytes a token; the sum is 49 bytes for each token, hidden unit and layer."""
    norm = (
        4 * HIDDEN + 2 * HIDDEN + 2 * HIDDEN + 4
    )  # input in fp32, normalised, scaled (the linears' input), one number
    rotated = 2 * (HIDDEN + 2 * KEYS)  # queries, keys, values
    attended = 2 * HIDDEN + 4 * HEADS  # output, log-sum-exp of each head
    fed = 4 * 2 * WIDTH  # gate, its activation, up, their product
    tokens = 4096
    assert walk().kept == tokens * (2 * norm + rotated + attended + fed)
    assert round(walk().kept / (tokens * HIDDEN)) == 49


def test_a_layer_keeps_in_proportion_to_its_tokens() -> None:
    assert walk(sequence=8192).kept == walk(batch=2).kept == 2 * walk().kept


def test_a_checkpointed_layer_keeps_its_input() -> None:
    found = walk(checkpointing="full")
    assert found.kept == 4096 * HIDDEN * 2
    assert roles(found)["layer: checkpointed input"] == found.kept


def test_recomputing_a_layer_holds_about_what_it_would_have_kept() -> None:
    plain, checkpointed = walk(), walk(checkpointing="full")
    assert checkpointed.backward.total >= plain.kept
    assert checkpointed.backward.total <= plain.backward.total + checkpointed.kept + plain.output_bytes
    assert checkpointed.gradients == plain.gradients


@pytest.mark.parametrize(("attention", "grows"), [("sdpa", 2), ("flash", 2), ("eager", 4)])
def test_scores_of_eager_attention_grow_with_the_square(attention: str, grows: int) -> None:
    short, long = (walk(LLAMA, sequence=sequence, attention=attention).kept for sequence in (8192, 16_384))
    assert long / short == pytest.approx(grows, rel=0.05)


def test_autocast_keeps_casts_of_weights() -> None:
    """fp32 weights under bf16 autocast: a 16-bit copy of each matrix stays from forward to backward."""
    found = roles(walk(LLAMA, sequence=256, weights_dtype="fp32", autocast="bf16"))
    casts = {name: num_bytes for name, num_bytes in found.items() if name.endswith("weight cast to 16 bit")}
    matrices = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1408
    assert len(casts) == 7
    assert sum(casts.values()) == 2 * matrices


def test_lora_keeps_adapters_inputs_and_not_the_frozen_linears() -> None:
    full = roles(walk(LLAMA, sequence=256))
    lora = roles(walk(LLAMA, sequence=256, method="lora", lora={"targets": ["q_proj"]}))
    assert "self_attn.q_proj: input" in full  # kept by q, k and v, and counted once
    assert "mlp.down_proj: input" in full
    assert "mlp.down_proj: input" not in lora
    assert "self_attn.o_proj: input" not in lora
    # The adapter is fp32: its input is cast, and the cast is kept; so is what is between its two matrices.
    assert lora["self_attn.q_proj: input"] == 256 * 16 * 4 or lora["self_attn.q_proj: input"] == 256 * 512 * 4


def test_adapters_of_the_weights_dtype_share_their_input() -> None:
    """Three fp32 adapters cast their input each for itself; bf16 ones keep one tensor together."""

    def kept(dtype: str) -> int:
        targets = ["q_proj", "k_proj", "v_proj"]
        lora = {"targets": targets, "adapter_dtype": dtype}
        return int(walk(LLAMA, sequence=256, method="lora", lora=lora).kept)

    one = 256 * 512
    assert kept("fp32") - kept("bf16") == pytest.approx(3 * 4 * one - 2 * one, rel=0.1)


def test_adapter_dropout_keeps_a_dropped_copy() -> None:
    plain, dropped = (
        walk(LLAMA, sequence=256, method="lora", lora={"targets": ["q_proj"], "dropout": dropout}).kept
        for dropout in (0.0, 0.1)
    )
    assert dropped - plain == 256 * 512 * 4  # the noise; the dropped input takes the input's place


def test_packed_linears_keep_no_input() -> None:
    """bitsandbytes 0.43 and later: MatMul4Bit saves the packed weight alone."""
    found = roles(walk(LLAMA, sequence=256, method="qlora", autocast="bf16", lora={"targets": ["q_proj"]}))
    assert not any(name.startswith("mlp.down_proj") for name in found)


def test_a_frozen_layer_whose_input_needs_no_gradient_keeps_nothing() -> None:
    found = walk(LLAMA, needs_grad=False, method="lora", lora={"targets": ["lm_head"]})
    assert (found.kept, len(found.ledger), found.gradients) == (0, 0, 0)
    assert not found.output_needs_grad


def test_accumulation_leaves_no_second_gradient() -> None:
    layer, _ = architecture_of(LLAMA).layers[0]
    first, later = (walk_layer(layer, setup(), 1, 256, "bf16", True, accumulating) for accumulating in (False, True))
    assert first.gradients == 2 * (2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1408 + 2 * 512)
    assert later.gradients == 0
    assert later.kept == first.kept


def test_gradients_are_those_of_the_states() -> None:
    """What the walk leaves behind is what the optimizer finds."""
    for config in (LLAMA, {**LLAMA, "tie_word_embeddings": True}, GEMMA2, QWEN3_MOE):
        for training in ({}, {"method": "lora"}, {"weights_dtype": "fp32", "autocast": "bf16"}):
            found = estimate(Scenario.model_validate({"model": {"config": config}, "training": training}))
            step, backward_end = found.instants[-1], found.bytes.first_step["backward_end"]
            ids = 2048 * 8
            assert step.bytes_by_term["gradients"] == backward_end - found.bytes.loaded - ids


# the ends


def test_logits_and_loss_by_hand() -> None:
    """Llama-3.1-8B, 4096 tokens of 128256 entries: 16-bit logits and fp32 log-softmax stay; two fp32 gradients follow."""
    chosen, entries = setup(), 4096 * 128_256
    ends = walk_ends(architecture_of(LLAMA_8B), chosen, 1, 4096, "bf16", True, False, True)
    _, logits, _, _ = ends.forward_end.tally
    assert logits == pytest.approx((2 + 4) * entries, rel=0.001)
    assert ends.loss.tally[1] == pytest.approx((2 + 4 + 4) * entries, rel=0.001)  # and the logits in fp32
    assert ends.loss_backward.tally[1] == pytest.approx((2 + 4 + 4 + 4) * entries, rel=0.001)


def test_a_tied_head_adds_no_gradient() -> None:
    untied, tied = (
        walk_ends(
            architecture_of({**LLAMA, "tie_word_embeddings": tied}), setup(), 1, 256, "bf16", True, False, True
        ).gradients
        for tied in (False, True)
    )
    assert untied - tied == 2 * 4000 * 512


# the cost of an estimate


def scenario(config: Config, **training: Any) -> Scenario:
    return Scenario.model_validate({"model": {"config": config}, "training": {"sequence_length": 333, **training}})


def walks_for(config: Config, **training: Any) -> int:
    walk_layer.cache_clear()
    estimate(scenario(config, **training))
    return int(walk_layer.cache_info().misses)


@pytest.mark.parametrize(
    "training", [{}, {"method": "lora"}, {"method": "qlora", "checkpointing": "full"}, {"gradient_accumulation": 4}]
)
@pytest.mark.parametrize("config", [LLAMA, GEMMA2, QWEN3_MOE], ids=lambda config: config["model_type"])
def test_an_estimate_costs_as_many_walks_for_a_thousand_layers_as_for_eight(
    config: Config, training: dict[str, Any]
) -> None:
    few, many = (walks_for({**config, "num_hidden_layers": layers}, **training) for layers in (8, 1000))
    assert few == many <= 4


def test_an_estimate_asked_for_again_walks_nothing() -> None:
    walks_for(LLAMA)
    before = walk_layer.cache_info().misses
    estimate(scenario(LLAMA))
    assert walk_layer.cache_info().misses == before


@pytest.mark.parametrize("attention", ["eager", "sdpa", "flash"])
def test_a_window_that_no_sequence_reaches_takes_no_walk_of_its_own(attention: str) -> None:
    beyond, reached = ({**GEMMA2, "sliding_window": window} for window in (334, 333))
    assert walks_for(reached, attention=attention) - walks_for(beyond, attention=attention) == 1
    # What is shared is what the windowed layer's own walk finds.
    own, wide = (
        walk_layer(layer, setup(attention=attention), 1, 333, "bf16", True, False)
        for layer in architecture_of(beyond).kinds
    )
    assert (own.forward, own.backward, own.kept, own.gradients) == (
        wide.forward,
        wide.backward,
        wide.kept,
        wide.gradients,
    )
    assert list(own.ledger) == list(wide.ledger)
    assert list(own.recomputed) == list(wide.recomputed)


PHI: dict[str, Any] = {
    "model_type": "phi",
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "partial_rotary_factor": 0.5,
    "vocab_size": 4000,
}


@pytest.mark.parametrize(
    ("dtype", "on_device", "copies"),
    [("bf16", False, True), ("bf16", True, True), ("fp32", False, True), ("fp32", True, False)],
)
def test_flash_attention_answers_in_its_queries_order(dtype: str, on_device: bool, copies: bool) -> None:
    """Queries of which a part is turned lie head by head, and flash attention's answer with them: the output
    projection keeps a copy in token order. On a device fp32 runs the memory-efficient kernel, whose answer is so.
    """
    (layer,) = architecture_of(PHI).kinds
    chosen = Setup.of(Training.model_validate({"weights_dtype": dtype}), Stack(on_device=on_device))
    found = walk_layer(layer, chosen, 2, 256, dtype, True, False)
    assert ("self_attn.dense: input" in roles(found)) == copies
