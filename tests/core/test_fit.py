"""What fits. What is right: the estimate's own verdict, device by device and number by number, and the articles' figures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memplan.fit.devices
from memplan.catalog import Device, devices
from memplan.catalog import device as device_of
from memplan.choice_titles import choice_title
from memplan.cli.ending import run
from memplan.errors import ConfigError
from memplan.estimate import estimate
from memplan.fit import (
    SHARDING_STRATEGIES,
    Fewest,
    FitWalks,
    Limit,
    device_answer,
    device_fits,
    devices_for_states,
    fewest_devices,
    fewest_of_each,
    fewest_words,
    fit_sentence,
    fit_title,
    fit_tone,
    free_figure,
    known_devices,
    largest_micro_batch,
    limit_words,
    limits_of_each,
    longest_sequence,
    nearest_fits,
    ranked_by_class,
    ranked_fits,
)
from memplan.fit.search import largest_within, smallest_that
from memplan.plan.edit import replaced
from memplan.plan.file import save_plan
from memplan.plan.scenario import Plan, Scenario
from memplan.result import Estimate, Need
from memplan.sentences import verdict_words
from memplan.units import GB, GIB, MIB, format_bytes
from tests.core.small_models import GPT2, LLAMA, OPT, SMALL
from tests.core.test_cli import process
from tests.core.test_properties import ALONE, SHARDED, TRAININGS

SEVERAL = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
A100 = device_of("a100-80gb-sxm")
MIXED = {"optimizer_state_dtype": "fp32", "master_weights": True}
SMALL_MODELS = st.sampled_from([SMALL[name] for name in sorted(SMALL)])


def scenario_of(model: dict[str, Any], hardware: dict[str, Any] | None = None, **training: Any) -> Scenario:
    return Scenario.model_validate({"model": model, "training": training, "hardware": hardware or {}})


LLAMA_8B = scenario_of({"catalog": "meta-llama/Llama-3.1-8B"})


def with_room(room_bytes: int) -> dict[str, Any]:
    """A hardware section whose device gives a process just so much, whatever its size."""
    return {"device": A100.id, "headroom": 0.0, "used_by_others_bytes": A100.usable_bytes - room_bytes}


# the searches


@given(slope=st.integers(1, 1000), base=st.integers(0, 5000), kinks=st.lists(st.integers(1, 300), max_size=3),
       power=st.sampled_from([1, 2]), room=st.integers(0, 10**6), most=st.integers(1, 500), start=st.integers(1, 600))  # fmt: skip
def test_the_largest_within_is_what_looking_at_all_finds(
    slope: int, base: int, kinks: list[int], power: int, room: int, most: int, start: int
) -> None:
    def amount(number: int) -> int:
        return base + slope * number**power + sum(500 * (number - kink) for kink in kinks if number > kink)

    brute = max((number for number in range(1, most + 1) if amount(number) <= room), default=0)
    assert largest_within(amount, room, most, start) == brute


def test_a_search_takes_few_looks() -> None:
    for room in (10**4, 10**7, 2 * 10**8):
        seen: set[int] = set()

        def amount(number: int, seen: set[int] = seen) -> int:
            seen.add(number)
            return 3 * number + 7

        assert largest_within(amount, room, 10**8) == (room - 7) // 3
        assert len(seen) < 40


@given(threshold=st.integers(1, 5000), most=st.sampled_from([1, 7, 64, 4096]))
def test_the_smallest_that_holds_is_what_looking_at_all_finds(threshold: int, most: int) -> None:
    brute = next((number for number in range(1, most + 1) if number >= threshold), None)
    assert smallest_that(lambda number: number >= threshold, most) == brute


def test_neighbours_below_are_looked_at() -> None:
    assert smallest_that(lambda number: number in (11, 14, 16), 4096) == 11


# every device at once


@given(config=SMALL_MODELS, training=TRAININGS, hardware=ALONE | SHARDED, data=st.data())
@SEVERAL
def test_a_device_s_answer_is_its_estimate(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any], data: st.DataObject
) -> None:
    scenario = scenario_of(
        {"config": config}, {**hardware, "used_by_others_bytes": 2 * GIB, "headroom": 0.1}, **training
    )
    fits = device_fits(scenario)
    assert [fit.device for fit in fits] == list(devices())
    fit = data.draw(st.sampled_from(fits))
    found = estimate(replaced(scenario, "hardware.device", fit.device.id))
    assert (fit.verdict, fit.need, fit.usable_bytes) == (found.verdict, found.need, found.usable_bytes)
    assert (fit.need_bytes, fit.headroom_bytes) == (found.need_bytes, found.headroom_bytes)


def test_one_walk_serves_every_device(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[Scenario] = []
    walk = memplan.fit.devices.allocation
    monkeypatch.setattr(memplan.fit.devices, "allocation", lambda one: walks.append(one) or walk(one))
    assert len(device_fits(LLAMA_8B)) >= 160
    assert walks == [LLAMA_8B]
    assert [fit.device for fit in device_fits(LLAMA_8B, (A100,))] == [A100]
    assert device_fits(LLAMA_8B, ()) == ()


def test_a_model_that_cannot_be_walked_is_told_in_words() -> None:
    broken = scenario_of({"config": {**LLAMA, "hidden_size": "x"}})
    for ask in (device_fits, fewest_of_each, largest_micro_batch, longest_sequence, limits_of_each):
        with pytest.raises(ConfigError):
            ask(broken)


def test_the_order_is_what_a_person_wants() -> None:
    ranked = ranked_fits(device_fits(LLAMA_8B))
    assert len(ranked) == len(devices())
    verdicts = [fit.verdict for fit in ranked]
    assert verdicts == sorted(verdicts, key=["fits", "tight", "does_not_fit"].index)
    for verdict in ("fits", "tight", "does_not_fit"):
        alike = [fit for fit in ranked if fit.verdict == verdict]
        advised = [bool(fit.advice) for fit in alike]
        assert advised == sorted(advised), "what something speaks against comes behind what nothing speaks against"
        for group in (False, True):
            of_group = [fit for fit in alike if bool(fit.advice) == group]
            order = [-fit.headroom_bytes if verdict == "does_not_fit" else fit.usable_bytes for fit in of_group]
            assert order == sorted(order)
    assert sum(fit.verdict == "does_not_fit" for fit in ranked) > 50


def test_devices_that_cannot_share_a_run_come_behind_those_that_can() -> None:
    shared = replaced(replaced(LLAMA_8B, "hardware.devices", 16), "hardware.sharding.strategy", "fsdp2")
    fitting = [fit for fit in ranked_fits(device_fits(shared)) if fit.verdict == "fits"]
    apples = [place for place, fit in enumerate(fitting) if fit.device.vendor == "Apple"]
    servers = [place for place, fit in enumerate(fitting) if fit.device.id.startswith(("h100", "a100", "mi300"))]
    assert apples
    assert servers
    assert max(servers) < min(apples)


def test_by_class_data_centres_come_first() -> None:
    ranked = ranked_fits(device_fits(LLAMA_8B))
    by_class = ranked_by_class(ranked)
    assert sorted(map(id, by_class)) == sorted(map(id, ranked))
    places = [["datacentre", "workstation", "consumer", "unified"].index(fit.device.device_class) for fit in by_class]
    assert places == sorted(places)


@pytest.mark.parametrize("own", ["a100-80gb-sxm", "rtx-3070", "apple-m3-ultra-512gb"])
def test_the_short_list_has_the_smallest_that_hold_and_the_nearest_misses(own: str) -> None:
    fits = device_fits(LLAMA_8B)
    listed = nearest_fits(fits, own)
    assert own in [fit.device.id for fit in listed]
    assert listed == ranked_by_class(listed)
    for device_class in ("datacentre", "workstation", "consumer", "unified"):
        its = [fit for fit in listed if fit.device.device_class == device_class and fit.device.id != own]
        held = [fit for fit in its if fit.verdict != "does_not_fit"]
        missed = [fit for fit in its if fit.verdict == "does_not_fit"]
        assert len(held) <= 4
        assert len(missed) <= 2
        everyone = [fit for fit in ranked_fits(fits) if fit.device.device_class == device_class]
        smallest = next((fit.usable_bytes for fit in everyone if fit.verdict == "fits"), None)
        assert smallest is None or smallest in [fit.usable_bytes for fit in listed]
        nearest = next(fit.usable_bytes for fit in everyone if fit.verdict == "does_not_fit")
        assert nearest in [fit.usable_bytes for fit in listed]


# the fewest devices


def on(scenario: Scenario, strategy: str, count: int, device: Device = A100) -> Estimate:
    hardware = {"device": device.id, "devices": count, "sharding.strategy": strategy}
    for path, value in hardware.items():
        scenario = replaced(scenario, f"hardware.{path}", value)
    return estimate(scenario)


@given(
    config=SMALL_MODELS, training=TRAININGS, strategy=st.sampled_from(SHARDING_STRATEGIES), share=st.floats(0.05, 1.2)
)
@SEVERAL
def test_fewer_devices_do_not_hold_it(
    config: dict[str, Any], training: dict[str, Any], strategy: Any, share: float
) -> None:
    """Brute force up to 64, with room for a share of what one device would need."""
    alone = estimate(scenario_of({"config": config}, with_room(A100.usable_bytes), **training))
    hardware = with_room(round(share * alone.need.high) + 1100 * MIB)  # room for what communication takes on top
    scenario = scenario_of({"config": config}, hardware, **training)
    found = fewest_devices(scenario, A100, (strategy,)).by_strategy[0]
    held = [count for count in range(1, 65) if on(scenario, strategy, count).verdict == "fits"]
    if found.devices is None or found.devices > 64:
        assert not [count for count in held if count & (count - 1) == 0]
        assert found.devices or found.over_bytes > 0
        return
    assert found.devices == held[0]
    assert found.need == on(scenario, strategy, found.devices).need
    if found.in_whole_nodes is not None:
        assert found.in_whole_nodes % 8 == 0
        assert found.in_whole_nodes >= found.devices
        assert on(scenario, strategy, found.in_whole_nodes).verdict == "fits"
        between = range(-(-found.devices // 8) * 8, found.in_whole_nodes, 8)
        assert not [count for count in between if on(scenario, strategy, count).verdict == "fits"]


@pytest.mark.parametrize("strategy", ["zero1", "zero2", "zero3", "fsdp2"])
def test_8b_in_full_takes_two_cards_of_80_gb_and_one_less_does_not_do(strategy: Any) -> None:
    found = fewest_devices(LLAMA_8B, A100, (strategy,)).by_strategy[0]
    assert (found.devices, found.in_whole_nodes, found.nodes, found.over_bytes) == (2, 8, 1, 0)
    assert on(LLAMA_8B, strategy, 2).verdict == "fits"
    # DeepSpeed's buckets and copies are there on one device as well.
    assert on(LLAMA_8B, strategy, 1).verdict == ("tight" if strategy == "fsdp2" else "does_not_fit")


@pytest.mark.parametrize("method", ["full", "lora", "freeze"])
def test_more_devices_that_divide_the_weights_need_less_of_each(method: str) -> None:
    """FSDP holds a part of every weight, frozen or not."""
    scenario = replaced(LLAMA_8B, "training.method", method)
    need = [on(scenario, "fsdp2", count).need.high for count in (2, 8, 64)]
    assert need == sorted(need, reverse=True)
    assert need[0] - need[2] > 14 * GIB * (1 / 2 - 1 / 64) * 0.9  # 8.03B weights of two bytes are 15 GiB


def test_more_devices_that_each_hold_everything_do_not_help() -> None:
    """DDP: the buckets come on top, so what does not fit one device fits no number of them."""
    found = fewest_devices(LLAMA_8B, A100, ("ddp",)).by_strategy[0]
    assert (found.devices, found.in_whole_nodes, found.nodes, found.need, found.most_devices) == (
        None,
        None,
        None,
        None,
        4096,
    )
    alone = on(LLAMA_8B, "ddp", 1)
    assert found.over_bytes == alone.need.high - alone.usable_bytes


def test_the_best_strategy_needs_the_fewest_and_is_the_simplest_of_those() -> None:
    two = fewest_devices(LLAMA_8B, A100)
    assert [one.strategy for one in two.by_strategy] == list(SHARDING_STRATEGIES)
    assert two.best is not None
    assert (two.best.strategy, two.best.devices) == ("zero1", 2)
    small = fewest_devices(scenario_of({"config": LLAMA}), A100).best
    assert small is not None
    assert (small.strategy, small.devices) == ("ddp", 1)
    assert fewest_devices(LLAMA_8B, A100, ("ddp",)).best is None


def test_counts_are_multiples_of_the_parallel_sizes() -> None:
    hardware = {"tensor_parallel": 3, "pipeline_parallel": 2, "devices": 6}
    found = fewest_devices(scenario_of({"catalog": "meta-llama/Llama-3.1-8B"}, hardware), A100, ("zero3",)).by_strategy[
        0
    ]
    assert found.devices is not None
    assert found.devices % 6 == 0
    assert found.in_whole_nodes == 24  # the least common multiple of six together and eight a node
    assert found.nodes == 3


def test_apple_s_gpus_run_alone_and_nodes_are_the_plan_s_for_its_own_device() -> None:
    """PyTorch has no communication between Apple's GPUs (Hugging Face Accelerate's documentation of mps)."""
    mac = next(one for one in devices() if one.id == "apple-m2-max-96gb")
    for one in fewest_devices(LLAMA_8B, mac).by_strategy:
        assert (one.devices, one.most_devices) == (None, 1)
        assert fewest_words(one).endswith("over), and a run cannot be divided over several")
    four = replaced(LLAMA_8B, "hardware.devices_per_node", 4)
    other = device_of("h100-sxm")
    assert [one.devices_per_node for one in fewest_devices(four, A100, ("zero3",)).by_strategy] == [4]
    assert [one.devices_per_node for one in fewest_devices(four, other, ("zero3",)).by_strategy] == [
        other.devices_per_node
    ]


def test_many_devices_at_once_have_the_same_answers() -> None:
    some = devices()[::20]
    assert fewest_of_each(LLAMA_8B, some) == tuple(fewest_devices(LLAMA_8B, one) for one in some)
    own = [replaced(LLAMA_8B, "hardware.device", one.id) for one in some]
    for limits, scenario in zip(limits_of_each(LLAMA_8B, some), own, strict=True):
        assert limits.micro_batch == largest_micro_batch(scenario)
        assert limits.sequence == longest_sequence(scenario)


# how far


@given(config=SMALL_MODELS, training=TRAININGS, hardware=ALONE | SHARDED, room=st.integers(600 * MIB, 9 * GIB))
@SEVERAL
@pytest.mark.parametrize("measure", ["micro_batch", "sequence_length"])
def test_one_more_does_not_fit(
    measure: str, config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any], room: int
) -> None:
    scenario = scenario_of({"config": config}, {**hardware, **with_room(room)}, **training)
    limit = (largest_micro_batch if measure == "micro_batch" else longest_sequence)(scenario)

    def verdict(number: int) -> str:
        return estimate(replaced(scenario, f"training.{measure}", number)).verdict

    assert 0 <= limit.rounded <= limit.fits <= limit.tight <= limit.at_most
    if limit.fits:
        assert verdict(limit.fits) == "fits"
    if limit.rounded:
        assert verdict(limit.rounded) == "fits"
    if limit.fits < limit.at_most:
        assert verdict(limit.fits + 1) != "fits"
        assert limit.bound == "memory"
    if limit.tight:
        assert verdict(limit.tight) != "does_not_fit"
    if limit.tight < limit.at_most:
        assert verdict(limit.tight + 1) == "does_not_fit"


@pytest.mark.parametrize(("config", "positions"), [(GPT2, 1024), (OPT, 1024)], ids=["gpt2", "opt"])
def test_learned_positions_end_a_sequence(config: dict[str, Any], positions: int) -> None:
    """OPT's table has two rows more than positions (transformers, OPTLearnedPositionalEmbedding)."""
    limit = longest_sequence(scenario_of({"config": config}))
    assert (limit.fits, limit.tight, limit.rounded, limit.at_most, limit.bound) == (
        positions,
        positions,
        positions,
        positions,
        "positions",
    )
    assert limit_words(limit) == "1,024 tokens fit: the model has no more learned positions"
    warned = estimate(scenario_of({"config": config}, sequence_length=positions + 1)).warnings
    assert f"The model has {positions} learned positions; longer sequences fail." in [one.message for one in warned]
    assert "learned positions" not in str(estimate(scenario_of({"config": config}, sequence_length=positions)).warnings)


