"""Other stacks' own modules against traces of them. What is right: the bytes that were traced (tests/truth/stacks.json)."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.catalog import models
from memplan.errors import ConfigError
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from tests.core.truth_cases import by_id, cases, errors, scenario_of, too_far

TRACED = cases("stacks.json")
CLOSE = 0.001
"""How far any instant of a stack's traced set-up may be off in the second step."""


@pytest.mark.parametrize("case", TRACED, ids=by_id)
def test_a_stack_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.parameters.trainable == case["bytes"]["trainable"]
    assert too_far(errors(case, found), CLOSE, CLOSE) == {}


@pytest.mark.parametrize("case", TRACED[::5], ids=by_id)
def test_a_traced_stack_does_not_call_itself_extrapolated(case: dict[str, Any]) -> None:
    assert estimate(scenario_of(case)).basis in ("traced", "measured")


def of_litgpt(model: str, **training: Any) -> Scenario:
    return Scenario.model_validate({"model": {"catalog": model}, "training": {"kernels": "litgpt", **training}})


def test_litgpt_never_ties_the_head_to_the_embeddings() -> None:
    """litgpt converts a checkpoint with a tied head by copying the embeddings (convert_hf_checkpoint.py)."""
    table = 128_256 * 2048
    tied = estimate(Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}}))
    assert estimate(of_litgpt("meta-llama/Llama-3.2-1B")).parameters.total == tied.parameters.total + table


def test_what_litgpt_has_no_modules_for_is_walked_as_transformers() -> None:
    found = estimate(of_litgpt("google/gemma-2-2b"))  # its logits are capped
    assert found.basis == "extrapolated"
    assert any(one.path == "training.kernels" for one in found.warnings)


def test_torchtune_keeps_normalised_values_in_fp32_since_its_norms_multiply_in_fp32() -> None:
    """torchtune 0.4 and 0.5, modules/rms_norm.py: 2 bytes a value more for each of 2 L + 1 norms."""
    model = {"model": {"catalog": "meta-llama/Llama-3.2-3B"}}

    def at_the_end(version: str) -> int:
        training = {"kernels": "torchtune", "kernels_version": version, "sequence_length": 4096}
        return estimate(Scenario.model_validate({**model, "training": training})).bytes.forward_end

    assert at_the_end("0.6") - at_the_end("0.4") == (2 * 28 + 1) * 4096 * 3072 * 2


def test_torchtune_does_not_hold_logits_through_backward() -> None:
    """The recipes drop them once there is a loss; with the log-softmax 12 bytes a logit are alive, not 14 or 16."""
    training = {"kernels": "torchtune", "sequence_length": 8192, "optimizer": "sgd"}
    found = estimate(Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}, "training": training}))
    backward = next(one for one in found.instants if one.name == "backward")
    assert backward.bytes_by_term["logits and loss"] / (8192 * 128_256) == pytest.approx(12, rel=0.001)


@pytest.mark.parametrize("kernels", ["litgpt", "torchtune", "megatron"])
def test_every_model_of_the_catalog_has_an_estimate(kernels: str) -> None:
    """With modules of the stack's own or, said so, with transformers'."""
    training = {"kernels": kernels, "method": "lora", "loss": "chunked", "checkpointing": "full", "micro_batch": 2}
    for model in models():
        try:
            found = estimate(Scenario.model_validate({"model": {"catalog": model.id}, "training": training}))
        except ConfigError:
            continue  # no decoder, or one without a composition: refused whatever the kernels
        assert found.bytes.peak > found.bytes.loaded, model.id
        own = not any(one.path == "training.kernels" for one in found.warnings)
        assert own or found.basis == "extrapolated", model.id


def test_targets_are_the_names_of_the_parts_that_litgpt_holds_in_one_matrix() -> None:
    lora = {"method": "lora", "lora": {"targets": ["q_proj", "v_proj"]}}
    found = estimate(of_litgpt("meta-llama/Llama-3.1-8B", **lora))
    assert not any(one.path == "training.lora.targets" for one in found.warnings)
    assert found.parameters.trainable == 32 * 16 * ((4096 + 4096) + (4096 + 1024))
    wrong = estimate(of_litgpt("meta-llama/Llama-3.1-8B", method="lora", lora={"targets": ["k_proj", "qkv"]}))
    (word,) = [one.message for one in wrong.warnings if one.path == "training.lora.targets"]
    assert "qkv" in word
    assert "k_proj, " in word


def test_unsloth_keeps_three_inputs_of_a_layer_beside_checkpoints_on_the_host() -> None:
    """unsloth_zoo 2026.10, gradient_checkpointing.py: the last layer's input is not moved, and there are two buffers."""

    def at_the_end(kernels: str) -> int:
        training = {"kernels": kernels, "method": "lora", "checkpointing": "offload", "sequence_length": 4096}
        scenario = {"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": training}
        return estimate(Scenario.model_validate(scenario)).bytes.forward_end

    assert at_the_end("unsloth") - at_the_end("transformers") == 3 * 4096 * 4096 * 2


def test_unsloth_unpacks_into_a_buffer_that_stays() -> None:
    """unsloth 2026.10, kernels/utils.py: the largest 4-bit matrix in 16 bit, and its scales in fp32."""

    def at_the_end(kernels: str) -> int:
        training = {"kernels": kernels, "method": "qlora", "checkpointing": "full"}
        scenario = {"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": training}
        return estimate(Scenario.model_validate(scenario)).bytes.forward_end

    largest = 4096 * 14_336
    assert at_the_end("unsloth") - at_the_end("transformers") == 2 * largest + 4 * largest // 64


@pytest.mark.parametrize("kernels", ["litgpt", "torchtune", "megatron", "mlx"])
@pytest.mark.parametrize("loss", ["plain", "chunked"])
def test_no_term_is_negative(kernels: str, loss: str) -> None:
    training = {"kernels": kernels, "loss": loss, "sequence_length": 2048, "micro_batch": 2}
    scenario = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": training})
    found = estimate(scenario)
    for instant in (*found.instants, *found.first_step):
        assert all(amount >= 0 for amount in instant.bytes_by_term.values()), instant.name


@pytest.mark.parametrize(("kernels", "version"), [("liger", "0.5.2"), ("torchtitan", "0.2"), ("unsloth", "2025.10.1")])
def test_a_version_of_kernels_is_not_taken_for_an_old_transformers(kernels: str, version: str) -> None:
    """0.5.2 is a Liger's, say: before 4.54 transformers copied keys and values for every query head."""
    found = [
        estimate(
            Scenario.model_validate(
                {
                    "model": {"catalog": "meta-llama/Llama-3.2-1B"},
                    "training": {"kernels": kernels, "kernels_version": given},
                }
            )
        )
        for given in (None, version)
    ]
    assert found[0].instants == found[1].instants
