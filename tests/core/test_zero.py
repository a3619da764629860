"""Buckets of ZeRO, DDP and Megatron. What is right: DeepSpeed's, PyTorch's and Megatron's source and documents."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from memplan.chosen_model import chosen_model
from memplan.estimate import estimate
from memplan.memory.setup import Setup
from memplan.memory.zero_gathering import zero3_gathering
from memplan.memory_map import memory_map
from memplan.plan.hardware import Sharding
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Estimate

PARAMETERS = 8_030_261_248
LAYER, TABLE, HIDDEN, WIDTH = 218_112_000, 128_256 * 4096, 4096, 14_336
MIXED = {"master_weights": True, "optimizer_impl": "fused"}


def scenario(strategy: str, devices: int = 8, sharding: dict[str, Any] | None = None, **training: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "model": {"catalog": "meta-llama/Llama-3.1-8B"},
            "training": {**MIXED, **training},
            "hardware": {"devices": devices, "sharding": {"strategy": strategy, **(sharding or {})}},
        }
    )


def answer(*given: Any, **training: Any) -> Estimate:
    return estimate(scenario(*given, **training))


def at(found: Estimate, name: str, term: str) -> int:
    return next(one.bytes_by_term.get(term, 0) for one in found.instants if one.name == name)  # type: ignore[call-overload]


@pytest.mark.parametrize("strategy", ["zero1", "zero2"])
def test_a_reduce_bucket_is_there_in_backward_alone(strategy: str) -> None:
    """5e8 values of bf16, whatever the model's size (stage_1_and_2.py, setup_buckets); `auto` is hidden size squared."""
    plain = answer(strategy)
    assert at(plain, "forward", "communication buffers") == 0
    assert at(plain, "backward", "communication buffers") == 10**9
    assert at(answer(strategy, 8, {"overlap_comm": True}), "backward", "communication buffers") == 2 * 10**9
    assert at(answer(strategy, 8, {"reduce_bucket": None}), "backward", "communication buffers") == 2 * HIDDEN**2


@pytest.mark.parametrize(("strategy", "name"), [("zero1", "backward"), ("zero2", "backward"), ("zero3", "forward")])
def test_one_device_has_deepspeeds_buckets_and_copies_too(strategy: str, name: str) -> None:
    """setup_buckets and the flat buffer of stage 3 ask for no number of devices; nor does what the update flattens."""
    alone, plain = answer(strategy, 1), answer("none", 1)
    assert at(alone, name, "communication buffers") == 10**9
    assert at(alone, "optimizer_step", "optimizer states") == at(plain, "optimizer_step", "optimizer states")
    assert at(alone, "optimizer_step", "temporary buffers") >= 4 * 10**9  # fp32 gradients of what is updated at once
    assert alone.basis == "extrapolated"


@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_zero_2_never_holds_all_gradients(checkpointing: str) -> None:
    """Each goes into the bucket as it comes, and its own memory is free; what stays is the partition's."""
    found = answer("zero2", checkpointing=checkpointing)
    assert at(found, "backward", "gradients") == pytest.approx(2 * PARAMETERS / 8, rel=1e-3)
    more = answer("zero2", checkpointing=checkpointing, gradient_accumulation=4)
    anew = at(more, "backward", "communication buffers") - at(found, "backward", "communication buffers")
    assert anew == pytest.approx(2 * PARAMETERS / 8, rel=1e-3)


def test_zero_2_turns_its_partition_of_gradients_to_fp32_for_the_update() -> None:
    """Beside 2 bytes each of gradients: a flat copy of 2 and fp32 of 4 (stage_1_and_2.py, step)."""
    step = answer("zero2").instants[-1].bytes_by_term
    part = PARAMETERS // 8
    assert step["gradients"] == pytest.approx(2 * part, rel=1e-3)
    assert step["temporary buffers"] == pytest.approx(6 * part, rel=1e-3)


def test_zero_3_updates_a_billion_values_at_a_time() -> None:
    """On two devices a partition has 4.0 billion: copies and foreach's own tensors are those of a quarter."""
    step = answer("zero3", 2, optimizer_impl="foreach").instants[-1].bytes_by_term
    assert step["temporary buffers"] == pytest.approx(6 * 10**9, rel=1e-3)


def test_zero_1_frees_more_than_it_makes() -> None:
    """Over 8 devices the other devices' gradients, 14 / 8 n bytes, go before the copies, 6 / 8 n, come."""
    assert "temporary buffers" not in answer("zero1").instants[-1].bytes_by_term


