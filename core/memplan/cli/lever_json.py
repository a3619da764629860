"""What `memplan levers --json` prints, for other programs. Amounts are bytes, always."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from memplan.cli.as_json import document
from memplan.cli.lever_answers import LeversAnswer
from memplan.cli.lever_applying import Changed
from memplan.levers import LeverOffer
from memplan.making_fit import PREFERENCES, Candidate, proposal_sentence
from memplan.plan.scenario import Scenario
from memplan.version import __version__


def levers_json(answers: Sequence[LeversAnswer], changed: Sequence[Changed] = ()) -> str:
    """Write the levers of each scenario, what makes it fit, and what was applied where that was asked."""
    applied: Sequence[Changed | None] = changed or [None] * len(answers)
    found = [
        {**_answer(answer), "applied": _applied(answer.scenario, one) if one else None}
        for answer, one in zip(answers, applied, strict=True)
    ]
    return document({"memplan": __version__, "scenarios": found})


def _applied(now: Scenario, changed: Changed) -> dict[str, Any]:
    found = changed.estimate
    return {
        "words": changed.levers,
        "verdict": found.verdict,
        "need": asdict(found.need),
        "changes": _changes(now, changed.scenario),
    }


def _answer(answer: LeversAnswer) -> dict[str, Any]:
    proposal = answer.proposal
    return {
        "name": answer.scenario.name,
        "device": {"id": answer.estimate.device_id, "usable_bytes": answer.estimate.usable_bytes},
        "verdict": answer.estimate.verdict,
        "need": asdict(answer.estimate.need),
        "levers": [_offer(offer, answer.scenario) for offer in answer.offers],
        "make_it_fit": {
            "sentence": proposal_sentence(proposal),
            "kept": [one for one in PREFERENCES if one in proposal.preferences.kept],
            "best": _candidate(proposal.best, answer.scenario) if proposal.best else None,
            "freed": {
                "keep": proposal.freed.preference,
                "best": _candidate(proposal.freed.candidate, answer.scenario),
            }
            if proposal.freed
            else None,
            "over_bytes": proposal.over_bytes,
            "remedy": None
            if proposal.remedy is None
            else {
                "device": proposal.remedy.device.id if proposal.remedy.device else None,
                "devices": proposal.remedy.devices,
                "strategy": proposal.remedy.strategy,
            },
            "waterfall": [
                {
                    "lever": fall.use.lever.id if fall.use else None,
                    "title": fall.title,
                    "saving_bytes": fall.saving_bytes,
                    "need_bytes": fall.need_bytes,
                    "peak": fall.peak,
                    "terms": dict(fall.terms),
                }
                for fall in answer.falls
            ],
            "front": [_candidate(one, answer.scenario) for one in proposal.front],
            "devices": [
                {"id": device.id, "best": _candidate(best, answer.scenario) if best else None}
                for device, best in answer.each
            ],
        },
    }


def _candidate(candidate: Candidate, now: Scenario) -> dict[str, Any]:
    return {
        "levers": [{"id": use.lever.id, "times": use.times} for use in candidate.uses],
        "need": asdict(candidate.need),
        "need_bytes": candidate.need_bytes,
        "fits": candidate.fits,
        "slowdown": candidate.slowdown,
        "price": candidate.price,
        "changes": _changes(now, candidate.scenario),
    }


def _changes(now: Scenario, then: Scenario) -> dict[str, Any]:
    """Path inside the scenario → value, for everything that differs."""
    before, after = (_flat(one.model_dump(mode="json", include={"training", "hardware"})) for one in (now, then))
    return {path: value for path, value in after.items() if before[path] != value}


def _flat(values: dict[str, Any], under: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{under}{name}.") if isinstance(value, dict) else {f"{under}{name}": value}
    return found


def _offer(offer: LeverOffer, scenario: Scenario) -> dict[str, Any]:
    return {
        "id": offer.lever.id,
        "title": offer.lever.title,
        "state": offer.state,
        "saving_bytes": offer.saving_bytes,
        "need_bytes": offer.need_bytes,
        "verdict": offer.verdict,
        "sentence": offer.sentence,
        "slowdown": offer.slowdown,
        "price": offer.price,
        "source": offer.lever.source,
        "changes_what": offer.lever.changes_what,
        "changes": {} if offer.state == "not_applicable" else offer.lever.changes(scenario),
    }
