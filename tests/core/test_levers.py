"""Levers. What is right: a saving is the difference of two estimates; the sizes are PyTorch's and arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memplan.levers.offers
from memplan.errors import ConfigError
from memplan.estimate import estimate
from memplan.levers import LEVERS, Lever, LeverOffer, lever_offers
from memplan.plan.edit import replaced, value_at
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from tests.core.made_estimates import made_estimate
from tests.core.plan_strategies import scenarios

LLAMA = Scenario(model=ModelChoice(catalog="meta-llama/Llama-3.1-8B"))
BY_ID = {lever.id: lever for lever in LEVERS}
SWITCHES = [lever for lever in LEVERS if lever.off]
STEPS = [lever for lever in LEVERS if not lever.off]
ROOMY = Scenario.model_validate(
    {
        "model": {"catalog": "meta-llama/Llama-3.1-8B"},
        "training": {
            "method": "qlora",
            "micro_batch": 4,
            "weights_dtype": "bf16",
            "gradients_dtype": "fp32",
            "attention": "eager",
            "master_weights": True,
            "lora": {"dropout": 0.1, "modules_to_save": ["embed_tokens"]},
            "quantization": {"double_quant": False},
        },
        "hardware": {"devices": 4, "sharding": {"strategy": "ddp"}},
    }
)
"""Almost every lever is off here and applies."""
IN_FP32 = replaced(LLAMA, "training.weights_dtype", "fp32")
INFERRED = Scenario.model_validate(
    {
        "model": {"catalog": "meta-llama/Llama-3.1-8B"},
        "training": {"method": "inference", "micro_batch": 8, "weights_dtype": "fp32", "attention": "eager"},
        "hardware": {"devices": 4},
    }
)


def where_it_applies(lever: Lever) -> Scenario:
    """A scenario in which a lever is off and applies."""
    tried = [changed(micro_batch=2), ROOMY, IN_FP32, changed(gradients_dtype="fp32"), changed(method="lora"), INFERRED]
    return next(one for one in tried if not lever.is_on(one) and lever.applies(one) is None)


WEIGHTS_BYTES = 8_030_261_248 * 2


def offer(scenario: Scenario, lever_id: str) -> LeverOffer:
    return next(offer for offer in lever_offers(scenario) if offer.lever.id == lever_id)


def changed(**values: object) -> Scenario:
    scenario = LLAMA
    for name, value in values.items():
        scenario = replaced(scenario, f"training.{name}", value)
    return scenario


def test_every_kind_of_lever_is_there() -> None:
    # DESIGN, section 2: the levers that it names, and each strategy that divides something.
    assert {
        "checkpointing", "lora", "base_4bit", "optimizer_8bit", "fused_optimizer", "fused_loss", "flash_attention",
        "zero1", "zero2", "zero3", "fsdp2", "offload_optimizer", "offload_parameters", "offload_activations",
        "smaller_batch", "shorter_sequence", "chunked_loss", "optimizer_in_backward", "lower_rank", "more_devices",
    } <= set(BY_ID)  # fmt: skip
    assert len(BY_ID) == len(LEVERS)


@pytest.mark.parametrize("lever", LEVERS, ids=lambda lever: lever.id)
def test_a_saving_is_the_difference_of_two_estimates(lever: Lever) -> None:
    scenario = where_it_applies(lever)
    found, then = offer(scenario, lever.id), estimate(lever.apply(scenario))
    assert found.state == "off"
    assert found.scenario == lever.apply(scenario)
    assert found.saving_bytes == estimate(scenario).need_bytes - then.need_bytes
    assert found.verdict == then.verdict


@pytest.mark.parametrize("lever", SWITCHES, ids=lambda lever: lever.id)
def test_what_a_lever_that_is_on_saves_is_what_its_removal_would_cost(lever: Lever) -> None:
    with_it = lever.apply(where_it_applies(lever))
    found = offer(with_it, lever.id)
    assert found.state == "on"
    assert found.scenario == lever.remove(with_it)
    assert found.saving_bytes == estimate(lever.remove(with_it)).need_bytes - estimate(with_it).need_bytes


@pytest.mark.parametrize("optimizer", ["adamw_8bit", "paged_adamw_8bit", "lion_8bit"])
def test_why_not_is_said_without_ids(optimizer: str) -> None:
    scenario = changed(optimizer=optimizer)
    said = [why for lever in LEVERS if (why := lever.applies(scenario))]
    assert len(said) > 5
    assert [why for why in said if "_" in why] == []


def test_fused_saves_the_copy_of_the_weights_until_the_peak_is_elsewhere() -> None:
    # torch.optim: foreach takes about the parameters' size more. The peak then moves to backward, so not all of it shows.
    found = offer(LLAMA, "fused_optimizer")
    assert 0.9 * WEIGHTS_BYTES < found.saving_bytes <= 1.1 * WEIGHTS_BYTES
    assert found.sentence.startswith("Would save 1")


def test_sgd_saves_the_states_at_the_optimizer_step() -> None:
    # AdamW in bf16 keeps two states of 2 bytes a parameter; SGD keeps none.
    scenario = changed(checkpointing="full")
    saving = estimate(scenario).bytes.step_peak - estimate(BY_ID["sgd"].apply(scenario)).bytes.step_peak
    assert saving >= 2 * WEIGHTS_BYTES


def test_checkpointing_saves_nothing_where_the_peak_is_the_optimizer_step() -> None:
    found = offer(LLAMA, "checkpointing")
    assert found.saving_bytes == 0
    assert found.sentence == "Would save nothing: the peak is at the optimizer step."


def test_what_layers_between_checkpoints_keep_can_go_to_the_host() -> None:
    """Where every layer is recomputed, checkpoints are all that is kept; of every fifth, four layers keep everything."""
    few = changed(checkpointing="full", checkpoint_every=5)
    assert offer(few, "offload_activations").state == "off"
    assert offer(replaced(few, "training.checkpoint_every", 1), "offload_activations").state == "not_applicable"


def test_a_smaller_batch_keeps_the_batch_of_a_step() -> None:
    lever = BY_ID["smaller_batch"]
    for micro_batch, accumulation, expected in [
        (8, 1, (4, 2)),
        (3, 1, (1, 3)),
        (6, 5, (3, 10)),
        (5, 4, (2, 10)),
        (2, 7, (1, 14)),
    ]:
        smaller = lever.apply(changed(micro_batch=micro_batch, gradient_accumulation=accumulation)).training
        assert (smaller.micro_batch, smaller.gradient_accumulation) == expected
        assert smaller.micro_batch * smaller.gradient_accumulation == micro_batch * accumulation


@pytest.mark.parametrize(
    ("scenario", "lever_id", "reason"),
    [
        (LLAMA, "smaller_batch", "Does not apply: the micro-batch is 1 already."),
        (changed(micro_batch=2, optimizer_in_backward=True), "smaller_batch", "Does not apply: the optimizer in backward rules out accumulation."),
        (changed(micro_batch=1_000_000, gradient_accumulation=2), "smaller_batch", "Does not apply: gradient accumulation would pass 1,000,000."),
        (changed(optimizer="adamw_8bit"), "fused_optimizer", "Does not apply: AdamW 8-bit has no fused form in PyTorch."),
        (changed(kernels="mlx"), "fused_optimizer", "Does not apply: MLX has one implementation of each optimizer."),
        (changed(kernels="mlx"), "optimizer_8bit", "Does not apply: bitsandbytes does not run under MLX."),
        (changed(method="inference"), "checkpointing", "Does not apply: inference trains nothing."),
        (changed(method="inference"), "lora", "Does not apply: inference trains nothing."),
        (LLAMA, "fewer_at_once", "Does not apply: for inference alone."),
        (changed(method="inference"), "fewer_at_once", "Does not apply: the micro-batch is 1 already."),
        (changed(method="inference"), "tensor_parallel", "Does not apply: there is no second device to divide with."),
        (replaced(INFERRED, "hardware.devices_per_node", 1), "over_more_devices", "Does not apply: products would wait for the network in every layer."),
    ],
)  # fmt: skip
def test_what_does_not_apply_says_why(scenario: Scenario, lever_id: str, reason: str) -> None:
    found = offer(scenario, lever_id)
    assert (found.state, found.sentence, found.saving_bytes, found.scenario) == ("not_applicable", reason, 0, None)


def test_levers_that_do_not_serve_inference_would_not_change_what_it_needs() -> None:
    """But for those that set what others set for it: what trains, how many sequences, how many devices."""
    others = {"method", "batch", "sequences", "devices"}
    for lever in LEVERS:
        if "inference" not in lever.serves and lever.group not in others:
            after = lever.apply(INFERRED)
            assert estimate(after).need_bytes == estimate(INFERRED).need_bytes, lever.id


def test_what_inference_can_save_is_offered() -> None:
    """Arithmetic: half the bits of a weight, half the cached sequences or tokens; matrices in two parts."""
    found = {one.lever.id: one for one in lever_offers(INFERRED) if one.state == "off" and one.saving_bytes > 0}
    assert {"bf16_weights", "fewer_at_once", "shorter_sequence", "flash_attention", "fsdp2"} <= set(found)
    assert found["bf16_weights"].saving_bytes > WEIGHTS_BYTES
    divided = offer(INFERRED, "tensor_parallel").scenario
    assert divided is not None
    assert (divided.hardware.tensor_parallel, divided.hardware.devices, divided.training.micro_batch) == (2, 4, 16)
    assert estimate(divided).bytes.loaded == pytest.approx(WEIGHTS_BYTES, rel=0.01)  # of 4 bytes a value, half


def test_what_is_set_beside_a_lever_stays() -> None:
    scenario = replaced(replaced(LLAMA, "training.lora.rank", 64), "training.quantization.format", "fp4")
    packed = BY_ID["base_4bit"].apply(scenario)
    assert (packed.training.method, packed.training.lora.rank, packed.training.quantization.format) == (
        "qlora",
        64,
        "fp4",
    )
    assert BY_ID["lora"].is_on(packed)
    assert BY_ID["base_4bit"].remove(packed).training.method == "lora"
    assert BY_ID["lora"].remove(packed).training.method == "full"


def test_an_int8_base_is_no_4bit_base() -> None:
    scenario = replaced(changed(method="qlora"), "training.quantization.format", "int8")
    assert not BY_ID["base_4bit"].is_on(scenario)
    assert BY_ID["base_4bit"].apply(scenario).training.quantization.format == "nf4"


def test_a_4bit_base_under_mlx_is_mlxs_own() -> None:
    assert BY_ID["base_4bit"].apply(changed(kernels="mlx")).training.quantization.format == "mlx_int4"


@given(scenario=scenarios(), lever=st.sampled_from(SWITCHES))
def test_a_switch_sets_what_it_says_and_nothing_else(scenario: Scenario, lever: Lever) -> None:
    if lever.is_on(scenario):
        assert lever.apply(scenario) == scenario
    elif lever.why_not(scenario) is not None:
        return
    expected = scenario
    for path, value in lever.changes(scenario).items():
        expected = replaced(expected, path, value)
        assert value_at(expected, path) == value
    toggled = lever.remove(scenario) if lever.is_on(scenario) else lever.apply(scenario)
    assert toggled == expected
    assert lever.is_on(toggled) != lever.is_on(scenario)


@given(scenario=scenarios())
@settings(max_examples=50)
def test_a_smaller_batch_is_one_wherever_it_applies(scenario: Scenario) -> None:
    lever = BY_ID["smaller_batch"]
    if lever.applies(scenario) is None:
        before, after = scenario.training, lever.apply(scenario).training
        assert after.micro_batch <= before.micro_batch / 2
        assert after.micro_batch * after.gradient_accumulation == before.micro_batch * before.gradient_accumulation


def sentence(monkeypatch: pytest.MonkeyPatch, now: Estimate, then: Estimate, scenario: Scenario = LLAMA) -> str:
    monkeypatch.setattr(memplan.levers.offers, "estimate", lambda scenario: then)
    return next(offer.sentence for offer in lever_offers(scenario, now) if offer.lever.id == "checkpointing")


def test_the_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    now = made_estimate(85.0)
    at_80 = made_estimate(80.0)
    backward = replace(at_80, peak=replace(at_80.peak, name="backward"))
    assert sentence(monkeypatch, now, made_estimate(60.0)) == "Would save 25.0 GiB; the run then fits."
    assert (
        sentence(monkeypatch, now, made_estimate(75.1, half_band_gib=1.0))
        == "Would save 9.90 GiB; the run is then tight."
    )
    assert sentence(monkeypatch, now, made_estimate(80.0)) == "Would save 5.00 GiB, with 4.90 GiB still over."
    assert (
        sentence(monkeypatch, now, backward)
        == "Would save 5.00 GiB, with 4.90 GiB still over; the peak is then in backward."
    )
    assert sentence(monkeypatch, now, now) == "Would save nothing: the peak is at the optimizer step."
    assert sentence(monkeypatch, now, made_estimate(90.0)) == "Would take 5.00 GiB more, at the optimizer step."
    on = BY_ID["checkpointing"].apply(LLAMA)
    assert sentence(monkeypatch, made_estimate(60.0), now, on) == "Saves 25.0 GiB; without it the run does not fit."
    assert sentence(monkeypatch, now, made_estimate(90.0), on) == "Saves 5.00 GiB."
    assert (
        sentence(monkeypatch, now, now, on) == "Saves nothing: without it the peak is the same, at the optimizer step."
    )
    assert sentence(monkeypatch, now, made_estimate(80.0), on) == "Takes 5.00 GiB more than without it."


def test_a_lever_whose_result_cannot_be_estimated_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scenario: Scenario) -> Estimate:
        raise ConfigError("a model of this kind has no layers to adapt.")

    monkeypatch.setattr(memplan.levers.offers, "estimate", fail)
    found = next(offer for offer in lever_offers(LLAMA, made_estimate()) if offer.lever.id == "lora")
    assert (found.state, found.sentence) == (
        "not_applicable",
        "Cannot be estimated here: a model of this kind has no layers to adapt.",
    )


def test_every_lever_has_a_price_and_a_source() -> None:
    for lever in LEVERS:
        assert lever.price.endswith("."), lever.id
        assert lever.source, lever.id