def test_megatron_s_published_bytes_a_parameter() -> None:
    """docs, distributed optimizer: bf16 weights, fp32 gradients: 6 + 12 / d; there from the start."""
    found = answer("megatron", 8, gradients_dtype="fp32")
    first = found.first_step[0].bytes_by_term
    assert first["gradients"] == pytest.approx(4 * PARAMETERS, rel=1e-3)
    step = found.instants[-1].bytes_by_term
    states = sum(step[term] for term in ("weights", "gradients", "master weights", "optimizer states"))  # type: ignore[index]
    assert states / PARAMETERS == pytest.approx(6 + 12 / 8, rel=1e-3)
    assert "temporary buffers" not in step


def test_gradients_that_are_views_of_buckets_need_no_copy() -> None:
    """PyTorch's DDP: memory falls by as much as the gradients take, which are there from the start."""
    copies, views = answer("ddp"), answer("ddp", 8, {"gradient_as_bucket_view": True})
    assert at(copies, "forward", "communication buffers") == pytest.approx(2 * PARAMETERS, rel=1e-3)
    assert at(views, "forward", "communication buffers") == 0
    assert at(views, "forward", "gradients") == pytest.approx(2 * PARAMETERS, rel=1e-3)
    saving = at(copies, "optimizer_step", "communication buffers")
    assert copies.instants[-1].total_bytes - views.instants[-1].total_bytes == pytest.approx(1.018 * saving, rel=1e-3)


def gathering(checkpointing: str = "none", **sharding: Any) -> Any:
    architecture = chosen_model(ModelChoice(catalog="meta-llama/Llama-3.1-8B")).architecture
    setup = Setup.of(Training.model_validate({"checkpointing": checkpointing}))
    found = zero3_gathering(architecture, setup, Sharding.model_validate({"strategy": "zero3", **sharding}), 8)
    (unit,) = found.layers.values()
    return found, unit


def test_zero_3_gathers_a_matrix_at_a_time_or_a_layer_that_runs_again() -> None:
    """Norms of 4096 values are under the threshold of 1e5 and never divided."""
    norms = 2 * HIDDEN
    assert gathering()[1].weights == 2 * HIDDEN * WIDTH
    assert gathering("full")[1].weights == 2 * (LAYER - norms)
    assert gathering("full", reuse_distance=0)[1].weights == 2 * HIDDEN * WIDTH


def test_zero_3_gathers_a_bucket_ahead() -> None:
    """Tensors are added until they come to 5e7 values: at most one more than the bucket."""
    assert gathering()[1].buffer == pytest.approx(2 * (5 * 10**7 + HIDDEN * WIDTH), abs=512)
    assert gathering(prefetch_bucket=0)[1].buffer == 0
    assert gathering(prefetch_bucket=None)[1].buffer == pytest.approx(2 * (0.9 * HIDDEN**2 + HIDDEN * WIDTH), abs=512)


