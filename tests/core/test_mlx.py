"""MLX against its own count of small runs of mlx-lm (tests/truth/mlx.json). What is right: what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from tests.core.truth_cases import by_id, cases, scenario_of

MEASURED = cases("mlx.json")
UNDER, OVER = 0.01, 0.46
"""How far an estimate's peak may be under the measured one (nothing but sizes that blocks round) and over it."""


def found_for(case: dict[str, Any]) -> Estimate:
    return estimate(scenario_of(case))


@pytest.mark.parametrize("case", MEASURED, ids=by_id)
def test_a_run_is_within_what_the_warning_says(case: dict[str, Any]) -> None:
    found, true = found_for(case), case["bytes"]
    off = found.bytes.peak / true["peak"] - 1
    assert -UNDER <= off <= OVER
    assert found.parameters.total == true["parameters"]
    assert found.parameters.trainable == true["trainable"]
    assert found.bytes.loaded == pytest.approx(true["loaded"], rel=0.002)
    assert found.basis == "extrapolated"


@pytest.mark.parametrize("case", [one for one in MEASURED if one["id"] == "mlx llama, full, 128"], ids=by_id)
def test_an_update_makes_new_states_beside_the_old(case: dict[str, Any]) -> None:
    """At 128 tokens the update is the peak: weights, gradients, two moments and two new ones, 12 bytes a parameter."""
    assert case["bytes"]["peak"] / case["bytes"]["parameters"] == pytest.approx(12, rel=0.01)
    assert found_for(case).bytes.step_peak == pytest.approx(case["bytes"]["peak"], rel=0.01)


def test_attention_is_quadratic_in_the_sequence() -> None:
    """Twice the layers keep twice the scores: 2 bytes for each of 3 more layers, from the measured second differences."""
    by_name = {case["id"]: case["bytes"]["peak"] for case in MEASURED}

    def second_difference(prefix: str) -> float:
        short, middle, long = (by_name[f"{prefix}, {tokens}"] for tokens in (256, 512, 1024))
        return ((long - middle) - 2 * (middle - short)) / (1024**2 - 3 * 512**2 + 2 * 256**2)

    more = second_difference("mlx llama of 6, lora") - second_difference("mlx llama, lora")
    assert more / (3 * 4) == pytest.approx(2, rel=0.05)  # three layers of four heads


def test_gradients_of_earlier_micro_batches_stand_beside_the_new_ones() -> None:
    """mlx-lm adds them to new ones in new arrays, and holds them through the update: 14 bytes a parameter instead of 12.

    Measured, and so for each of full training and LoRA; no fewer than with a single micro-batch.
    """
    by_name = {case["id"]: found_for(case).bytes for case in MEASURED}
    one, two = (by_name[f"mlx llama, full, 128{more}"] for more in ("", ", accumulation 2"))
    assert two.step_peak - one.step_peak == pytest.approx(2 * 2_737_920, rel=0.01)
    for name, found in by_name.items():
        if name.endswith(", accumulation 2"):
            alone = by_name.get(name.removesuffix(", accumulation 2"))
            assert alone is None or alone.peak < found.peak


def test_a_size_alone_is_updated_as_the_model_is() -> None:
    """New states beside the old ones: of AdamW two values for each parameter."""
    shape = {"parameters": 8_030_261_248, "layers": 32, "hidden_size": 4096, "vocab_size": 128_256}
    found = estimate(Scenario.model_validate({"model": shape, "training": {"kernels": "mlx", "sequence_length": 16}}))
    assert found.instants[-1].bytes_by_term["temporary buffers"] == pytest.approx(2 * 2 * 8_030_261_248, rel=0.001)
