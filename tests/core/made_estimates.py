"""Estimates with made-up figures, for tests of how estimates are told; what is right in them is no test's business."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memplan.result import (
    Advice,
    Estimate,
    Instant,
    InstantName,
    Need,
    Parameters,
    Process,
    Recipe,
    Term,
    TermName,
    TraceBytes,
)
from memplan.units import GIB

TERMS_AT: dict[InstantName, dict[TermName, float]] = {
    "loaded": {"weights": 15, "framework": 0.5},
    "forward": {"weights": 15, "optimizer states": 30, "activations": 5, "framework": 0.5},
    "loss": {"weights": 15, "optimizer states": 30, "activations": 5, "logits and loss": 2, "framework": 0.5},
    "backward": {"weights": 15, "gradients": 15, "optimizer states": 30, "activations": 1, "framework": 0.5},
    "optimizer_step": {
        "weights": 15,
        "gradients": 15,
        "optimizer states": 30,
        "temporary buffers": 15,
        "framework": 0.5,
    },
}


def made_instants(step: int) -> tuple[Instant, ...]:
    return tuple(
        Instant(name, 0 if name == "loaded" else step, "", {term: round(gib * GIB) for term, gib in terms.items()})
        for name, terms in TERMS_AT.items()
    )


def made_estimate(
    need_gib: float = 75.5, usable_gib: float = 75.1, half_band_gib: float = 0.1, **changes: Any
) -> Estimate:
    """An estimate whose peak is so much of so much, within a band; the verdict follows DESIGN's rule."""
    low, high, usable = (round(gib * GIB) for gib in (need_gib - half_band_gib, need_gib + half_band_gib, usable_gib))
    instants = made_instants(2)
    peak = instants[-1]
    if round(need_gib * GIB) != peak.total_bytes:
        peak = replace(peak, bytes_by_term={"weights": round(need_gib * GIB)})
    given: dict[str, Any] = {
        "name": "baseline",
        "model_name": "Llama-3.1-8B",
        "parameters": Parameters(8_030_261_248, 8_030_261_248, 8_030_261_248),
        "recipe": Recipe("bf16 weights, bf16 gradients, bf16 AdamW states", 8.0),
        "trace": lambda: TraceBytes(
            15, 30, 50, 52, 61, 60, 75, 60, 45, 75, "optimizer step of step 2", {"step_peak": 75}
        ),
        "instants": instants,
        "first_step": made_instants(1)[1:],
        "peak": peak,
        "explain": lambda: (
            Term("weights", 15 * GIB, 15 * GIB, "8,030,261,248 × 2 = 16,060,522,496", "counted"),
            Term("temporary buffers", 15 * GIB, 15 * GIB, "one copy | of the weights", "PyTorch"),
        ),
        "process": Process(75 * GIB, 76 * GIB, 77 * GIB, 76 * GIB, 80 * GIB),
        "need": Need(low, high),
        "device_id": "a100-80gb-sxm",
        "device_name": "A100 80 GB SXM",
        "usable_bytes": usable,
        "verdict": "fits" if high <= usable else "does_not_fit" if low > usable else "tight",
        "basis": "traced",
        "advise": lambda: (Advice("training.attention", "an assumption"),),
    }
    return Estimate(**{**given, **changes})
