"""Makes what memplan says of its own evidence: `resources/evidence/*.json` and the page `resources/help/evidence.md`.

    python -m tools.make_evidence

from the truth in `tests/truth` and today's engine. A test fails when the committed files are not what this makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memplan.catalog import device as device_of
from memplan.estimate import estimate
from memplan.evidence import measured_of, traced_of
from memplan.memory.process import Overheads, overheads
from memplan.nearest_evidence import place_of
from memplan.plan.scenario import Scenario
from tests.core.measured_cases import FALSE_ALARMS, FALSE_FITS, KNOWN_GAPS, Measured, measured
from tests.core.truth_cases import GENERATED, INSTANTS, cases, errors, generation_errors, scenario_of
from tools.evidence_page import page

REPOSITORY = Path(__file__).parents[1]
EVIDENCE = REPOSITORY / "resources" / "evidence"
PAGE = REPOSITORY / "resources" / "help" / "evidence.md"

TRACED = {
    "traced.json": "published models",
    "extra.json": "unusual set-ups",
    "families_dense.json": "dense families",
    "families.json": "further families",
    "families_experts.json": "experts and linear attention",
    "families_more.json": "families of 2025 and later",
    "families_decoders.json": "less common decoders",
    "families_towers.json": "language models with a tower",
    "families_hybrid.json": "state spaces, hybrids and recent mixtures",
    "stacks.json": "other training stacks",
    "unseen.json": "set-ups drawn at random",
    "last_layers.json": "adapters on the last layers",
}
"""Files of traces of training, and what their cases are called."""
GENERATION = "generation.json"
BAND_SHARE = 0.95
"""Share of the runs that the cross-validated upper edge of the monitor's band takes in where it was fitted."""


def made() -> dict[Path, str]:
    """Every file that is made, by path, with its text."""
    traced, runs = list(_traced()), list(measured().values())
    bands, verdicts = list(_bands(runs)), _verdicts(runs)
    documents: dict[str, dict[str, Any]] = {
        "traced.json": {
            "instants": INSTANTS,
            "instants_of_generation": list(GENERATED),
            "cases": [*traced, *_generated()],
        },
        "measured.json": {
            "instants": ["peak"],
            "bands": bands,
            "verdicts": verdicts,
            "cases": [_run_row(run) for run in runs if run.allocated_error is not None],
        },
    }
    texts = {name: _document(content) for name, content in documents.items()}
    known = traced_of(json.loads(texts["traced.json"])), measured_of(json.loads(texts["measured.json"]))
    return {**{EVIDENCE / name: text for name, text in texts.items()}, PAGE: page(*known)}


def _traced() -> Iterator[dict[str, Any]]:
    for file, source in TRACED.items():
        for case in cases(file):
            scenario = scenario_of(case)
            found = estimate(scenario)
            off, true = errors(case, found), case["bytes"]
            counted = (found.parameters.total, found.parameters.trainable) == (true["parameters"], true["trainable"])
            yield _row(
                scenario,
                truth_bytes=true["peak"],
                errors=[_hundredths(off[name]) for name in INSTANTS],
                source=source,
                **({} if counted else {"counts": False}),
            )


def _generated() -> Iterator[dict[str, Any]]:
    for case in cases(GENERATION):
        scenario = scenario_of(case)
        found = estimate(scenario)
        off, true = generation_errors(case, found), case["bytes"]
        yield _row(
            scenario,
            truth_bytes=max(true["prefill_peak"], true["decode_peak"]),
            errors=[_hundredths(off[name]) for name in GENERATED],
            source="generating text",
            generates=True,
            **({} if found.parameters.total == true["parameters"] else {"counts": False}),
        )


def _run_row(run: Measured) -> dict[str, Any]:
    error = run.allocated_error
    assert error is not None
    _, reason = KNOWN_GAPS.get(run.case["id"], (0, ""))
    return _row(
        run.scenario,
        truth_bytes=run.case["measured"]["allocated_bytes"],
        errors=[_hundredths(error)],
        source=_source(run),
        **({} if run.case["exact"] else {"exact": False}),
        **({"reason": reason} if reason else {}),
    )