def test_a_batch_ends_where_a_plan_can_hold_no_more() -> None:
    limit = largest_micro_batch(scenario_of({"config": LLAMA}, method="inference", sequence_length=1, loss="fused"))
    assert (limit.fits, limit.tight, limit.at_most, limit.bound) == (1_000_000, 1_000_000, 1_000_000, "range")


@pytest.mark.parametrize(
    ("tokens", "rounded"), [(0, 0), (1, 1), (63, 63), (64, 64), (200, 192), (1023, 960), (1024, 1024), (5095, 4992)]
)
def test_a_round_number_of_tokens(tokens: int, rounded: int) -> None:
    assert memplan.fit.limits._round_tokens(tokens) == rounded


LIMIT = Limit("tokens", fits=5095, tight=5677, rounded=4992, at_most=10**8, ends_with="range")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (LIMIT, "5,095 tokens fit (4,992 as a round number); up to 5,677 would be tight"),
        (replace(LIMIT, tight=5095, rounded=5095), "5,095 tokens fit"),
        (replace(LIMIT, fits=10**8), "100,000,000 tokens fit, the most that a plan can hold"),
        (replace(LIMIT, fits=0, rounded=0), "not even one token fits; up to 5,677 would be tight"),
        (replace(LIMIT, fits=0, rounded=0, tight=0), "not even one token fits"),
        (Limit("sequences", 1, 1, 1, 10**6, "range"), "1 sequence fits"),
        (Limit("sequences", 0, 0, 0, 10**6, "range"), "not even one sequence fits"),
    ],
)
def test_the_words_of_a_limit(limit: Limit, words: str) -> None:
    assert limit_words(limit) == words


