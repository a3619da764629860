"""What holds for every set-up: nothing is negative, more work takes no less memory, levers do what they are for."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.plan.hardware import Hardware
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import TERMS, Estimate
from tests.core.plan_strategies import sections
from tests.core.small_models import SMALL

SEVERAL = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])

CONFIGS = st.sampled_from([SMALL[name] for name in sorted(SMALL)])
LORAS = st.fixed_dictionaries(
    {
        "rank": st.sampled_from([1, 8, 64]),
        "targets": st.sampled_from(["all-linear", ["q_proj", "v_proj"], ["down_proj"], ["c_attn"], ["nothing"]]),
        "dropout": st.sampled_from([0.0, 0.1]),
        "adapter_dtype": st.sampled_from(["fp32", "bf16"]),
        "last_layers": st.sampled_from([None, 1, 3, 6]),
    }
)
TRAININGS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["full", "lora", "qlora", "freeze", "inference"]),
        "lora": LORAS,
        "freeze": st.fixed_dictionaries({"trainable_layers": st.integers(0, 6), "head": st.booleans()}),
        "weights_dtype": st.sampled_from(["fp32", "bf16", "fp16"]),
        "autocast": st.sampled_from(["none", "bf16"]),
        "gradients_dtype": st.sampled_from(["weights", "fp32"]),
        "master_weights": st.booleans(),
        "optimizer": st.sampled_from(
            ["adamw", "sgd", "sgd_momentum", "adafactor", "adamw_8bit", "lion", "muon", "galore"]
        ),
        "optimizer_impl": st.sampled_from(["foreach", "fused", "for_loop"]),
        "micro_batch": st.integers(1, 5),
        "sequence_length": st.integers(1, 900),
        "gradient_accumulation": st.sampled_from([1, 2, 16]),
        "checkpointing": st.sampled_from(["none", "full"]),
        "attention": st.sampled_from(["eager", "sdpa", "flash"]),
    }
)
ALONE = st.just({})
SHARDED = st.fixed_dictionaries(
    {
        "devices": st.sampled_from([1, 2, 3, 8, 64]),
        "sharding": st.fixed_dictionaries(
            {
                "strategy": st.sampled_from(["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "megatron"]),
                "mixed_precision": st.booleans(),
                "reshard_after_forward": st.booleans(),
            }
        ),
    }
)


FLATTENING = {"zero1", "zero2", "zero3", "fsdp1", "megatron"}
"""Strategies that cut one long row of all tensors, and not each tensor."""
OFFLOADS = st.fixed_dictionaries(
    {"offload": st.fixed_dictionaries({name: st.booleans() for name in ("optimizer", "parameters", "activations")})}
)


def answer(config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any] | None = None) -> Estimate:
    return estimate(
        Scenario.model_validate({"model": {"config": config}, "training": training, "hardware": hardware or {}})
    )


def largest(found: Estimate) -> dict[str, int]:
    return {term.name: term.largest_bytes for term in found.terms}


def states(found: Estimate) -> dict[str, int]:
    """What stays from step to step; the optimizer step's own moment has all of it."""
    names = {"weights", "adapters", "gradients", "optimizer states", "master weights"}
    return {name: size for name, size in found.instants[-1].bytes_by_term.items() if name in names}


@given(config=CONFIGS, training=TRAININGS, hardware=SHARDED)
@SEVERAL
def test_an_estimate_holds_together(config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]) -> None:
    found = answer(config, training, hardware)
    for one in (*found.first_step, *found.instants):
        assert all(size > 0 for size in one.bytes_by_term.values())
        assert set(one.bytes_by_term) <= set(TERMS)
        assert one.total_bytes == sum(one.bytes_by_term.values()) <= found.peak.total_bytes
    assert sum(term.bytes_at_peak for term in found.terms) == found.peak.total_bytes
    assert all(0 <= term.bytes_at_peak <= term.largest_bytes for term in found.terms)
    assert 0 < found.process.allocated <= found.need.low <= found.need.high
    assert found.process.low <= found.process.total <= found.process.high
    assert 0 <= found.parameters.trainable <= found.parameters.total
    assert 0 < found.parameters.active <= found.parameters.total
    traced = found.bytes
    assert traced.loaded <= traced.zeroed <= traced.step_end <= traced.step_peak <= traced.peak
    assert traced.forward_end <= traced.forward_peak <= traced.peak
    assert traced.backward_peak <= traced.peak


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_the_same_question_has_the_same_answer(config: dict[str, Any], training: dict[str, Any]) -> None:
    one, again = answer(config, training), answer(config, training)
    assert one == again
    assert one.bytes == again.bytes


