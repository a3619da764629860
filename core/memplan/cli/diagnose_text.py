"""What `memplan diagnose` prints, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.cli.as_json import document
from memplan.cli.tables import print_labelled
from memplan.cli.terminal import console, plain_text
from memplan.diagnose import (
    NOTHING_FOUND,
    Amount,
    Diagnosis,
    Match,
    Reading,
    figures_sentence,
    headline,
    instant_sentence,
    other_matches_sentence,
    source_words,
    stated_sentence,
    tensor_sentence,
    unread_sentence,
)
from memplan.units import Unit, format_bytes
from memplan.version import __version__

_MOST_LEVERS = 6
_LABEL_WIDTH = len("Would help")
_AMOUNTS = (
    "asked",
    "total",
    "limit",
    "allocated",
    "pools",
    "active",
    "reserved",
    "unallocated",
    "free",
    "contiguous",
    "process",
    "outside",
)


def print_diagnoses(reading: Reading, answers: Sequence[Diagnosis], unit: Unit) -> None:
    """Print the answer to each message, and what was passed over."""
    out = console()
    for position, answer in enumerate(answers):
        if position:
            out.print()
        _print(answer, unit)
    if not answers:
        out.print(NOTHING_FOUND)
    for words in (figures_sentence(reading), unread_sentence(reading)):
        if words:
            out.print(plain_text(words))


def _print(answer: Diagnosis, unit: Unit) -> None:
    out = console()
    out.print(plain_text(headline(answer), "bold"))
    rows = [("From", source_words(answer.message))]
    rows.append(("Stated", stated_sentence(answer.message)))
    rows += [("Note", note) for note in answer.message.notes]
    rows += [("Tensor", tensor_sentence(answer)), ("", other_matches_sentence(answer))]
    rows += [("Instant", instant_sentence(answer)), ("Plan", answer.plan_differs)]
    rows += [("Why", f"{cause.sentence} {cause.remedy}".strip()) for cause in answer.causes]
    rows += [("Would help", words) for words in _help(answer, unit)]
    last = ""
    for label, words in rows:
        if words:
            print_labelled(out, "" if label == last else label, words, least=_LABEL_WIDTH)
            last = label


def _help(answer: Diagnosis, unit: Unit) -> list[str]:
    found = []
    for one in answer.levers[:_MOST_LEVERS]:
        enough = "enough alone" if one.is_enough else "not enough alone"
        saving = format_bytes(one.offer.saving_bytes, unit)
        found.append(f"{one.offer.lever.title}: saves {saving}, {enough}. {one.offer.lever.price}")
    if len(answer.levers) > _MOST_LEVERS:
        found.append(f"{len(answer.levers) - _MOST_LEVERS} more; `memplan levers PLAN` lists them.")
    return found


def diagnoses_json(reading: Reading, answers: Sequence[Diagnosis]) -> str:
    """Write answers as `memplan diagnose --json` prints them; an amount that is not stated is null."""
    return document(
        {
            "memplan": __version__,
            "messages": [_answer(answer) for answer in answers],
            "figures": list(reading.figures),
            "models": list(reading.models),
            "unread_places": reading.unread,
        }
    )


def _answer(answer: Diagnosis) -> dict[str, Any]:
    message = answer.message
    return {
        "kind": message.kind,
        "device": message.device,
        "rank": message.rank,
        "line": message.line,
        "repeats": message.repeats,
        **{name: _amount(getattr(message, name)) for name in _AMOUNTS},
        "others": [{"pid": other.pid, "held": _amount(other.held)} for other in message.others],
        "out_of": message.out_of,
        "buffers": message.buffers,
        "killed": message.killed,
        "shape": list(message.shape) if message.shape is not None else None,
        "dtype": message.dtype or None,
        "place": message.place or None,
        "in_warning": message.in_warning,
        "notes": list(message.notes),
        "headline": headline(answer),
        "instant": answer.instant,
        "instant_told_by": answer.instant_told_by or None,
        "short_by": _amount(answer.short_by),
        "tensors": [_match(match) for match in answer.matches],
        "named": answer.named or None,
        "plan_differs": answer.plan_differs or None,
        "causes": [
            {"name": cause.name, "sentence": cause.sentence, "remedy": cause.remedy or None} for cause in answer.causes
        ],
        "levers": [
            {
                "id": one.offer.lever.id,
                "title": one.offer.lever.title,
                "saving_bytes": one.offer.saving_bytes,
                "is_enough": one.is_enough,
                "price": one.offer.lever.price,
            }
            for one in answer.levers
        ],
    }


def _match(match: Match) -> dict[str, Any]:
    request = match.request
    return {
        "what": request.what,
        "of": list(match.names),
        "count_of": match.num_names,
        "shape": [int(size) for size in request.shape],
        "dtype": request.dtype,
        "bytes": request.num_bytes,
        "instant": request.instant,
        "term": request.term,
        "is_planned": match.is_planned,
        "differs": request.why or None,
        "misfit": round(match.misfit, 3),
    }


def _amount(amount: Amount | None) -> dict[str, Any] | None:
    if amount is None:
        return None
    return {"text": amount.text or None, "low_bytes": amount.low_bytes, "high_bytes": amount.high_bytes}
