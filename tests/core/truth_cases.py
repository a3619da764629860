"""Traced cases, and how one becomes a scenario. `tests/truth/README.md` says where they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memplan.plan.scenario import Scenario
from memplan.result import Estimate

TRUTH = Path(__file__).parents[1] / "truth"
INSTANTS = (
    "loaded",
    "forward_end",
    "forward_peak",
    "backward_peak",
    "backward_end",
    "step_peak",
    "step_end",
    "zeroed",
    "peak",
)
GENERATED = {
    "loaded": "loaded",
    "prefill_peak": "forward_peak",
    "prefill_end": "forward_end",
    "decode_peak": "decode_peak",
    "decode_end": "decode_end",
    "kv_cache": "kv_cache",
    "peak": "peak",
}
"""What is traced of generating text, and what an estimate calls it."""
DRIFT, FIRST_DRIFT = 0.003, 0.005
"""How far a traced set-up that no list of gaps names may be off: later steps, the first step."""
NOT_TRAINING = {"id", "model", "sharding", "bytes"}


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    found: list[dict[str, Any]] = json.loads((TRUTH / name).read_text(encoding="utf-8"))
    return found


def scenario_of(case: dict[str, Any]) -> Scenario:
    """The scenario that a case traced. Traces run 1024 tokens when a case does not say."""
    training = {name: value for name, value in case.items() if name not in NOT_TRAINING}
    sharding = dict(case.get("sharding", {}))
    devices = sharding.pop("world_size", 1)
    return Scenario.model_validate(
        {
            "name": case["id"],
            "model": {"config": case["model"]},
            "training": {"sequence_length": 1024, **training},
            "hardware": {"devices": devices, "sharding": sharding},
        }
    )


def errors(case: dict[str, Any], estimate: Estimate) -> dict[str, float]:
    """How far the estimate is from the trace: at each instant of the second step, and of the first."""
    traced, found = case["bytes"], estimate.bytes
    pairs = {name: (getattr(found, name), traced[name]) for name in INSTANTS}
    pairs |= {f"first {name}": (found.first_step[name], value) for name, value in traced["first_step"].items()}
    return {name: mine / true - 1 for name, (mine, true) in pairs.items()}


def generation_errors(case: dict[str, Any], estimate: Estimate) -> dict[str, float]:
    """How far the estimate is from the trace of a prompt read and of a token made."""
    traced = case["bytes"]
    true = {**traced, "peak": max(traced["prefill_peak"], traced["decode_peak"])}
    return {name: getattr(estimate.bytes, field) / true[name] - 1 for name, field in GENERATED.items()}


def by_id(case: dict[str, Any]) -> str:
    """A case's name in pytest's words."""
    return str(case["id"])


def too_far(off: dict[str, float], allowed: float, allowed_first: float) -> dict[str, str]:
    """The instants that are further off than allowed."""
    limits = {name: allowed_first if name.startswith("first ") else allowed for name in off}
    return {name: f"{error:+.2%}" for name, error in off.items() if abs(error) > limits[name]}