def no_smaller(less: Estimate, more: Estimate) -> None:
    """Every instant of more work takes no less. A term may: the fullest moment of an instant can move to another place."""
    assert states(more) == states(less)
    for one, other in zip((*less.first_step, *less.instants), (*more.first_step, *more.instants), strict=True):
        assert other.total_bytes >= one.total_bytes, one.name
    for name in ("forward_end", "forward_peak", "backward_peak", "step_peak", "zeroed"):
        assert getattr(more.bytes, name) >= getattr(less.bytes, name), name
    assert more.need.low >= less.need.low


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_a_larger_batch_takes_no_less(config: dict[str, Any], training: dict[str, Any]) -> None:
    doubled = {**training, "micro_batch": 2 * training["micro_batch"]}
    no_smaller(answer(config, training), answer(config, doubled))


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_a_larger_batch_keeps_no_less_of_any_term(config: dict[str, Any], training: dict[str, Any]) -> None:
    """Where nothing is recomputed, what grows with the batch is what autograd keeps, and its moment is the same."""
    plain = {**training, "method": "full", "checkpointing": "none", "sequence_length": 300}
    small, large = (largest(answer(config, {**plain, "micro_batch": batch})) for batch in (1, 2))
    assert set(small) == set(large)
    assert {name: size for name, size in small.items() if size > large[name] and name != "temporary buffers"} == {}


@given(config=CONFIGS, training=TRAININGS, factor=st.sampled_from([2, 3, 10]))
@SEVERAL
def test_a_longer_sequence_takes_no_less(config: dict[str, Any], training: dict[str, Any], factor: int) -> None:
    longer = {**training, "sequence_length": factor * training["sequence_length"]}
    no_smaller(answer(config, training), answer(config, longer))


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_checkpointing_keeps_no_more(config: dict[str, Any], training: dict[str, Any]) -> None:
    """Where autograd has something to keep: with nothing trained in a layer there is nothing to save either."""
    plain, checkpointed = (
        answer(config, {**training, "method": "full", "checkpointing": checkpointing})
        for checkpointing in ("none", "full")
    )
    assert checkpointed.bytes.forward_end <= plain.bytes.forward_end
    assert states(checkpointed) == states(plain)


@given(config=CONFIGS, training=TRAININGS, hardware=OFFLOADS)
@SEVERAL
def test_more_checkpointing_never_keeps_more(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]
) -> None:
    """Whatever else is on the host: none keeps no less than full, and full no less than checkpoints on the host.

    Where all that is kept waits on the host, a checkpoint's further arguments (positions, masks) are what is left.
    """
    full = {**training, "method": "full"}
    none, some, most = (
        answer(config, {**full, "checkpointing": checkpointing}, hardware).bytes.forward_end
        for checkpointing in ("none", "full", "offload")
    )
    assert most <= some
    assert some <= none or hardware["offload"]["activations"]


@given(config=CONFIGS, training=TRAININGS, hardware=OFFLOADS, name=st.sampled_from(["optimizer", "activations"]))
@SEVERAL
def test_more_on_the_host_leaves_no_more_on_the_device(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any], name: str
) -> None:
    here, there = (
        answer(config, training, {"offload": {**hardware["offload"], name: moved}}).bytes.forward_end
        for moved in (False, True)
    )
    assert there <= here


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_states_do_not_depend_on_what_passes_through(config: dict[str, Any], training: dict[str, Any]) -> None:
    other = {**training, "micro_batch": 3, "sequence_length": 50, "checkpointing": "full", "attention": "eager"}
    assert states(answer(config, training)) == states(answer(config, other))


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_adapters_are_all_that_trains(config: dict[str, Any], training: dict[str, Any]) -> None:
    """Gradients and states follow the adapters; the base is as it was loaded."""
    found = answer(config, {**training, "method": "lora", "gradients_dtype": "weights"})
    loaded = answer(config, {**training, "method": "inference"})
    terms = largest(found)
    assert terms.get("gradients", 0) == terms.get("adapters", 0)
    assert found.parameters.trainable == found.parameters.total - loaded.parameters.total
    assert terms["weights"] == largest(loaded)["weights"]


