"""Making a plan fit. What is right: a brute force over every set of a small lever space, and arithmetic."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memplan.allocation import allocation
from memplan.catalog import device as catalog_device
from memplan.catalog import devices as catalog_devices
from memplan.estimate import estimate
from memplan.levers import LEVERS, Lever, links_of, slowdown, work_of
from memplan.making_fit import (
    PREFERENCE_TITLES,
    PREFERENCES,
    Candidate,
    Preferences,
    Use,
    cheapest_on_each,
    make_fit,
    making_fit,
    proposal_sentence,
    waterfall,
)
from memplan.making_fit.preferences import effective_batch
from memplan.making_fit.search import Steps
from memplan.making_fit.space import FALLING, MOST_HOST_BYTES, Sets, Space
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.units import format_bytes

BY_ID = {lever.id: lever for lever in LEVERS}
FREE = Preferences(frozenset())
SMALL_SPACE = [
    BY_ID[name]
    for name in ("checkpointing", "fused_loss", "optimizer_8bit", "fused_optimizer", "smaller_batch", "lora")
]


def made(
    model: str = "meta-llama/Llama-3.2-1B", device: str = "rtx-3090", devices: int = 1, **training: Any
) -> Scenario:
    return Scenario.model_validate(
        {
            "model": {"catalog": model},
            "training": training,
            "hardware": {"device": device, "devices": devices},
        }
    )


ONES = st.builds(
    made,
    device=st.sampled_from(["rtx-4060", "rtx-4070", "rtx-4090", "t4", "l40s", "apple-m3-max-64gb", "a100-40gb-sxm"]),
    devices=st.sampled_from([1, 1, 2, 8]),
    method=st.sampled_from(["full", "lora", "qlora"]),
    weights_dtype=st.sampled_from(["bf16", "fp32"]),
    attention=st.sampled_from(["sdpa", "eager"]),
    micro_batch=st.sampled_from([1, 2, 5, 8]),
    gradient_accumulation=st.sampled_from([1, 4]),
    sequence_length=st.sampled_from([512, 2048, 4096]),
)


def without(now: Scenario, uses: tuple[Use, ...]) -> Scenario | None:
    """The scenario with some uses alone, in their order; None where one of them does not apply then."""
    scenario: Scenario | None = now
    for use in uses:
        scenario = None if scenario is None else use.apply(scenario)
    return scenario


@given(scenario=ONES)
@settings(max_examples=8, deadline=None)
def test_the_answer_fits_and_no_lever_of_it_can_be_left_out(scenario: Scenario) -> None:
    proposal = make_fit(scenario)
    assume(proposal.best is not None)
    best = proposal.best
    assert best is not None
    assert estimate(best.scenario).verdict == "fits"
    for use in best.uses:
        fewer = without(scenario, tuple(other for other in best.uses if other is not use))
        assert fewer is None or estimate(fewer).verdict != "fits", use.lever.title


def test_levers_that_are_used_again_and_again_are_called_by_what_they_come_to() -> None:
    now = made(micro_batch=64)
    proposal = make_fit(now, FREE, [BY_ID["smaller_batch"], BY_ID["shorter_sequence"]])
    assert any(use.times > 1 for use in proposal.front[-1].uses)
    for candidate in proposal.front:
        training = candidate.scenario.training
        for use, title in zip(candidate.uses, candidate.titles, strict=True):
            words = {
                "smaller_batch": f"Smaller batch (micro-batch {training.micro_batch:,})",
                "shorter_sequence": f"Shorter sequence ({training.sequence_length:,} tokens)",
            }
            assert title == words[use.lever.id]
    falls = waterfall(now, proposal.front[-1])
    assert {fall.title for fall in falls[1:]} == set(proposal.front[-1].titles)


@given(scenario=ONES)
@settings(max_examples=8, deadline=None)
def test_what_is_kept_stays(scenario: Scenario) -> None:
    proposal = make_fit(scenario)
    for candidate in proposal.front:
        after = candidate.scenario
        assert after.hardware.devices == scenario.hardware.devices
        assert after.training.sequence_length == scenario.training.sequence_length
        assert after.training.weights_dtype == scenario.training.weights_dtype
        assert after.training.method == scenario.training.method
        assert effective_batch(after) == effective_batch(scenario)
    strict = make_fit(scenario, Preferences(frozenset(PREFERENCES)))
    for candidate in strict.front:
        assert candidate.scenario.training.method == scenario.training.method
        assert candidate.scenario.training.optimizer == scenario.training.optimizer
        assert candidate.scenario.hardware.offload == scenario.hardware.offload


@given(scenario=ONES)
@settings(max_examples=8, deadline=None)
def test_along_the_front_memory_falls_and_the_price_rises(scenario: Scenario) -> None:
    proposal = make_fit(scenario)
    front = proposal.front
    assert front[0] == proposal.now
    assert all(one.price < other.price and one.need.high > other.need.high for one, other in pairwise(front))
    if proposal.best is not None:
        assert proposal.best in front
        assert not any(one.fits and one.price < proposal.best.price for one in front)
    else:
        assert not any(one.fits for one in front)


def brute(scenario: Scenario, preferences: Preferences, levers: list[Lever]) -> list[Candidate]:
    """Every set of the levers that applies: of each group none or one, as often as it goes."""
    sets = Sets(scenario, preferences, levers)
    space = Space(sets, catalog_device(scenario.hardware.device))
    every = product(*(range(len(group.options) + 1) for group in sets.groups))
    return [space.candidate(choice) for choice in every if space.high_bytes(choice) is not None]


@given(scenario=ONES, kept=st.sampled_from([Preferences(), FREE, Preferences(frozenset({"method"}))]))
@settings(max_examples=6, deadline=None)
def test_a_brute_force_over_a_small_space_agrees(scenario: Scenario, kept: Preferences) -> None:
    every = brute(scenario, kept, SMALL_SPACE)
    fitting = [one.price for one in every if one.fits]
    proposal = make_fit(scenario, kept, SMALL_SPACE)
    if not fitting:
        assert proposal.best is None
        assert proposal.smallest.need.high == min(one.need.high for one in every)
        return
    assert proposal.best is not None
    assert proposal.best.price == pytest.approx(min(fitting), abs=1e-9)
    for point in proposal.front:
        cheaper = [one for one in every if one.price < point.price - 1e-9]
        assert all(one.need.high > point.need.high for one in cheaper), point.uses


@given(scenario=ONES, lever=st.sampled_from([lever for lever in LEVERS if lever.group in FALLING]))
@settings(max_examples=60, deadline=None)
def test_levers_that_are_said_to_save_never_take_more_and_never_pay(scenario: Scenario, lever: Lever) -> None:
    # The search leaves sets out by these two: what needs least is known, and no lever makes a set cheaper.
    assume(lever.group != "optimizer" and not lever.is_on(scenario) and lever.applies(scenario) is None)
    after = Use(lever).apply(scenario)
    assert after is not None
    assert allocation(after).peak_bytes <= allocation(scenario).peak_bytes
    device = catalog_device(scenario.hardware.device)
    assert slowdown(scenario, after, device) * (1 + lever.counts_as) > 1


@given(scenario=ONES, optimizer=st.sampled_from([lever for lever in LEVERS if lever.group == "optimizer"]))
@settings(max_examples=20, deadline=None)
def test_no_optimizer_needs_less_than_sgd(scenario: Scenario, optimizer: Lever) -> None:
    least = allocation(BY_ID["sgd"].apply(scenario)).peak_bytes
    assert least <= allocation(optimizer.apply(scenario)).peak_bytes
    assert least <= allocation(scenario).peak_bytes


def test_a_run_that_fits_needs_no_lever() -> None:
    proposal = make_fit(made(device="a100-80gb-sxm"))
    assert proposal.best == proposal.now
    assert proposal.best.uses == ()
    assert proposal_sentence(proposal) == "Fits as it is: nothing has to change."


def test_where_nothing_fits_it_says_by_how_much_and_what_would_hold_it() -> None:
    strict = Preferences(frozenset(PREFERENCES))
    proposal = make_fit(made("meta-llama/Llama-3.1-8B", "a100-40gb-sxm"), strict)
    assert proposal.best is None
    assert proposal.over_bytes == proposal.smallest.need.high - proposal.smallest.usable_bytes > 0
    remedy = proposal.remedy
    assert remedy is not None
    assert remedy.device is not None
    there = replaced(proposal.smallest.scenario, "hardware.device", remedy.device.id)
    assert estimate(there).verdict == "fits"
    smaller = [
        one for one in catalog_devices() if one.vendor == "NVIDIA" and one.usable_bytes < remedy.device.usable_bytes
    ]
    assert all(
        estimate(replaced(there, "hardware.device", one.id)).verdict != "fits"
        for one in smaller[:: max(1, len(smaller) // 12)]
    )
    assert remedy.devices is not None
    words = proposal_sentence(proposal)
    assert words.startswith("Nothing that may change makes it fit: at best it is ")
    assert remedy.device.name in words
    assert f"{remedy.devices} devices of this kind" in words


def test_a_full_fine_tune_on_a_laptop_card_becomes_an_adapter_on_4_bits() -> None:
    # QLoRA's own claim: a 7B model in a card of 8 to 12 GB (Dettmers et al. 2023, table 6 and issue threads).
    scenario = made("meta-llama/Llama-3.1-8B", "rtx-4070", sequence_length=1024)
    freed = make_fit(scenario).freed
    assert freed is not None
    assert freed.preference == "method"
    for found in (freed.candidate, make_fit(scenario, Preferences().toggled("method")).best):
        assert found is not None
        assert found.scenario.training.method == "qlora"


def test_search_stops_where_nobody_asks_for_more() -> None:
    searching = making_fit(made("meta-llama/Llama-3.1-8B", "rtx-4090"))
    seen = [next(searching) for _ in range(20)]
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] < 1
    searching.close()


def test_every_device_has_the_answer_that_it_has_alone() -> None:
    scenario = made("meta-llama/Llama-3.1-8B", micro_batch=2)
    devices = [
        catalog_device(name) for name in ("rtx-4090", "t4", "a100-80gb-sxm", "apple-m3-max-64gb", "mi300x", "l40s")
    ]
    steps = Steps(cheapest_on_each(scenario, devices))
    progress = list(steps)
    assert progress == sorted(progress)
    for device, found in steps.result:
        alone = make_fit(replaced(scenario, "hardware.device", device.id)).best
        assert (found is None) == (alone is None), device.id
        if found is not None and alone is not None:
            assert found.price == pytest.approx(alone.price), device.id
            assert found.scenario.hardware.device == device.id
            assert found.fits


@given(scenario=ONES)
@settings(max_examples=5, deadline=None)
def test_a_waterfall_leads_from_the_peak_now_to_the_peak_then(scenario: Scenario) -> None:
    proposal = make_fit(scenario)
    for candidate in proposal.front:
        falls = waterfall(scenario, candidate)
        assert falls[0].need_bytes == estimate(scenario).need_bytes
        assert falls[-1].need_bytes == candidate.need_bytes
        used = [fall.use for fall in falls[1:]]
        assert len(used) == len(candidate.uses)
        assert all(use in used for use in candidate.uses)
        assert sum(fall.saving_bytes for fall in falls) == falls[0].need_bytes - falls[-1].need_bytes
        assert all(sum(fall.terms.values()) == fall.need_bytes for fall in falls)


def test_the_batch_of_an_update_may_shrink_only_where_it_is_not_kept() -> None:
    scenario = made("meta-llama/Llama-3.1-8B", micro_batch=8)
    loose = make_fit(
        scenario, Preferences(frozenset({"method", "optimizer", "host", "precision", "sequence_length", "devices"}))
    )
    assert any(effective_batch(one.scenario) < 8 for one in loose.front)


def test_what_is_trained_stays_unless_the_person_lets_it_change() -> None:
    """A full fine-tune that becomes LoRA is another experiment: it is offered, in words, where nothing else fits."""
    scenario = made("meta-llama/Llama-3.1-8B", "t4")
    proposal = make_fit(scenario)
    assert proposal.best is None
    assert proposal.freed is not None
    assert proposal.freed.preference == "method"
    other = proposal.freed.candidate
    assert other.scenario.training.method in ("lora", "qlora")
    assert estimate(other.scenario).verdict == "fits"
    assert "If the method may change, it fits with " in proposal_sentence(proposal)
    free = make_fit(scenario, Preferences().toggled("method"))
    assert free.best is not None
    assert free.best.price == pytest.approx(other.price)
    assert free.freed is None
    held = make_fit(made("meta-llama/Llama-3.1-8B", "a100-40gb-sxm"))
    assert held.best is not None
    assert held.best.scenario.training.method == "full"
    assert held.freed is None


def test_inference_is_made_to_fit_by_what_serves_it() -> None:
    """70.6e9 weights of 2 bytes are 131 GiB: too much for one device of 80 GB, less than half of what four hold."""
    whole = made("meta-llama/Llama-3.1-70B", "h100-sxm", method="inference", micro_batch=8)
    four = replaced(whole, "hardware.devices", 4)
    best = make_fit(four).best
    assert best is not None
    assert [use.lever.id for use in best.uses] == ["tensor_parallel"]
    assert best.scenario.hardware.devices == 4
    alone = make_fit(whole, FREE.toggled("host")).best
    assert alone is not None
    assert [use.lever.id for use in alone.uses] == ["over_more_devices"]


OVER_PCIE = made("Qwen/Qwen2.5-32B", "rtx-4090", method="qlora", sequence_length=8192)


def test_a_step_is_no_shorter_than_what_it_moves_over_pcie() -> None:
    """Layers keep 285 GiB for a sequence of 8192 tokens (the walk): out and back that takes over 20 s at 25 GB/s."""
    after = BY_ID["offload_activations"].apply(OVER_PCIE)
    moved = 2 * estimate(after).host.bytes_by_term["activations"]
    work, links = work_of(after), links_of(catalog_device("rtx-4090"))
    assert moved / 2**30 > 500
    assert links.host is not None
    assert links.host < 26e9
    assert work.seconds_per_token(links) * work.tokens >= moved / links.host
    assert slowdown(OVER_PCIE, after, catalog_device("rtx-4090")) > 1.1


def test_no_way_takes_more_of_a_host_than_a_desktop_has() -> None:
    proposal = make_fit(OVER_PCIE)
    assert proposal.best is not None
    for way in proposal.front:
        assert estimate(way.scenario).host.node_bytes <= MOST_HOST_BYTES["consumer"]
    host = estimate(proposal.best.scenario).host.node_bytes
    assert host < 64 * 2**30
    assert f"; takes {format_bytes(host, 'gib')} of host memory" in proposal_sentence(proposal)


def test_what_is_offloaded_already_may_stay() -> None:
    now = replaced(OVER_PCIE, "hardware.offload.activations", True)
    proposal = make_fit(now)
    assert estimate(now).host.node_bytes > MOST_HOST_BYTES["consumer"]
    assert proposal.front[0] == proposal.now


def test_where_nothing_fits_it_names_what_would_help_most_if_it_changed() -> None:
    kept = Preferences().toggled("host")  # nothing may be offloaded
    proposal = make_fit(OVER_PCIE, kept)
    assert proposal.best is None
    assert proposal.freed is not None
    assert estimate(proposal.freed.candidate.scenario).verdict == "fits"
    for one in kept.kept:
        other = make_fit(OVER_PCIE, kept.toggled(one)).best
        assert other is None or other.price >= proposal.freed.candidate.price - 1e-9, one
    assert f"If the {PREFERENCE_TITLES[proposal.freed.preference].lower()} may change, it fits with " in (
        proposal_sentence(proposal)
    )
