"""Generating text: a prompt is read and the next token made. What is right: the bytes that were traced (tests/truth)."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.memory_map import memory_map
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from tests.core.truth_cases import DRIFT, by_id, cases, generation_errors, scenario_of, too_far

LLAMA_8B = {"catalog": "meta-llama/Llama-3.1-8B"}
LAYERS, KV_HEADS, HEAD_DIM = 32, 8, 128
GENERATION = cases("generation.json")
KNOWN_GAPS = {
    # The orders and places of tokens that the experts' function holds; 514 tokens.
    "qwen2_moe, generation": 0.0071,
}
"""Cases that are further off than `DRIFT`, and why."""


def answer(model: dict[str, Any], hardware: dict[str, Any] | None = None, **training: Any) -> Estimate:
    content = {"model": model, "training": {"method": "inference", **training}, "hardware": hardware or {}}
    return estimate(Scenario.model_validate(content))


def at(found: Estimate, name: str) -> dict[str, int]:
    return dict(next(one for one in found.instants if one.name == name).bytes_by_term)


@pytest.mark.parametrize("case", GENERATION, ids=by_id)
def test_a_prompt_read_and_a_token_made_are_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.total == case["bytes"]["parameters"]
    allowed = KNOWN_GAPS.get(case["id"], DRIFT)
    assert too_far(generation_errors(case, found), allowed, allowed) == {}


def test_the_cache_is_keys_and_values_of_every_layer_and_token() -> None:
    """2 × layers × heads of keys × their width × tokens × sequences × bytes, as every guide has it."""
    found = answer(LLAMA_8B, sequence_length=4096, micro_batch=3)
    a_token = 2 * LAYERS * KV_HEADS * HEAD_DIM * 2
    assert at(found, "prefill")["KV cache"] == 3 * 4096 * a_token
    assert at(found, "decode")["KV cache"] >= 3 * 4097 * a_token
    (term,) = [term for term in found.terms if term.name == "KV cache"]
    assert sum(row.total_bytes for row in term.tensors) == 3 * 4097 * a_token
    assert "64 × (3 × 8 × 4,097 × 128) × 2" in term.formula


def test_a_layer_joins_what_it_has_to_what_is_new() -> None:
    """torch.cat makes new keys while the old ones are there: of one layer at a time."""
    found = answer(LLAMA_8B, sequence_length=4096)
    keys = KV_HEADS * HEAD_DIM * 2
    whole, decoding = 2 * LAYERS * 4097 * keys, at(found, "decode")["KV cache"]
    assert whole < decoding <= whole + 4097 * keys


def test_a_window_bounds_what_is_decoded_with_but_not_what_prefill_leaves() -> None:
    """A prompt's keys are kept as a view of all of them, until the next token's are joined."""
    window, tokens = 1024, 16_384
    config = {
        "model_type": "mistral",
        "hidden_size": 1024,
        "intermediate_size": 2048,
        "num_hidden_layers": 8,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "vocab_size": 1000,
        "sliding_window": window,
    }
    found, a_token = answer({"config": config}, sequence_length=tokens), 2 * 8 * 2 * 128 * 2
    assert at(found, "prefill")["KV cache"] == tokens * a_token
    assert at(found, "decode")["KV cache"] <= window * a_token * 9 / 8


def test_latents_are_cached_in_place_of_keys_and_values() -> None:
    """DeepSeek-V3: 512 + 64 values of a token and layer; before transformers 5 keys and values of 128 heads."""
    model = {"catalog": "deepseek-ai/DeepSeek-V3"}
    now, before = (answer(model, sequence_length=1024, kernels_version=version) for version in (None, "4.51"))
    assert at(now, "prefill")["KV cache"] == 61 * 1024 * (512 + 64) * 2
    assert at(before, "prefill")["KV cache"] == 61 * 1024 * 128 * (192 + 128) * 2


def test_decoding_copies_the_matrices_of_the_chosen_experts() -> None:
    """Mixtral: two experts for each of four sequences; the first products' copies are there as the second's are made."""
    found = answer({"catalog": "mistralai/Mixtral-8x7B-v0.1"}, micro_batch=4, sequence_length=512)
    copies = 4 * 2 * 3 * 4096 * 14_336 * 2
    assert copies <= at(found, "decode")["temporary buffers"] < 1.01 * copies
    older = answer({"catalog": "mistralai/Mixtral-8x7B-v0.1"}, micro_batch=4, kernels_version="4.48")
    assert at(older, "decode")["temporary buffers"] < copies / 10


def test_logits_are_of_the_last_position_alone() -> None:
    vocabulary = 128_256
    short, long = (answer(LLAMA_8B, sequence_length=length) for length in (512, 8192))
    assert (
        long.bytes.forward_end - short.bytes.forward_end < 2 * LAYERS * KV_HEADS * HEAD_DIM * 2 * 7680 + 8 * vocabulary
    )
    whole = answer(LLAMA_8B, sequence_length=8192, inference={"kv_cache": False})
    assert at(whole, "loss")["logits and loss"] == 2 * 8192 * vocabulary
    assert "KV cache" not in {term.name for term in whole.terms}


@pytest.mark.parametrize("parallel", ["tensor_parallel", "pipeline_parallel", "context_parallel"])
def test_parallel_devices_divide_the_cache(parallel: str) -> None:
    one = answer(LLAMA_8B, sequence_length=8192)
    four = answer(LLAMA_8B, {"devices": 4, parallel: 4}, sequence_length=8192)
    assert at(four, "prefill")["KV cache"] == at(one, "prefill")["KV cache"] // 4


def test_other_stacks_generate_as_transformers_does() -> None:
    plain = answer(LLAMA_8B)
    for kernels in ("litgpt", "torchtune", "megatron", "mlx"):
        found = answer(LLAMA_8B, kernels=kernels)
        assert found.instants == plain.instants
        assert found.basis == "extrapolated"
    assert plain.basis == "traced"
    assert answer(LLAMA_8B, kernels_version="4.51").basis == "extrapolated"


def test_a_map_has_prefill_and_decoding() -> None:
    """With many short sequences of a large mixture decoding is the fullest: its copies of experts."""
    content = {"model": {"catalog": "mistralai/Mixtral-8x7B-v0.1"}, "training": {"method": "inference"}}
    scenario = Scenario.model_validate(content)
    found = memory_map(scenario, [1, 16], [512, 32_768])
    for row, batch in enumerate(found.batches):
        for column, sequence in enumerate(found.sequences):
            training = {"method": "inference", "micro_batch": batch, "sequence_length": sequence}
            one = estimate(Scenario.model_validate({**content, "training": training}))
            assert int(found.need_bytes[row, column]) == pytest.approx(one.need_bytes, rel=1e-4)
    names = {(1, 32_768): "prefill", (16, 512): "decode"}
    for (batch, sequence), name in names.items():
        found_one = answer(content["model"], micro_batch=batch, sequence_length=sequence)
        assert found_one.peak.name == name


def test_a_size_alone_has_a_cache() -> None:
    found = answer({"parameters": 7_000_000_000}, sequence_length=4096)
    assert at(found, "prefill")["KV cache"] > 0
    assert at(found, "loaded")["weights"] == 14_000_000_000


@pytest.mark.parametrize("model_type", ["bert", "roberta", "distilbert", "modernbert"])
def test_an_encoder_reads_its_input_in_one_pass(model_type: str) -> None:
    """Every token sees every other: there is no next token to keep keys and values for."""
    config = {"model_type": model_type, "vocab_size": 3000, "hidden_size": 192, "num_attention_heads": 3}
    model = {"config": {**config, "num_hidden_layers": 2, "intermediate_size": 768}}
    asked, plain = answer(model), answer(model, inference={"kv_cache": False})
    assert [instant.name for instant in asked.instants] == ["loaded", "forward", "loss"]
    assert (asked.instants, asked.trace()) == (plain.instants, plain.trace())
    (said,) = [warning for warning in asked.warnings if warning not in plain.warnings]
    assert said.path == "training.inference"
    assert "generates no text" in said.message


def test_devices_that_serve_sequences_of_their_own_are_as_one() -> None:
    """Each holds the model and its own cache; nothing is sent, so nothing is extrapolated."""
    one, four = (scenario_with(devices) for devices in (1, 4))
    assert estimate(four).bytes.peak == estimate(one).bytes.peak
    assert estimate(four).basis == estimate(one).basis == "traced"


def scenario_with(devices: int) -> Scenario:
    return Scenario.model_validate(
        {
            "model": {"catalog": "meta-llama/Llama-3.2-1B"},
            "training": {"method": "inference", "micro_batch": 4},
            "hardware": {"device": "h100-sxm", "devices": devices},
        }
    )