@given(config=CONFIGS, training=TRAININGS, hardware=SHARDED)
@SEVERAL
def test_sharding_never_grows_a_device_s_share_of_the_states(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]
) -> None:
    """Beyond the rounding of each tensor's part to whole blocks.

    A flat partition has neither rows nor columns: Adafactor, which keeps one number for each of them, keeps one for each
    value there, which on few devices is more than all of it on one. Source: torch 2.13, optim/_adafactor.py (a parameter
    of one dimension gets `variance`).
    """
    alone, one_of_many = states(answer(config, training)), states(answer(config, training, hardware))
    blocks = 512 * 2000
    assert set(one_of_many) <= set(alone)
    if training["optimizer"] == "adafactor" and hardware["sharding"]["strategy"] in FLATTENING:
        one_of_many.pop("optimizer states", None)
    assert {name: size for name, size in one_of_many.items() if size > alone[name] + blocks} == {}


@given(config=CONFIGS, training=TRAININGS)
@SEVERAL
def test_fused_and_smaller_optimizers_take_no_more(config: dict[str, Any], training: dict[str, Any]) -> None:
    def need(**more: str) -> int:
        return answer(config, {**training, "optimizer": "adamw", **more}).need.low

    assert need(optimizer_impl="fused") <= need(optimizer_impl="for_loop")
    assert need(optimizer_impl="fused") <= need(optimizer_impl="foreach")
    assert need(optimizer="sgd") <= need(optimizer_impl="fused")


def answer_or_words(scenario: Scenario) -> None:
    """Bad input is told in words; any other kind of error is a defect."""
    try:
        found = estimate(scenario)
    except MemplanError as problem:
        assert problem.message  # noqa: PT017 - either ending is right
        return
    assert found.peak.total_bytes > 0
    assert min(size for one in found.instants for size in one.bytes_by_term.values()) > 0


@given(training=sections(Training), hardware=sections(Hardware), config=CONFIGS)
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_plan_may_hold_has_an_answer_or_words(
    training: Training, hardware: Hardware, config: dict[str, Any]
) -> None:
    """Every field over its whole range; the device is one of the catalog, as any other is refused by name."""
    known = hardware.model_copy(update={"device": "h100-sxm"})
    answer_or_words(Scenario(model=ModelChoice(config=config), training=training, hardware=known))


@given(
    size=st.integers(1, 10**15),
    layers=st.none() | st.integers(1, 100_000),
    hidden=st.none() | st.integers(1, 10_000_000),
    vocab=st.none() | st.integers(1, 100_000_000),
    training=TRAININGS,
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_size_alone_has_an_answer_or_words(
    size: int, layers: int | None, hidden: int | None, vocab: int | None, training: dict[str, Any]
) -> None:
    model = {"parameters": size, "layers": layers, "hidden_size": hidden, "vocab_size": vocab}
    answer_or_words(Scenario.model_validate({"model": model, "training": training}))


@given(config=CONFIGS, data=st.data(), value=st.sampled_from([None, 0, -3, 1, 7, 10**9, 2.5, "x", True, [], {}]))
@settings(max_examples=100)
def test_a_damaged_configuration_has_an_answer_or_words(
    config: dict[str, Any], data: st.DataObject, value: Any
) -> None:
    name = data.draw(st.sampled_from(sorted(config)))
    answer_or_words(
        Scenario.model_validate({"model": {"config": {**config, name: value}}, "training": {"sequence_length": 64}})
    )