FEWEST = Fewest("zero3", 14, Need(1, 2), 16, devices_per_node=8, most_devices=4096, over_bytes=0)


@pytest.mark.parametrize(
    ("fewest", "words"),
    [
        (FEWEST, "14; 16 in whole nodes"),
        (replace(FEWEST, in_whole_nodes=14, devices_per_node=1), "14"),
        (replace(FEWEST, in_whole_nodes=None), "14; no whole nodes of 8 hold it"),
        (replace(FEWEST, devices=1, in_whole_nodes=None), "1"),
        (replace(FEWEST, devices=None, over_bytes=3 * GIB), "none up to 4,096 hold it (3.00 GiB over at best)"),
    ],
)
def test_the_words_of_the_fewest(fewest: Fewest, words: str) -> None:
    assert fewest_words(fewest) == words


# the articles: states alone, over the advertised size


@pytest.mark.parametrize(
    ("parameters", "device", "count", "whole"),
    [
        (8 * GB, "a100-80gb-sxm", 2, 8),
        (8 * GB, "rtx-4090", 6, 8),
        (70 * GB, "a100-80gb-sxm", 14, 16),
        (70 * GB, "h100-sxm", 14, 16),
    ],
)
def test_the_articles_count_of_devices(parameters: int, device: str, count: int, whole: int) -> None:
    """tests/truth/article_numbers.json: 8B takes 2 × 80 GB or 6 × 24 GB, 70B 14 × 80 GB, 16 in whole nodes of eight."""
    found = devices_for_states(scenario_of({"parameters": parameters}, **MIXED), device_of(device))
    assert found.states_bytes == 16 * parameters
    assert found.capacity_bytes == device_of(device).advertised_gb * GB
    assert (found.devices, found.in_whole_nodes) == (count, whole)
    assert (
        devices_for_states(scenario_of({"parameters": parameters}, **MIXED), device_of(device), 1).in_whole_nodes
        == count
    )


