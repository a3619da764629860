"""Divided models and what lives on the host. What is right: the rules' own arithmetic on Llama-3.1-8B's shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memplan.architecture.counts import total
from memplan.architecture.dividing import part_of
from memplan.catalog import models
from memplan.chosen_model import chosen_model
from memplan.errors import ConfigError
from memplan.estimate import estimate
from memplan.memory.peak import tape_for
from memplan.memory.setup import Setup
from memplan.memory.storage import Meter
from memplan.memory.walk_layer import walk_layer_on
from memplan.memory.witness import Witness
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Estimate

LLAMA_8B = "meta-llama/Llama-3.1-8B"
MIXTURE = "Qwen/Qwen3-30B-A3B"
LAYERS, HIDDEN, WIDTH, VOCABULARY = 32, 4096, 14336, 128_256
KV_WIDTH = 8 * 128


def answer(model: str = LLAMA_8B, hardware: dict[str, Any] | None = None, **training: Any) -> Estimate:
    """The estimate of a catalog model, 4096 tokens."""
    return estimate(
        Scenario.model_validate(
            {
                "model": {"catalog": model},
                "training": {"sequence_length": 4096, **training},
                "hardware": {"device": "h100-sxm", **(hardware or {})},
            }
        )
    )


def at(found: Estimate, name: str) -> dict[str, int]:
    """The terms of one instant of a later step."""
    return {str(term): size for one in found.instants if one.name == name for term, size in one.bytes_by_term.items()}


def test_matrices_divided_by_eight() -> None:
    part = part_of(chosen_model(ModelChoice(catalog=LLAMA_8B)).architecture, tensor=8)
    norms = HIDDEN * (2 * LAYERS + 1)
    matrices = LAYERS * (2 * HIDDEN * HIDDEN + 2 * KV_WIDTH * HIDDEN + 3 * HIDDEN * WIDTH) + 2 * VOCABULARY * HIDDEN
    assert total(part) == matrices // 8 + norms


def test_keys_are_repeated_once_there_are_more_devices_than_heads() -> None:
    part = part_of(chosen_model(ModelChoice(catalog=LLAMA_8B)).architecture, tensor=16)
    keys = {linear.name: linear.outputs for layer in part.kinds for linear in layer.attention.linears()}
    assert (keys["q_proj"], keys["k_proj"], keys["v_proj"]) == (2 * 128, 128, 128)


def test_experts_divided_by_eight() -> None:
    whole = chosen_model(ModelChoice(catalog=MIXTURE)).architecture
    part = part_of(whole, expert=8)
    experts = 48 * 128 * 3 * 2048 * 768
    assert total(whole) - total(part) == experts - experts // 8 + 48 * (128 - 16) * 2048  # and the router's rows


@pytest.mark.parametrize("model", [entry.id for entry in models()])
def test_every_catalog_model_can_be_divided(model: str) -> None:
    """No rule breaks a walk, and a part is smaller than the whole."""
    hardware = {"devices": 32, "tensor_parallel": 4, "pipeline_parallel": 4, "expert_parallel": 2}
    try:
        alone = answer(model, {"devices": 1})
    except ConfigError:
        pytest.skip("no decoder")
    assert answer(model, hardware).peak_bytes < alone.peak_bytes


def test_context_parallel_is_a_shorter_sequence() -> None:
    shared = answer(hardware={"devices": 4, "context_parallel": 4})
    short = answer(hardware={"devices": 4, "tensor_parallel": 1}, sequence_length=1024)
    assert at(shared, "forward")["activations"] == at(short, "forward")["activations"]


def test_context_parallel_gathers_all_keys_and_values_for_a_moment() -> None:
    """2 × 1024 values of a million tokens in bf16, 4.3 GB, forward and again in backward; neither is kept."""
    training = {"sequence_length": 2**20, "checkpointing": "full", "loss": "fused"}
    found = answer(hardware={"devices": 64, "context_parallel": 64}, **training)
    alone = answer(hardware={"devices": 64}, **{**training, "sequence_length": 2**14})
    for name in ("forward", "backward"):
        more = at(found, name)["temporary buffers"] - at(alone, name).get("temporary buffers", 0)
        assert 0.5 * 4.3e9 < more < 1.1 * 4.3e9, name
    assert at(found, "loss")["activations"] == at(alone, "loss")["activations"]


def test_optimizer_states_on_the_host() -> None:
    """Two bf16 states of every parameter."""
    on_host, plain = answer(hardware={"offload": {"optimizer": True}}), answer()
    assert not any("optimizer states" in one.bytes_by_term for one in (*on_host.instants, *on_host.first_step))
    assert at(plain, "backward")["optimizer states"] == pytest.approx(2 * 2 * 8_030_261_248, rel=1e-4)


def test_weights_on_the_host_come_layer_by_layer() -> None:
    found = answer(hardware={"offload": {"parameters": True}}, method="lora")
    assert "weights" not in at(found, "forward")
    ends = 2 * VOCABULARY * HIDDEN * 2
    assert ends < at(found, "forward")["communication buffers"] < 4 * ends


def test_activations_on_the_host_leave_one_layer_on_the_device() -> None:
    on_host, plain = answer(hardware={"offload": {"activations": True}}), answer()
    assert at(on_host, "backward")["activations"] < at(plain, "backward")["activations"] / LAYERS * 2


def test_gradients_that_are_applied_as_they_come_do_not_pile_up() -> None:
    found = answer(optimizer_in_backward=True)
    assert "gradients" not in at(found, "optimizer_step")
    layer = 2 * (2 * HIDDEN * HIDDEN + 2 * KV_WIDTH * HIDDEN + 3 * HIDDEN * WIDTH + 2 * HIDDEN)
    head = 2 * VOCABULARY * HIDDEN
    assert at(found, "backward").get("gradients", 0) <= layer + head


@pytest.mark.parametrize("strategy", ["zero3", "fsdp1"])
def test_flattened_shards_shrink_with_every_device(strategy: str) -> None:
    """A mixture has tensors of 128 rows: cut along them, 4096 devices would each be padded to a whole expert."""

    def need(devices: int) -> int:
        hardware = {"devices": devices, "sharding": {"strategy": strategy}}
        return answer(MIXTURE, hardware, checkpointing="full").peak_bytes

    needs = [need(devices) for devices in (8, 64, 512, 4096)]
    assert needs == sorted(needs, reverse=True)


def whole(found: Estimate, term: str) -> int:
    """The most that a term takes at any instant."""
    return max(one.bytes_by_term.get(term, 0) for one in (*found.instants, *found.first_step))  # type: ignore[call-overload]


@pytest.mark.parametrize("strategy", ["none", "zero1", "zero2", "zero3", "fsdp1", "fsdp2"])
@pytest.mark.parametrize("expert", [1, 2, 8])
@pytest.mark.parametrize("tensor", [1, 2])
def test_all_devices_together_hold_no_less_than_one_would(strategy: str, expert: int, tensor: int) -> None:
    """What is divided is divided once: experts that are shared out are not cut again among the devices that share."""
    divided = {"devices": 16, "expert_parallel": expert, "tensor_parallel": tensor, "sharding": {"strategy": strategy}}
    alone, found = answer("mistralai/Mixtral-8x7B-v0.1"), answer("mistralai/Mixtral-8x7B-v0.1", divided)
    for term in ("weights", "optimizer states"):
        assert 16 * whole(found, term) >= whole(alone, term), term


@pytest.mark.parametrize(
    "training", [{"method": "full"}, {"method": "freeze"}, {"optimizer_in_backward": True}], ids=str
)
def test_weights_on_the_host_take_no_more_than_on_the_device(training: dict[str, Any]) -> None:
    on_host, plain = answer(hardware={"offload": {"parameters": True}}, **training), answer(**training)
    assert on_host.peak_bytes < plain.peak_bytes
    assert whole(on_host, "gradients") <= whole(plain, "gradients")


def test_frozen_layers_gather_no_gradients() -> None:
    """Four layers of Llama-3.1-8B and its head train: 1.4B of its 8.03B parameters, cut in two."""
    found = answer(hardware={"devices": 2, "sharding": {"strategy": "fsdp2"}}, method="freeze")
    assert whole(found, "gradients") < 2 * found.parameters.trainable


def test_buckets_stay_when_gradients_are_applied_as_they_come() -> None:
    hardware = {"devices": 8, "sharding": {"strategy": "ddp"}}
    assert at(answer(hardware=hardware, optimizer_in_backward=True), "backward")["communication buffers"] > 2 * 8e9


def test_what_autocast_caches_stays_on_the_device() -> None:
    """Its bf16 copies of fp32 weights live until forward is over, with and without checkpoints."""
    mixed = {"weights_dtype": "fp32", "autocast": "bf16"}
    for checkpointing in ("none", "full"):
        found = answer(hardware={"offload": {"activations": True}}, checkpointing=checkpointing, **mixed)
        matrices = LAYERS * (2 * HIDDEN * HIDDEN + 2 * KV_WIDTH * HIDDEN + 3 * HIDDEN * WIDTH)
        assert at(found, "loss")["activations"] == pytest.approx(2 * matrices, rel=0.02), checkpointing


def test_tokens_travel_to_their_experts_and_back() -> None:
    """All-to-all: rows of eight experts a token arrive in a tensor of their own, and so they do on their way back; their
    gradients travel as well.
    """
    (layer,) = chosen_model(ModelChoice(catalog="Qwen/Qwen3-30B-A3B")).architecture.kinds

    def rows(parts: int) -> int:
        setup = replace(Setup.of(Training()), expert_parts=parts)
        tape = tape_for(setup, False, Meter(), Witness)
        walk_layer_on(tape, layer, setup, 1, 512, "bf16", True)
        return sum(seen.shape == (8 * 512, 2048) for seen in tape.seen)

    assert rows(8) == rows(1) + 4


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_experts_that_are_not_packed_are_cut_like_any_other_tensor(method: str) -> None:
    """bitsandbytes packs linear modules; the eight experts are one tensor of eight rows. Of 64 devices each holds one
    row of it (PyTorch pads to a row each), an eighth, whatever the method, and gathers 64.
    """
    hardware = {"devices": 64, "sharding": {"strategy": "fsdp2"}}
    found = answer("mistralai/Mixtral-8x7B-v0.1", hardware, method=method, quantization={"fp32_unquantized": False})
    experts = 32 * 8 * 3 * 4096 * 14336 * 2
    assert experts / 8 < whole(found, "weights") < 1.02 * experts / 8


@pytest.mark.parametrize("strategy", ["fsdp1", "fsdp2", "zero3"])
def test_scales_of_packed_weights_stay_whole(strategy: str) -> None:
    """bitsandbytes keeps them beside the parameter, which is what is divided: one fp32 for 64 values of a matrix."""
    matrices = LAYERS * (2 * HIDDEN * HIDDEN + 2 * KV_WIDTH * HIDDEN + 3 * HIDDEN * WIDTH)
    hardware = {"devices": 512, "sharding": {"strategy": strategy, "mixed_precision": False}}
    found = answer(hardware=hardware, method="qlora", quantization={"double_quant": False})
    assert whole(found, "weights") > 4 * matrices // 64


def test_int8_is_gathered_as_wide_as_it_is_held() -> None:
    """A byte a value, twice what 4 bits take."""
    hardware = {"devices": 8, "sharding": {"strategy": "fsdp2"}}
    four, eight = (
        gathering(answer(hardware=hardware, method="qlora", quantization={"format": form})) for form in ("nf4", "int8")
    )
    layer = 2 * HIDDEN * HIDDEN + 2 * KV_WIDTH * HIDDEN + 3 * HIDDEN * WIDTH
    assert eight - four >= layer // 2


def gathering(found: Estimate) -> int:
    """Most that communication takes."""
    return whole(found, "communication buffers")