def _row(scenario: Scenario, **figures: Any) -> dict[str, Any]:
    place = place_of(scenario)
    return {
        "id": scenario.name,
        "family": place.family,
        "parameters": place.parameters,
        "facets": place.facets,
        "tokens": place.tokens,
        **({"devices": place.devices} if place.devices > 1 else {}),
        **figures,
    }


def _source(run: Measured) -> str:
    """The source of a run without the row: "fms-acceleration", "HF blog"."""
    words: str = run.case["source"].partition(":")[0]
    first, _, second = words.partition(" ")
    return f"{first} {second.partition(' ')[0]}" if first in ("HF", "transformers", "QwenLM/Qwen") else first


def _hundredths(error: float) -> int:
    """An error in whole hundredths of a percent."""
    return round(error * 10_000)


def _verdicts(runs: Iterable[Measured]) -> dict[str, Any]:
    """Verdicts of the runs whose card is known."""
    words = {"oom": "does_not_fit", "fits": "fits"}
    stated = [run for run in runs if run.names_its_device]
    tight = sum(run.estimate.verdict == "tight" for run in stated)
    right = sum(run.estimate.verdict == words[run.case["verdict"]] for run in stated)
    return {"right": right, "tight": tight, "wrong": {**FALSE_FITS, **FALSE_ALARMS}}


def _bands(runs: Iterable[Measured]) -> Iterator[dict[str, Any]]:
    """The monitor's band by source, and with its upper edge fitted without that source."""
    shown = [run for run in runs if "process_bytes" in run.case["measured"]]
    for source in sorted({_source(run) for run in shown}):
        own = [run for run in shown if _source(run) == source]
        factor = _factor(run for run in shown if _source(run) != source)
        widths = sorted(
            (run.estimate.process.high - run.estimate.process.low) / run.estimate.process.total for run in own
        )
        yield {
            "source": source,
            "runs": len(own),
            "inside": sum(_is_inside(run, run.estimate.process.high) for run in own),
            "inside_without": sum(_is_inside(run, _high(run, factor)) for run in own),
            "width": round(widths[len(widths) // 2], 3),
        }


def _is_inside(run: Measured, high: int) -> bool:
    return run.estimate.process.low <= _shown_bytes(run) <= high


def _shown_bytes(run: Measured) -> int:
    return int(run.case["measured"]["process_bytes"])


def _factor(runs: Iterable[Measured]) -> float:
    """The cache's factor that takes in most of the runs: (process − context) / allocated."""
    factors = sorted((_shown_bytes(run) - _over(run).context_high) / run.estimate.process.allocated for run in runs)
    return factors[round(BAND_SHARE * (len(factors) - 1))]


def _high(run: Measured, factor: float) -> int:
    """The band's upper edge as `process_of` draws it, with another factor for the cache."""
    found, device = run.estimate, device_of(run.scenario.hardware.device)
    room = max(found.need.low, device.framework_total_bytes)
    return max(found.process.total, min(room, round(found.process.allocated * factor) + _over(run).context_high))


def _over(run: Measured) -> Overheads:
    return overheads(device_of(run.scenario.hardware.device), run.scenario.hardware)


def _document(content: dict[str, Any]) -> str:
    """One case a line; the facets' names stand once."""
    rows = content["cases"]
    head = {"format": 1, "facets": list(rows[0]["facets"]), **content}
    del head["cases"]
    lines = [json.dumps({**row, "facets": list(row["facets"].values())}, ensure_ascii=False) for row in rows]
    text = json.dumps(head, ensure_ascii=False, indent=1)
    return text[:-2] + ',\n "cases": [\n' + ",\n".join(lines) + "\n ]\n}\n"


def main() -> None:
    """Write the files."""
    EVIDENCE.mkdir(exist_ok=True)
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(REPOSITORY)}: {len(text):,} characters")


if __name__ == "__main__":
    main()
