"""Devices that cannot share a run. What is right: what Accelerate's documentation says of mps, and what a person is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memplan.catalog import device as device_of
from memplan.cli.ending import run
from memplan.estimate import estimate
from memplan.fit import device_fits, fit_title, fit_tone
from memplan.levers import lever_offers
from memplan.making_fit import make_fit, proposal_sentence
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.result import Advice
from memplan.sentences import verdict_sentence, verdict_title, verdict_tone, verdict_words

SHARDED = {"devices": 4, "sharding": {"strategy": "fsdp2"}}
ON_MACS = Scenario.model_validate(
    {"model": {"catalog": "Qwen/Qwen2.5-0.5B"}, "hardware": {"device": "apple-m3-ultra-512gb", **SHARDED}}
)
ON_CARDS = replaced(ON_MACS, "hardware.device", "h200-sxm")


def test_the_verdict_says_that_macs_cannot_share_a_run() -> None:
    found = estimate(ON_MACS)
    assert (found.verdict, found.runs_alone) == ("fits", True)
    assert (verdict_title(found), verdict_tone(found)) == ("Runs alone", "does_not_fit")
    words = verdict_words(found)
    assert (words.word, words.margin) == ("Runs alone", "cannot share a run")
    assert words.detail.startswith("Each needs ")
    assert verdict_sentence(found).startswith("Runs alone: devices of this kind cannot share a run, though each needs ")


def test_it_does_not_say_so_of_one_nor_of_what_is_linked() -> None:
    for scenario in (replaced(ON_MACS, "hardware.devices", 1), ON_CARDS):
        found = estimate(scenario)
        assert not found.runs_alone
        assert verdict_sentence(found).startswith("Fits: ")
        assert verdict_tone(found) == "fits"


def test_what_does_not_fit_either_says_that_it_does_not_fit() -> None:
    found = replace(estimate(ON_MACS), verdict="does_not_fit")
    assert (verdict_title(found), verdict_tone(found)) == ("Does not fit", "does_not_fit")
    assert verdict_sentence(found).startswith("Does not fit: ")


@pytest.mark.parametrize("device", ["apple-m3-ultra-512gb", "h200-sxm"])
def test_a_device_and_the_estimate_there_say_the_same(device: str) -> None:
    scenario = replaced(ON_MACS, "hardware.device", device)
    (fit,), found = device_fits(scenario, (device_of(device),)), estimate(scenario)
    assert fit.runs_alone == found.runs_alone == (device != "h200-sxm")
    assert (fit_title(fit), fit_tone(fit)) == (verdict_title(found), verdict_tone(found))
    assert any(one.path == "hardware.devices" for one in fit.advice) == fit.runs_alone


def test_other_advice_about_the_count_makes_no_device_run_alone() -> None:
    """Sizes that do not divide the devices are advice about the same field."""
    (fit,) = device_fits(ON_CARDS, (device_of("h200-sxm"),))
    assert not replace(fit, advice=(Advice("hardware.devices", "5 are not a multiple of 2."),)).runs_alone


def test_no_lever_makes_them_share_one() -> None:
    assert proposal_sentence(make_fit(ON_MACS)) == (
        "What each device holds fits, but devices of this kind cannot share a run: no lever changes that."
    )
    laptop = replaced(ON_CARDS, "hardware.device", "rtx-4090-laptop")
    (more,) = (one for one in lever_offers(laptop) if one.lever.id == "more_devices")
    assert (more.state, more.sentence) == (
        "not_applicable",
        "Does not apply: devices of this kind cannot share a run.",
    )


def test_the_exit_status_and_the_numbers_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "macs.memplan"
    for scenario, status in ((ON_MACS, 3), (ON_CARDS, 0)):
        plan.write_text(json.dumps({"memplan": 1, "scenarios": [scenario.model_dump(mode="json")]}))
        assert run(["estimate", str(plan), "--json"]) == status
        (found,) = json.loads(capsys.readouterr().out)["scenarios"]
        assert (found["verdict"], found["runs_alone"]) == ("fits", status == 3)
        assert run(["fit", str(plan), "--device", scenario.hardware.device]) == status
        capsys.readouterr()