def test_zero_3_keeps_what_is_used_again_soon() -> None:
    """The head of 525M values, forward and backward, is further than 1e9; ten times that reaches twenty layers."""
    assert gathering()[0].reused == ()
    assert len(gathering(reuse_distance=10**10)[0].reused) == -(-(10**10 - 2 * TABLE) // (2 * (LAYER - 2 * HIDDEN)))
    assert gathering()[0].at_loss == gathering()[0].at_start == 2 * TABLE


def test_zero_3_leaves_small_tensors_whole() -> None:
    """Adapters of rank 16 beside 4096 are 65,536 values each: under 1e5, so every device has all of them."""
    lora = {"method": "lora", "lora": {"rank": 16, "targets": ["q_proj", "o_proj"]}, "master_weights": False}
    whole, divided = answer("zero3", 8, **lora), answer("zero3", 8, {"persistence_threshold": 0}, **lora)
    adapters = at(whole, "loaded", "adapters")
    assert adapters == pytest.approx(4 * 32 * 2 * 2 * 16 * HIDDEN, rel=0.01)
    assert at(divided, "loaded", "adapters") == pytest.approx(adapters / 8, rel=0.01)


def test_zero_3_has_a_place_for_gradients_and_a_bucket_from_the_start() -> None:
    first = answer("zero3").first_step[0].bytes_by_term
    assert first["gradients"] == pytest.approx(2 * PARAMETERS / 8, rel=1e-3)
    assert first["communication buffers"] > 10**9


@pytest.mark.parametrize("strategy", ["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "megatron"])
@pytest.mark.parametrize(
    "training", [{}, {"checkpointing": "full"}, {"method": "lora", "master_weights": False}], ids=str
)
def test_more_devices_never_need_more_of_each(strategy: str, training: dict[str, Any]) -> None:
    needs = [answer(strategy, devices, **training).process.allocated for devices in (2, 4, 8, 64)]
    slack = (
        512 * 2000 * (32 if strategy == "fsdp2" else 1)
    )  # each tensor's part takes whole blocks, and rows are padded
    assert all(more <= fewer + slack for fewer, more in pairwise(needs)), needs


@pytest.mark.parametrize("strategy", ["ddp", "zero2", "zero3", "megatron"])
def test_a_map_counts_the_same_buckets(strategy: str) -> None:
    given = scenario(strategy, checkpointing="full")
    found = memory_map(given, [1, 2], [1024, 4096])
    for row, batch in enumerate(found.batches):
        for column, sequence in enumerate(found.sequences):
            one = scenario(strategy, checkpointing="full", micro_batch=batch, sequence_length=sequence)
            assert int(found.need_bytes[row, column]) == pytest.approx(estimate(one).need_bytes, rel=1e-4)


def states_per_value(optimizer: str, strategy: str, trainer: str = "accelerate") -> float:
    found = answer(strategy, optimizer=optimizer, trainer=trainer)
    states = next(term.largest_bytes for term in found.terms if term.name == "optimizer states")
    return 8 * states / PARAMETERS


@pytest.mark.parametrize("strategy", ["zero1", "zero2", "zero3"])
def test_flat_partitions_hide_embeddings_and_rows_from_an_optimizer(strategy: str) -> None:
    """DeepSpeed 0.19 hands over flat fp32 partitions: bitsandbytes finds no embedding in them, whose states the Trainer
    would have kept in fp32, and Adafactor finds a vector, whose squares it keeps whole."""
    assert states_per_value("adamw_8bit", strategy) == pytest.approx(2 * (1 + 4 / 256), rel=0.002)
    assert states_per_value("adafactor", strategy) == pytest.approx(4, rel=0.002)


def test_the_trainer_lets_logits_go_under_deepspeed_too() -> None:
    """transformers 5.24: compute_loss returns the loss alone; DeepSpeed's engine holds no outputs either."""
    held, gone = (at(answer("zero2", trainer=name), "backward", "logits and loss") for name in ("none", "accelerate"))
    assert held - gone == 2048 * 128_256 * 2


@pytest.mark.parametrize("strategy", ["zero2", "zero3"])
def test_adafactor_under_the_trainer_steps_over_a_whole_partition(strategy: str) -> None:
    """transformers 5.24, Adafactor.step: the squared gradient in fp32, and the update made while it is there."""
    torchs = answer(strategy, optimizer="adafactor", trainer="none")
    its_own = answer(strategy, optimizer="adafactor", trainer="accelerate")
    found, other = (at(one, "optimizer_step", "temporary buffers") for one in (its_own, torchs))
    assert found - other == pytest.approx((8 - 4) * PARAMETERS / 8, rel=0.01)


def test_no_layer_stays_for_a_backward_that_does_not_come() -> None:
    """DeepSpeed looks for the next use in the trace of a step, which of inference is a forward alone (partitioned_param_
    coordinator.py, __params_to_release)."""
    architecture = chosen_model(ModelChoice(catalog="mistralai/Mistral-7B-v0.3")).architecture
    sharding = Sharding(strategy="zero3")
    found = [
        zero3_gathering(architecture, Setup.of(Training.model_validate({"method": method})), sharding, 8).reused
        for method in ("full", "inference")
    ]
    assert len(found[0]) == 2
    assert found[1] == ()


@pytest.mark.parametrize("strategy", ["none", "ddp"])
@pytest.mark.parametrize("method", ["full", "lora", "inference"])
def test_weights_on_each_host_come_as_they_come_to_one_device(strategy: str, method: str) -> None:
    """What is not divided is whole on each device's host: the device holds as much as a single one, and DDP's buckets,
    as large as its gradients. Nothing is gathered from the others, and its gradients are all of them."""

    def instants(devices: int) -> dict[str, dict[str, int]]:
        given = {
            "training": {"method": method, "sequence_length": 512},
            "model": {"catalog": "meta-llama/Llama-3.2-1B"},
        }
        hardware = {"devices": devices, "sharding": {"strategy": strategy}, "offload": {"parameters": True}}
        found = estimate(Scenario.model_validate({**given, "hardware": hardware}))
        return {one.name: dict(one.bytes_by_term) for one in found.instants}

    alone, eight = instants(1), instants(8)
    buckets = alone["optimizer_step"]["gradients"] if method != "inference" else 0
    for name, terms in alone.items():
        for one in ("gradients", "optimizer states", "activations", "logits and loss", "temporary buffers"):
            assert eight[name].get(one, 0) == terms.get(one, 0)
        more = eight[name].get("communication buffers", 0) - terms.get("communication buffers", 0)
        assert more == pytest.approx(0 if name == "loaded" else buckets, abs=512 * 400)
