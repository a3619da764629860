"""The answer for one scenario. What is right: sums, bands and verdicts as DESIGN's words define them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from memplan.catalog import device as device_of
from memplan.catalog import devices
from memplan.errors import ConfigError, UnknownEntryError
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import TERMS, Estimate, Instant
from memplan.units import GB, GIB, MIB
from tests.core.small_models import LLAMA, SMALL, Config

LLAMA_8B = "meta-llama/Llama-3.1-8B"


def answer(model: dict[str, Any], hardware: dict[str, Any] | None = None, **training: Any) -> Estimate:
    return estimate(Scenario.model_validate({"model": model, "training": training, "hardware": hardware or {}}))


def all_instants(found: Estimate) -> tuple[Instant, ...]:
    return (*found.first_step, *found.instants)


GENERATES = ["prefill", "decode"]
SET_UPS: list[dict[str, Any]] = [
    {},
    {"method": "lora"},
    {"method": "qlora", "autocast": "bf16", "checkpointing": "full"},
    {"method": "freeze"},
    {"method": "inference"},
    {"method": "inference", "inference": {"kv_cache": False}},
    {"weights_dtype": "fp32", "autocast": "bf16", "gradient_accumulation": 4},
    {"master_weights": True, "gradients_dtype": "fp32"},
    {"attention": "eager", "optimizer": "sgd"},
]


# the form of the answer


@pytest.mark.parametrize("training", SET_UPS, ids=str)
@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_instants_in_order_and_terms_that_add_up(config: Config, training: dict[str, Any]) -> None:
    found = answer({"config": config}, **training)
    trains, passes = training.get("method") != "inference", ["forward", "loss"]
    step = [*passes, "backward", "optimizer_step"] if trains else passes if "inference" in training else GENERATES
    assert [one.name for one in found.instants] == ["loaded", *step]
    assert [one.name for one in found.first_step] == (step if trains else [])
    assert [one.step for one in found.instants] == [0, *[2] * len(step)]
    for one in all_instants(found):
        assert list(one.bytes_by_term) == [term for term in TERMS if term in one.bytes_by_term]
        assert all(isinstance(size, int) and size > 0 for size in one.bytes_by_term.values())
        assert one.total_bytes == sum(one.bytes_by_term.values())
    assert found.peak == max(all_instants(found), key=lambda one: one.total_bytes)
    assert found.peak in all_instants(found)


@pytest.mark.parametrize("training", SET_UPS, ids=str)
def test_terms_are_those_of_the_instants(training: dict[str, Any]) -> None:
    found = answer({"config": LLAMA}, **training)
    names = {name for one in all_instants(found) for name in one.bytes_by_term}
    assert [term.name for term in found.terms] == [name for name in TERMS if name in names]
    for term in found.terms:
        assert term.bytes_at_peak == found.peak.bytes_by_term.get(term.name, 0)
        assert term.largest_bytes == max(one.bytes_by_term.get(term.name, 0) for one in all_instants(found))
        assert term.formula
        assert term.source


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_weights_and_adapters_are_listed_tensor_by_tensor(config: Config) -> None:
    found = answer({"config": config}, method="lora")
    for term in found.terms:
        if term.name in ("weights", "adapters"):
            listed = sum(row.total_bytes for row in term.tensors)
            assert 0 <= term.largest_bytes - listed <= 4096  # buffers that come with the model
            assert all(row.name and row.shape and row.count for row in term.tensors)


def test_what_a_formula_says_is_what_it_gives() -> None:
    terms = {term.name: term for term in answer({"catalog": LLAMA_8B}).terms}
    assert "8,030,261,248 parameters × 2 bytes" in terms["weights"].formula
    assert "8,030,261,248 trainable parameters × 4 bytes (AdamW)" in terms["optimizer states"].formula


# the step


def test_optimizer_states_appear_in_the_first_step() -> None:
    found = answer({"config": LLAMA})
    first, later = ({one.name: one for one in step} for step in (found.first_step, found.instants))
    for name in ("forward", "loss", "backward"):
        assert "optimizer states" not in first[name].bytes_by_term
        assert later[name].bytes_by_term["optimizer states"] > 0
    assert first["optimizer_step"].bytes_by_term == later["optimizer_step"].bytes_by_term


def test_the_step_of_foreach_is_the_peak_of_most_full_fine_tunes() -> None:
    found = answer({"catalog": LLAMA_8B})
    assert found.peak.name == "optimizer_step"
    assert answer({"catalog": LLAMA_8B}, optimizer_impl="fused").peak.name == "backward"


def test_accumulation_holds_gradients_through_forward() -> None:
    once, more = (
        {one.name: one for one in answer({"config": LLAMA}, gradient_accumulation=count).instants} for count in (1, 8)
    )
    assert "gradients" not in once["forward"].bytes_by_term
    assert more["forward"].bytes_by_term["gradients"] == more["optimizer_step"].bytes_by_term["gradients"]


def test_accumulation_costs_the_same_however_long() -> None:
    two, many = (answer({"config": LLAMA}, gradient_accumulation=count) for count in (2, 1000))
    assert two.instants == many.instants


def test_inference_holds_weights_and_what_runs() -> None:
    found = answer({"config": LLAMA}, method="inference")
    names = {name for one in found.instants for name in one.bytes_by_term}
    assert names.isdisjoint({"gradients", "optimizer states", "master weights", "adapters"})
    assert found.parameters.trainable == 0


def test_a_master_copy_is_a_term_of_its_own() -> None:
    found = answer({"config": LLAMA}, master_weights=True)
    terms = {term.name: term.largest_bytes for term in found.terms}
    assert terms["master weights"] == pytest.approx(2 * terms["weights"], rel=0.001)
    assert terms["optimizer states"] == pytest.approx(4 * terms["weights"], rel=0.001)  # fp32, as the master copy is


@pytest.mark.parametrize("sequence", [64, 4000])
@pytest.mark.parametrize("training", SET_UPS, ids=str)
@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_the_loss_is_where_the_logits_are(config: Config, training: dict[str, Any], sequence: int) -> None:
    found = answer({"config": config}, sequence_length=sequence, **training)
    for one in all_instants(found):
        if one.name == "loss":
            assert one.bytes_by_term["logits and loss"] >= 2 * sequence * config["vocab_size"]


# the recipe


@pytest.mark.parametrize(
    ("training", "bytes_per_parameter", "words"),
    [
        ({}, 8, "bf16 weights, bf16 gradients, bf16 AdamW states"),
        ({"weights_dtype": "fp32"}, 16, "fp32 weights, fp32 gradients, fp32 AdamW states"),
        (
            {"weights_dtype": "fp32", "autocast": "bf16"},
            16,
            "fp32 weights under bf16 autocast, fp32 gradients, fp32 AdamW states",
        ),
        ({"master_weights": True}, 16, "bf16 weights, bf16 gradients, fp32 master weights, fp32 AdamW states"),
        ({"optimizer_state_dtype": "fp32"}, 12, "bf16 weights, bf16 gradients, fp32 AdamW states"),
        ({"optimizer": "sgd"}, 4, "bf16 weights, bf16 gradients, SGD without states"),
        ({"optimizer": "adamw_8bit"}, 6.031, "bf16 weights, bf16 gradients, 8-bit AdamW states"),
        ({"method": "inference"}, 2, "bf16 weights, nothing trains"),
    ],
    ids=str,
)
def test_the_recipe_beside_the_total(training: dict[str, Any], bytes_per_parameter: float, words: str) -> None:
    recipe = answer({"parameters": 7 * GB}, **training).recipe
    assert recipe.text == words
    assert recipe.bytes_per_parameter == bytes_per_parameter


def test_the_recipe_of_adapters() -> None:
    lora, qlora = (answer({"catalog": LLAMA_8B}, method=method).recipe for method in ("lora", "qlora"))
    assert lora.text.startswith("frozen bf16 weights, fp32 adapters")
    assert qlora.text.startswith("4-bit nf4 base, the rest in fp32, fp32 adapters")
    assert lora.bytes_per_parameter == pytest.approx(2 + 16 * 41_943_040 / 8_030_261_248, abs=0.005)


# counts


def test_parameters_of_published_models() -> None:
    llama = answer({"catalog": LLAMA_8B}).parameters
    assert (llama.total, llama.trainable, llama.active) == (8_030_261_248,) * 3
    mixtral = answer({"catalog": "mistralai/Mixtral-8x7B-v0.1"}).parameters
    assert (mixtral.total, mixtral.active) == (46_702_792_704, 12_879_925_248)
    lora = answer({"catalog": LLAMA_8B}, method="lora").parameters
    assert lora.trainable == 41_943_040  # rank 16 on the seven matrices of each layer, by PEFT's own count
    assert lora.total == llama.total + lora.trainable


@pytest.mark.parametrize("parameters", [1000, 10**6, 7 * GB, 10**12, 10**15])
@pytest.mark.parametrize("method", ["full", "lora", "qlora", "freeze", "inference"])
def test_a_size_alone_is_that_size(parameters: int, method: str) -> None:
    found = answer({"parameters": parameters}, method=method)
    assert found.parameters.total - (found.parameters.trainable if "lora" in method else 0) == parameters
    weights = next(term for term in found.terms if term.name == "weights")
    per_parameter = 0.5 + 1 / 64 + 4 / (64 * 256) if method == "qlora" else 2
    assert weights.largest_bytes == pytest.approx(per_parameter * parameters, rel=0.005)
    assert found.basis == "extrapolated"
    assert found.warnings[0].path == "model"


def test_a_size_with_its_shape_is_walked_in_that_shape() -> None:
    shape = {"parameters": 7 * GB, "layers": 40, "hidden_size": 5120, "vocab_size": 32_000}
    found = answer(shape, checkpointing="full", sequence_length=1024)
    activations = next(term for term in found.terms if term.name == "activations")
    kept = next(row for row in activations.tensors if "checkpointed input" in row.name)
    assert kept.total_bytes == 40 * 1024 * 5120 * 2


@pytest.mark.parametrize(
    ("optimizer", "low", "high"),
    [("adafactor", 0.0001, 0.01), ("muon", 2.0, 2.5), ("galore", 0.1, 2.0), ("lion", 4, 4)],
)
def test_states_that_follow_shapes_follow_those_of_a_usual_model(optimizer: str, low: float, high: float) -> None:
    """Rows and columns, matrices of layers (AdamW does the rest), a low rank: a count alone has no shape, so one is assumed."""
    found = answer({"parameters": 7 * GB}, optimizer=optimizer)
    per_parameter = next(term.largest_bytes for term in found.terms if term.name == "optimizer states") / (7 * GB)
    assert low <= per_parameter <= high


def test_the_trainer_of_a_plan_reaches_its_optimizer() -> None:
    """transformers 5.24: embeddings keep 32-bit states under 8-bit optimizers, Adafactor takes 16 bytes a value."""
    table, tied = 128_256 * 4096, {"catalog": "meta-llama/Llama-3.1-8B"}

    def states(trainer: str) -> int:
        found = answer(tied, optimizer="adamw_8bit", trainer=trainer)
        return next(term.largest_bytes for term in found.terms if term.name == "optimizer states")

    assert states("accelerate") - states("none") == pytest.approx(table * (8 - 2 * (1 + 4 / 256)), rel=1e-4)
    step = answer(tied, optimizer="adafactor", trainer="accelerate").instants[-1]
    assert step.bytes_by_term["temporary buffers"] == 16 * table


# the device


def test_need_is_a_band_around_what_is_allocated() -> None:
    """Reserved over allocated where memory had run out: 1.001, 1.018, 1.084 (49 out-of-memory messages)."""
    found = answer({"catalog": LLAMA_8B})
    allocated = found.process.allocated
    assert allocated < found.need.low < found.need_bytes < found.need.high
    assert found.need.low == round(1.001 * allocated) + 141 * MIB
    assert found.need.high == round(1.084 * allocated) + 550 * MIB


def test_allocated_is_the_fullest_instant_s_tensors_and_the_workspace() -> None:
    found = answer({"catalog": LLAMA_8B})
    framework, slack = (found.peak.bytes_by_term[name] for name in ("framework", "allocator slack"))
    tensors = found.peak.total_bytes - framework - slack
    assert found.process.allocated == tensors + 8 * MIB + 128 * 1024
    assert slack == pytest.approx(0.018 * tensors, rel=0.01)


def test_hopper_has_a_larger_workspace() -> None:
    """cuBLAS takes 32 MiB from Hopper on, 8.125 MiB before (CublasHandlePool.cpp)."""
    a100, h100 = (answer({"config": LLAMA}, {"device": one}) for one in ("a100-80gb-sxm", "h100-sxm"))
    assert h100.process.allocated - a100.process.allocated == 32 * MIB - (8 * MIB + 128 * 1024)


def test_the_verdict_is_where_usable_stands_in_the_band() -> None:
    by_need = {}
    for used in range(0, 80, 2):
        found = answer({"config": LLAMA}, {"used_by_others_bytes": used * GIB, "headroom": 0}, micro_batch=64)
        inside = found.need.low <= found.usable_bytes < found.need.high
        expected = "fits" if found.need.high <= found.usable_bytes else "tight" if inside else "does_not_fit"
        assert found.verdict == expected
        by_need[found.verdict] = found
    assert set(by_need) == {"fits", "tight", "does_not_fit"}


def test_headroom_and_other_programs_take_from_what_is_usable() -> None:
    whole = device_of("a100-80gb-sxm").usable_bytes
    found = answer({"config": LLAMA}, {"used_by_others_bytes": 10 * GIB, "headroom": 0.1})
    assert found.usable_bytes == int((whole - 10 * GIB) * 0.9)
    assert found.headroom_bytes == found.usable_bytes - found.need_bytes
    assert answer({"config": LLAMA}, {"used_by_others_bytes": 10**15}).usable_bytes == 0


def test_the_monitor_shows_more_than_the_run_needs_and_no_more_than_the_device_has() -> None:
    for batch in (1, 16, 64, 256):
        found = answer({"config": LLAMA}, {"device": "a100-80gb-sxm"}, micro_batch=batch)
        process = found.process
        assert process.allocated <= process.reserved <= process.total
        assert process.low <= process.total <= process.high
        total = device_of("a100-80gb-sxm").framework_total_bytes
        assert process.high <= max(total, found.need.low)


@pytest.mark.parametrize("entry", devices(), ids=lambda entry: entry.id)
def test_every_device_of_the_catalog_can_be_asked(entry: Any) -> None:
    found = answer({"config": LLAMA}, {"device": entry.id})
    assert found.device_id == entry.id
    assert found.device_name == entry.name
    assert 0 < found.usable_bytes <= entry.usable_bytes


def test_several_devices_need_more_than_their_share() -> None:
    """NCCL holds buffers of its own, and DDP a copy of the gradients."""
    one, eight = (answer({"config": LLAMA}, {"devices": count}) for count in (1, 8))
    assert eight.need.low > one.need.low
    terms = {term.name: term.largest_bytes for term in eight.terms}
    assert terms["communication buffers"] == terms["gradients"]


# errors


def test_unknown_entries_are_told_with_what_is_near() -> None:
    with pytest.raises(UnknownEntryError, match="Llama-3"):
        answer({"catalog": "meta-llama/Llama-3.1-8"})
    with pytest.raises(UnknownEntryError, match="a100"):
        answer({"config": LLAMA}, {"device": "a100-90gb"})


def test_a_configuration_that_describes_no_model_is_told() -> None:
    with pytest.raises(ConfigError) as caught:
        answer({"config": {"model_type": "llama"}})
    assert caught.value.place.startswith("config.")
    assert caught.value.remedy


# purity


def test_the_same_scenario_gives_the_same_answer_on_any_thread() -> None:
    scenario = Scenario.model_validate({"model": {"config": LLAMA}, "training": {"sequence_length": 777}})
    answers: list[Estimate] = []
    threads = [threading.Thread(target=lambda: answers.append(estimate(scenario))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(one == answers[0] for one in answers)
    assert all(one.bytes == answers[0].bytes for one in answers)
