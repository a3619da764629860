"""A plan's estimates as CSV: one row for each scenario, step, instant and term, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io

from memplan.plan.scenario import Plan
from memplan.printable import printable
from memplan.result import Estimate, Instant
from memplan.units import Unit, to_unit

_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def as_csv(plan: Plan, estimates: tuple[Estimate, ...], unit: Unit) -> str:
    """Write the rows; a scenario's own columns repeat in each of them."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_SCENARIO_COLUMNS, "step", "instant", "is_peak", "term", "bytes", unit])
    for scenario, estimate in zip(plan.scenarios, estimates, strict=True):
        own = _scenario_values(scenario.name, estimate)
        for instant in (*estimate.instants, *estimate.first_step):
            for term, num_bytes in instant.bytes_by_term.items():
                amount = f"{to_unit(num_bytes, unit):.6f}"
                rows.writerow([*own, *_instant_values(instant, estimate), term, num_bytes, amount])
    return text.getvalue()


_SCENARIO_COLUMNS = (
    *("scenario", "model", "parameters", "trainable", "device"),
    *("usable_bytes", "need_low_bytes", "need_high_bytes", "verdict", "basis"),
)


def _scenario_values(name: str, estimate: Estimate) -> list[str | int]:
    return [
        *(_harmless(name), _harmless(estimate.model_name), estimate.parameters.total, estimate.parameters.trainable),
        *(_harmless(estimate.device_id), estimate.usable_bytes, estimate.need.low, estimate.need.high),
        *(estimate.verdict, estimate.basis),
    ]


def _instant_values(instant: Instant, estimate: Estimate) -> list[str | int]:
    is_peak = instant.name == estimate.peak.name and instant.step == estimate.peak.step
    return [instant.step, instant.name, "yes" if is_peak else "no"]


def _harmless(text: str) -> str:
    """Keep a name from being run as a formula by the spreadsheet that opens it, and on one line."""
    shown = printable(text)
    return f"'{shown}" if text.startswith(_FORMULA_SIGNS) else shown
