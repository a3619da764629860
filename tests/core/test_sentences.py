"""The sentences an estimate is told in. What is right: DESIGN's own example of a verdict, and arithmetic."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.result import Instant, InstantName, Need, Parameters, Process, UsableFrom
from memplan.sentences import (
    basis_sentence,
    model_sentence,
    place_words,
    process_sentence,
    usable_words,
    verdict_sentence,
)
from memplan.units import GIB, UNIT_BYTES, Unit
from tests.core.made_estimates import made_estimate, made_instants


def test_the_designs_own_example() -> None:
    sentence = verdict_sentence(made_estimate(84.9, 79.1, 0.0))
    assert sentence == "Does not fit: needs 84.9 GiB of 79.1 GiB usable (5.8 GiB over), at the optimizer step"


@pytest.mark.parametrize(
    ("need", "usable", "half_band", "sentence"),
    [
        (
            62.8,
            75.1,
            1.0,
            "Fits: needs 62.8 GiB (61.8 to 63.8) of 75.1 GiB usable (12.3 GiB free), at the optimizer step",
        ),
        (75.0, 75.1, 1.0, "Tight: needs 74.0 GiB to 76.0 GiB of 75.1 GiB usable, at the optimizer step"),
        (
            1044,
            75.1,
            1.0,
            "Does not fit: needs 1044.0 GiB (1043.0 to 1045.0) of 75.1 GiB usable (968.9 GiB over), at the optimizer step",
        ),
        (
            23128,
            75.1,
            0.0,
            "Does not fit: needs 23,128 GiB of 75 GiB usable (23,053 GiB over), at the optimizer step",
        ),
        (120.3, 75.1, 0.0, "Does not fit: needs 120.3 GiB of 75.1 GiB usable (45.2 GiB over), at the optimizer step"),
        (61.3, 134.0, 0.0, "Fits: needs 61.3 GiB of 134.0 GiB usable (72.7 GiB free), at the optimizer step"),
        (0.35, 5.61, 0.0, "Fits: needs 0.35 GiB of 5.61 GiB usable (5.26 GiB free), at the optimizer step"),
        (75.08, 75.1, 0.0, "Fits: needs 75.08 GiB of 75.10 GiB usable (0.02 GiB free), at the optimizer step"),
    ],
)
def test_verdicts(need: float, usable: float, half_band: float, sentence: str) -> None:
    assert verdict_sentence(made_estimate(need, usable, half_band)) == sentence


@given(need=st.integers(1, 10**13), usable=st.integers(10**9, 3 * 10**11), unit=st.sampled_from(["gib", "gb"]))
def test_the_printed_figures_agree_with_each_other(need: int, usable: int, unit: Unit) -> None:
    gib = UNIT_BYTES["gib"]
    sentence = verdict_sentence(made_estimate(need / gib, usable / gib, 0.0), unit)
    found = re.search(r"needs [0-9.,]+ (?:GiB|GB) of", sentence)
    assert found
    first, second, difference = (
        float(figure.replace(",", "")) for figure in re.findall(r"([0-9.,]+) (?:GiB|GB)", sentence)
    )
    assert abs(first - second) == pytest.approx(difference, abs=1e-6)
    assert ("over" in sentence) == (need > usable)


def test_a_peak_that_only_the_first_step_has() -> None:
    estimate = made_estimate()
    first = max(made_instants(1), key=lambda instant: instant.total_bytes)
    assert verdict_sentence(replace(estimate, peak=first)).endswith("at the optimizer step")
    lower_later = replace(estimate, peak=first, instants=estimate.instants[:-1])
    assert verdict_sentence(lower_later).endswith("at the optimizer step of the first step")


def test_the_model_and_what_trains() -> None:
    estimate = made_estimate()
    assert model_sentence(estimate) == "Llama-3.1-8B: 8.03B parameters, all of them trained"
    lora = replace(estimate, parameters=Parameters(8_072_204_288, 41_943_040, 8_072_204_288))
    assert model_sentence(lora) == "Llama-3.1-8B: 8.07B parameters, 41.9M trained (0.52%)"
    experts = replace(estimate, parameters=Parameters(46_702_792_704, 0, 12_879_925_248))
    assert model_sentence(experts) == "Llama-3.1-8B: 46.7B parameters, 12.9B active for a token, none of them trained"


def test_one_parameter_is_singular() -> None:
    one = replace(made_estimate(), parameters=Parameters(1, 1, 1))
    assert model_sentence(one) == "Llama-3.1-8B: 1 parameter, trained"


def test_the_one_figure_is_the_peaks_own_inside_the_band() -> None:
    uneven = replace(made_estimate(62.1), need=Need(61 * GIB, 66 * GIB))
    assert uneven.need_bytes == uneven.peak.total_bytes
    assert verdict_sentence(uneven) == (
        "Fits: needs 62.1 GiB (61.0 to 66.0) of 75.1 GiB usable (13.0 GiB free), at the optimizer step"
    )


@pytest.mark.parametrize(
    ("name", "where", "words"),
    [
        ("backward", "loss", "at the loss's gradient"),
        ("backward", "layer 31 of 32", "in layer 31 of 32"),
        ("backward", "reducing layer 2 of 32", "while reducing layer 2 of 32"),
        ("forward", "gathering layer 2 of 32", "while gathering layer 2 of 32"),
        ("backward", "embeddings", "at the embeddings"),
        ("loss", "head and loss", ""),
        ("optimizer_step", "", ""),
    ],
)
def test_the_place_inside_an_instant(name: InstantName, where: str, words: str) -> None:
    assert place_words(Instant(name, 2, where, {})) == words


def test_a_device_that_is_too_small_has_no_figure_on_its_monitor() -> None:
    # memory/process.py: the cache's band stops at the device's total, or at the need where that is more.
    need = Need(328 * GIB, 340 * GIB)
    beyond = Process(320 * GIB, 328 * GIB, 328 * GIB, 328 * GIB, 328 * GIB)
    assert process_sentence(replace(made_estimate(329), process=beyond, need=need)) == ""
    assert process_sentence(made_estimate(80, 79)) != ""


def test_every_basis_and_the_monitor_have_words() -> None:
    for basis in ("traced", "measured", "published", "extrapolated"):
        assert basis_sentence(made_estimate(basis=basis)).startswith(f"{basis}: ")
    seen = "the device's monitor will likely show 76.0 GiB to 80.0 GiB"
    # 80 GiB are more than the need's high end: a reader asks why the run is said to need less.
    why = "What is beyond the need is cache: the run can do without it."
    assert process_sentence(made_estimate()) == f"{seen}. {why}"
    assert process_sentence(replace(made_estimate(), need=Need(76 * GIB, 80 * GIB))) == seen


def test_what_is_usable_says_of_what() -> None:
    estimate = made_estimate(usable_from=UsableFrom(round(79.1 * GIB), 0, 0.05))
    assert usable_words(estimate) == "75.1 GiB usable (79.1 GiB less 5% headroom)"
    shared = made_estimate(usable_gib=74.2, usable_from=UsableFrom(round(79.1 * GIB), GIB, 0.05))
    assert usable_words(shared) == "74.2 GiB usable (79.1 GiB less 1.00 GiB of other programs and 5% headroom)"
    alone = made_estimate(usable_gib=79.1, usable_from=UsableFrom(round(79.1 * GIB), 0, 0.0))
    assert usable_words(alone) == "79.1 GiB usable"
