"""What holds for every split of a run: nothing is negative, parts sum up, more devices and offloading take no more."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import TERMS, Estimate
from tests.core.small_models import SMALL

SEVERAL = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
CONFIGS = st.sampled_from([SMALL[name] for name in sorted(SMALL)])
TRAININGS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["full", "lora", "qlora", "freeze", "inference"]),
        "weights_dtype": st.sampled_from(["fp32", "bf16"]),
        "master_weights": st.booleans(),
        "optimizer": st.sampled_from(["adamw", "sgd", "adamw_8bit", "paged_adamw_8bit", "paged_adamw_32bit"]),
        "optimizer_impl": st.sampled_from(["foreach", "fused"]),
        "gradient_accumulation": st.sampled_from([1, 3, 16]),
        "checkpointing": st.sampled_from(["none", "full", "offload"]),
        "micro_batch": st.integers(1, 3),
        "sequence_length": st.integers(8, 600),
        "kernels_version": st.sampled_from([None, "4.48"]),
    }
)
STRATEGIES = st.sampled_from(["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "megatron"])
SHARDINGS = st.fixed_dictionaries(
    {
        "strategy": STRATEGIES,
        "gradient_as_bucket_view": st.booleans(),
        "reduce_bucket": st.sampled_from([None, 0, 1000, 500_000_000]),
        "overlap_comm": st.booleans(),
        "prefetch_bucket": st.sampled_from([None, 0, 10**7]),
        "persistence_threshold": st.sampled_from([None, 0, 10**5]),
        "reuse_distance": st.sampled_from([0, 10**6, 10**9]),
    }
)
HARDWARE = st.fixed_dictionaries(
    {
        "devices": st.sampled_from([1, 2, 8, 24, 96]),
        "tensor_parallel": st.sampled_from([1, 2, 3]),
        "sequence_parallel": st.booleans(),
        "pipeline_parallel": st.sampled_from([1, 2, 3, 100]),
        "context_parallel": st.sampled_from([1, 2]),
        "expert_parallel": st.sampled_from([1, 2]),
        "sharding": SHARDINGS,
        "offload": st.fixed_dictionaries(
            {"optimizer": st.booleans(), "parameters": st.booleans(), "activations": st.booleans()}
        ),
    }
)


def answer(config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]) -> Estimate:
    return estimate(Scenario.model_validate({"model": {"config": config}, "training": training, "hardware": hardware}))


@given(config=CONFIGS, training=TRAININGS, hardware=HARDWARE)
@SEVERAL
def test_an_estimate_holds_together(config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]) -> None:
    found = answer(config, training, hardware)
    for one in (*found.first_step, *found.instants):
        assert all(size > 0 for size in one.bytes_by_term.values()), one
        assert set(one.bytes_by_term) <= set(TERMS)
        assert one.total_bytes <= found.peak.total_bytes
    assert sum(term.bytes_at_peak for term in found.terms) == found.peak.total_bytes
    assert 0 < found.process.allocated <= found.need.low <= found.need.high
    assert all(size > 0 for size in found.host.bytes_by_term.values())
    assert 0 <= found.host.pinned_bytes <= found.host.device_bytes <= found.host.node_bytes
    peaks = [stage.peak_bytes for stage in found.stages]
    assert peaks == sorted(peaks, reverse=True)
    assert sum(stage.alike for stage in found.stages) in (
        0,
        min(hardware["pipeline_parallel"], 4),
        found.stages[0].ranks if found.stages else 0,
    )


@given(config=CONFIGS, training=TRAININGS, hardware=HARDWARE)
@SEVERAL
def test_states_on_the_host_are_not_on_the_device(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]
) -> None:
    there, here = (
        answer(config, training, {**hardware, "offload": {"optimizer": offloads}}) for offloads in (True, False)
    )
    assert there.process.allocated <= here.process.allocated
    assert there.host.device_bytes >= here.host.device_bytes
    assert not any("master weights" in one.bytes_by_term for one in there.instants)


@given(config=CONFIGS, training=TRAININGS, hardware=HARDWARE, factor=st.sampled_from([2, 8]))
@SEVERAL
def test_more_data_parallel_devices_take_no_more_of_each(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any], factor: int
) -> None:
    """From two on, where divided tensors are flattened: rows that are cut one by one are padded (FSDP2)."""
    sharding = {**hardware["sharding"], "strategy": hardware["sharding"]["strategy"].replace("fsdp2", "fsdp1")}
    own = {**hardware, "sharding": sharding, "expert_parallel": 1}
    together = own["tensor_parallel"] * own["pipeline_parallel"] * own["context_parallel"]
    fewer, more = (answer(config, training, {**own, "devices": together * devices}) for devices in (2, 2 * factor))
    blocks = 512 * 2000
    assert more.process.allocated <= fewer.process.allocated + blocks
    assert more.host.device_bytes <= fewer.host.device_bytes + blocks