def test_one_node_of_eight_is_not_enough_for_70b() -> None:
    found = devices_for_states(scenario_of({"parameters": 70 * GB}, **MIXED), A100)
    assert found.states_bytes == 1_120 * GB > 8 * found.capacity_bytes == 640 * GB
    assert found.in_whole_nodes > 8


def test_a_whole_run_takes_no_fewer_devices_than_its_states() -> None:
    scenario = scenario_of({"parameters": 8 * GB}, checkpointing="full", **MIXED)
    for device in (A100, device_of("rtx-4090")):
        alone = devices_for_states(scenario, device).devices
        for one in fewest_devices(scenario, device).by_strategy:
            assert one.devices is None or one.devices >= alone


# the command


def saved(tmp_path: Any, *scenarios: Scenario) -> str:
    save_plan(Plan(scenarios=scenarios), tmp_path / "a.memplan")
    return str(tmp_path / "a.memplan")


HUGE = scenario_of({"config": LLAMA}, micro_batch=100_000)


def test_the_command_ends_as_the_scenario_s_own_device_says(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", saved(tmp_path, LLAMA_8B)]) == 0  # tight
    assert run(["fit", saved(tmp_path, LLAMA_8B, HUGE)]) == 3
    assert run(["fit", saved(tmp_path, HUGE), "--device", "a100-80gb-sxm", "--json"]) == 3
    capsys.readouterr()
    assert run(["fit", saved(tmp_path, HUGE), "--device", "a100-80gbb"]) == 2
    assert capsys.readouterr().err.startswith('memplan: --device: no device "a100-80gbb" in the catalog. ')
    assert run(["fit", saved(tmp_path, scenario_of({"catalog": "nobody/nothing"}))]) == 2
    assert "scenarios[0] (baseline)" in capsys.readouterr().err
    assert run(["fit"]) == 2


def test_the_json_has_everything_of_every_device(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(["fit", saved(tmp_path, LLAMA_8B, HUGE), "--json"])
    answers = json.loads(capsys.readouterr().out)["scenarios"]
    assert len(answers) == 2
    for scenario, answer in zip((LLAMA_8B, HUGE), answers, strict=True):
        assert {one["id"] for one in answer["devices"]} == {one.id for one in known_devices()}
        own = next(one for one in answer["devices"] if one["id"] == answer["device"]["id"])
        found = estimate(scenario)
        assert own["verdict"] == answer["verdict"] == found.verdict
        assert own["need"] == answer["need"] == {"low": found.need.low, "high": found.need.high}
        assert own["headroom_bytes"] == answer["headroom_bytes"] == found.headroom_bytes
        assert own["largest_micro_batch"]["fits"] == largest_micro_batch(scenario).fits
        assert own["longest_sequence"]["tight"] == longest_sequence(scenario).tight
        assert own["longest_sequence"]["bound"] == "memory"
        assert [one["strategy"] for one in own["fewest"]] == list(SHARDING_STRATEGIES)
    two = next(one for one in own["fewest"] if one["strategy"] == "zero3")
    assert set(two) == {
        "strategy",
        "devices",
        "need",
        "in_whole_nodes",
        "nodes",
        "devices_per_node",
        "most_devices",
        "over_bytes",
    }
    run(["fit", saved(tmp_path, LLAMA_8B), "--json", "--device", "rtx-4090", "--device", "RTX-4090", "--device", "t4"])
    named = json.loads(capsys.readouterr().out)["scenarios"][0]["devices"]
    assert sorted(one["id"] for one in named) == ["rtx-4090", "t4"]


def test_the_table_fits_80_columns_and_says_what_is_listed(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    plan = saved(tmp_path, LLAMA_8B, replaced(LLAMA_8B, "hardware.devices", 4096), HUGE)
    for arguments in ([], ["--all"], ["--device", "h100-sxm"], ["--unit", "gb"]):
        run(["fit", plan, *arguments])
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= 80
        assert ("--all lists every device" in out) == (arguments in ([], ["--unit", "gb"]))
        assert ("the scenario's own device" in out) == ("--device" not in arguments)
    monkeypatch.setenv("COLUMNS", "120")
    run(["fit", plan, "--all"])
    out = capsys.readouterr().out
    assert all(out.count(f" {one.id} ") == 3 for one in devices())
    run(["fit", saved(tmp_path, LLAMA_8B)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Tight: needs 75.0 GiB to 81.6 GiB of 75.1 GiB usable, at the optimizer step"
    own = next(line for line in lines if "a100-80gb-sxm *" in line)
    free = f"{estimate(LLAMA_8B).headroom_bytes / GIB:.1f}".replace("-", "−")
    fewest = fewest_devices(LLAMA_8B, A100)
    assert fewest.best is not None
    title = choice_title("strategy", fewest.best.strategy)
    assert own.split()[-6:] == ["75.1", free, "0", "0", str(fewest.best.devices), title]
    told = " ".join(" ".join(lines[lines.index(A100.name) :]).split())
    for one in fewest.by_strategy:
        assert re.search(
            rf"Fewest ([a-z0-9, ]+, )?{one.strategy}(, [a-z0-9, ]+)?: {re.escape(fewest_words(one))}( |$)", told
        )
    assert f"Micro-batch {limit_words(largest_micro_batch(LLAMA_8B))}" in told
    assert f"Sequence {limit_words(longest_sequence(LLAMA_8B))}" in told
    assert "States alone 59.8 GiB: 1 × 80 GB, if nothing else took memory" in told


@pytest.mark.parametrize("encoding", ["ascii", "cp437"])
def test_a_terminal_that_lacks_characters(tmp_path: Any, encoding: str) -> None:
    result = process("fit", saved(tmp_path, HUGE), environment={"PYTHONIOENCODING": encoding})
    assert (result.returncode, result.stderr) == (3, b"")
    assert b"?" not in result.stdout
    assert b"Does not fit" in result.stdout


# what a device in particular has against it, and counts that cannot be


def test_what_speaks_against_a_device_stands_beside_it() -> None:
    bf16 = replaced(LLAMA_8B, "training.attention", "flash")
    told = {fit.device.id: " ".join(one.message for one in fit.advice) for fit in device_fits(bf16)}
    assert "has no bf16 arithmetic of its own" in told["t4"]
    assert "flash-attn has no kernels for Turing" in told["t4"]
    assert told["a100-80gb-sxm"] == ""
    eight = replaced(LLAMA_8B, "training.optimizer", "adamw_8bit")
    mac = next(fit for fit in device_fits(eight) if fit.device.vendor == "Apple")
    assert "bitsandbytes" in mac.advice[0].message


@pytest.mark.parametrize("device_id", ["t4", "rtx-4090", "apple-m2-max-96gb"])
def test_the_estimate_says_the_same_of_its_device(device_id: str) -> None:
    scenario = replaced(replaced(LLAMA_8B, "training.attention", "flash"), "hardware.device", device_id)
    (fit,) = device_fits(scenario, (device_of(device_id),))
    assert set(fit.advice) <= set(estimate(scenario).warnings)


def test_a_group_of_devices_is_too_many_for_a_mac() -> None:
    mac = device_of("apple-m3-ultra-512gb")
    split = scenario_of({"config": LLAMA}, {"tensor_parallel": 2, "devices": 2})
    (found,) = fewest_devices(split, mac, ("zero3",)).by_strategy
    assert (found.devices, found.most_devices, found.over_bytes) == (None, 1, 0)
    assert fewest_words(found) == "the parallel sizes take several, and a run cannot be divided over them"


def test_experts_are_shared_out_evenly() -> None:
    """Data-parallel devices are a multiple of the expert-parallel size, where there are experts."""
    hardware = {"expert_parallel": 8, "devices": 8}
    mixture = scenario_of({"catalog": "mistralai/Mixtral-8x7B-v0.1"}, hardware, method="lora")
    for one in fewest_devices(mixture, A100).by_strategy:
        assert one.devices is None or one.devices % 8 == 0
    dense = fewest_devices(scenario_of({"catalog": "meta-llama/Llama-3.1-8B"}, hardware), A100, ("zero3",))
    assert dense.by_strategy[0].devices == 2


def test_counts_that_the_parallel_sizes_do_not_divide_are_told_with_those_that_would_do() -> None:
    scenario = scenario_of({"config": LLAMA}, {"tensor_parallel": 3, "pipeline_parallel": 2, "devices": 8})
    words = [one.message for one in estimate(scenario).warnings if one.path == "hardware.devices"]
    assert words == ["The parallel sizes take 6 devices together, which do not divide 8: 6 or 12 would do."]


def test_a_walk_is_made_once_and_a_stopped_question_goes_on_where_it_was() -> None:
    class StoppedError(Exception):
        pass

    made = []

    def before() -> None:
        made.append(1)
        if len(made) % 3 == 0:
            raise StoppedError

    walks, (fit,) = FitWalks(LLAMA_8B, before), device_fits(LLAMA_8B, (A100,))
    stops = 0
    while True:
        try:
            found = device_answer(fit, walks)
            break
        except StoppedError:
            stops += 1
    assert stops > 3
    assert found == device_answer(fit, FitWalks(LLAMA_8B))
    count = len(made)
    device_answer(fit, walks)
    assert len(made) == count


def test_the_answer_in_a_sentence() -> None:
    hardware, fits = LLAMA_8B.hardware, device_fits(LLAMA_8B)
    held, tight = (sum(fit.verdict == verdict for fit in fits) for verdict in ("fits", "tight"))
    smallest = min((fit for fit in fits if fit.verdict == "fits"), key=lambda fit: fit.usable_bytes)
    own = min((fit for fit in fits if fit.verdict == "fits" and fit.device.vendor == "NVIDIA"), key=lambda fit: fit.usable_bytes)  # fmt: skip
    assert fit_sentence(fits, hardware) == (
        f"Fits {held} of {len(fits)} devices and is tight on {tight}; the smallest of NVIDIA's that holds it is "
        f"{own.device.name} ({format_bytes(own.usable_bytes)} usable), of all {smallest.device.name} "
        f"({format_bytes(smallest.usable_bytes)} usable)."
    )
    none = device_fits(replaced(LLAMA_8B, "training.micro_batch", 1000))
    assert re.fullmatch(
        r"Fits none of \d+ devices; the nearest is .+ \([\d,]+ GiB over\)\.", fit_sentence(none, hardware)
    )
    (alone,) = device_fits(LLAMA_8B, (A100,))
    words = f"one of 1 device and is tight on 1; the smallest of those is {A100.name} (75.1 GiB usable)."
    assert fit_sentence((alone,), hardware) == f"Fits n{words}"
    eight = replaced(replaced(LLAMA_8B, "hardware.devices", 8), "hardware.sharding.strategy", "zero3").hardware
    assert fit_sentence((alone,), eight) == (
        "With 8 devices of one kind under ZeRO-3 it fits none of 1 kind that can share a run and is tight on 1; "
        f"the smallest of those is {A100.name} (75.1 GiB usable)."
    )
    assert fit_sentence((), hardware) == "There is no device to hold it against."


def test_several_macs_are_told_that_they_cannot_share_a_run() -> None:
    two = replaced(replaced(LLAMA_8B, "hardware.devices", 2), "hardware.device", "apple-m3-ultra-512gb")
    (fit,) = device_fits(two, (device_of("apple-m3-ultra-512gb"),))
    assert [one.message for one in fit.advice] == [
        "PyTorch has no communication between Apple's GPUs: a run cannot be divided over several."
    ]
    assert set(fit.advice) <= set(estimate(two).warnings)
    assert (fit.verdict, fit_title(fit), fit_tone(fit)) == ("fits", "Runs alone", "does_not_fit")
    (one,) = device_fits(replaced(two, "hardware.devices", 1), (device_of("apple-m3-ultra-512gb"),))
    assert (fit_title(one), fit_tone(one)) == ("Fits", "fits")


def test_what_cannot_share_a_run_is_left_out_of_a_divided_one() -> None:
    """PyTorch has no communication between Apple's GPUs: 16 of them hold nothing together, however large they are."""
    hardware = {"devices": 16, "sharding": {"strategy": "fsdp2"}}
    scenario = Scenario.model_validate({"model": {"catalog": "Qwen/Qwen2.5-72B"}, "hardware": hardware})
    fits = device_fits(scenario)
    joined = [fit for fit in fits if fit.device.joins_others]
    assert not any(fit.runs_alone for fit in joined)
    assert all(
        fit.runs_alone for fit in fits if not fit.device.joins_others
    )  # Strix Halo and laptops too, not Macs alone
    assert not any(fit.device.vendor == "Apple" or "Laptop" in fit.device.name for fit in joined)
    assert {fit.device.name for fit in joined} > {"GeForce RTX 4090", "H200 SXM 141 GB"}
    words = fit_sentence(fits, scenario.hardware)
    assert words.startswith("With 16 devices of one kind under FSDP2 it fits ")
    assert f" of {len(joined)} kinds that can share a run" in words
    assert "Apple" not in words


def test_what_is_free_is_the_figure_that_the_verdict_says(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded by itself it was 13.7 of 90.2 on an RTX PRO 6000 beside a need of 76.6: together more."""
    monkeypatch.setenv("COLUMNS", "120")
    fits = {fit.device.id: fit for fit in device_fits(LLAMA_8B)}
    for id_, fit in fits.items():
        there = estimate(replaced(LLAMA_8B, "hardware.device", id_))
        if there.verdict != "tight":
            sign = "−" if there.verdict == "does_not_fit" else ""
            assert free_figure(fit) == sign + verdict_words(there).margin.split(" ")[0]
    run(["fit", saved(tmp_path, LLAMA_8B), "--all"])
    printed = {
        cells[0]: re.search(r"(?:Fits|Tight|fit) +\S+ +(\S+)", line)
        for line in capsys.readouterr().out.splitlines()
        if (cells := line.split()) and cells[0] in fits
    }
    assert set(printed) == set(fits)
    for id_, found in printed.items():
        assert found is not None
        assert found.group(1) == free_figure(fits[id_])
