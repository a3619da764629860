"""A diagnosis in sentences: the same ones on the command line and in the window."""

from __future__ import annotations

from memplan.diagnose.amounts import Amount
from memplan.diagnose.diagnosis import Diagnosis
from memplan.diagnose.matching import Match
from memplan.diagnose.message import Message, MessageKind, Reading
from memplan.number_style import number
from memplan.sentences import AT
from memplan.units import format_bytes

NOTHING_FOUND = "No out-of-memory message was found in the text."
_MOST_PROCESSES = 4
_FIELDS = (
    ("asked", "Asked for"),
    ("free", "Free"),
    ("contiguous", "Largest free piece"),
    ("allocated", "In tensors"),
    ("pools", "Of them in pools of graphs"),
    ("active", "Active"),
    ("reserved", "Reserved"),
    ("unallocated", "Reserved, in no tensor"),
    ("process", "This process"),
    ("outside", "Beside tensors"),
    ("limit", "Allowed"),
    ("total", "The card"),
)
_EXPECTED = ("asked", "free", "allocated", "reserved", "total")
"""What most messages state: of these, what is missing is said."""
_TITLES_OF: dict[MessageKind, dict[str, str]] = {
    "host": {"allocated": "In use", "total": "The host"},
    "mlx": {"contiguous": "One buffer at most"},
    "xpu": {"contiguous": "One allocation at most"},
}


def headline(diagnosis: Diagnosis) -> str:
    """The answer in one sentence: which card, when, what was asked and free.

    "Card 5 ran out of memory at the optimizer step: 3.14 GiB asked for, 1.95 GiB free."
    """
    message = diagnosis.message
    when = f" {AT[diagnosis.instant]}" if diagnosis.instant is not None else ""
    if not when and message.place:
        when = f" in {message.place}"
    figures = [f"{message.asked.text} asked for"] if message.asked is not None else []
    figures += [f"{message.free.text} free"] if message.free is not None else []
    told = f": {', '.join(figures)}" if figures else ""
    what = "buffers, not of memory" if message.out_of == "buffers" else message.out_of
    return f"{_who(message)} {'likely ' if message.killed else ''}ran out of {what}{when}{told}."


def _who(message: Message) -> str:
    if message.kind == "host":
        return "The host"
    if message.device is None:
        return "The card" if message.rank is None else f"The card of rank {message.rank}"
    return f"Card {message.device}" + (f" (rank {message.rank})" if message.rank is not None else "")


def source_words(message: Message) -> str:
    """Who says it, and where: "PyTorch on CUDA, line 12, 3 times"."""
    often = f", {number(message.repeats)} times" if message.repeats > 1 else ""
    return f"{message.kind_title}, line {number(message.line)}{often}"


NOT_STATED = "Not stated"


def stated_rows(message: Message) -> tuple[tuple[str, str], ...]:
    """Every figure that is stated, as it is written, with its title; then what is not stated."""
    rows = []
    titles = dict(_FIELDS) | _TITLES_OF.get(message.kind, {})
    for name, title in titles.items():
        amount: Amount | None = getattr(message, name)
        if amount is not None:
            rows.append((title, amount.text))
    shown = message.others[:_MOST_PROCESSES]
    rows += [(f"Process {other.pid}", other.held.text) for other in shown]
    if len(message.others) > len(shown):
        rows.append(("More processes", str(len(message.others) - len(shown))))
    if message.shape is not None:
        rows.append(("Shape", f"{_times(message.shape) or 'a single value'} ({message.dtype})"))
    if message.out_of == "buffers":
        allowed = number(message.buffers) if message.buffers is not None else "not stated"
        return ("Buffers allowed", allowed), *rows
    expected = ("asked",) if message.kind == "host" else _EXPECTED
    missing = [titles[name].lower() for name in expected if getattr(message, name) is None]
    if missing:
        rows.append((NOT_STATED, ", ".join(missing)))
    return tuple(rows)


def stated_sentence(message: Message) -> str:
    """All that is stated in one sentence, and which figures are not there."""
    rows = stated_rows(message)
    parts = [f"no figure for {text}" if title == NOT_STATED else f"{title.lower()} {text}" for title, text in rows]
    return "; ".join(parts)


def tensor_sentence(diagnosis: Diagnosis) -> str:
    """Which tensor was asked for; empty where nothing tells."""
    match, message = diagnosis.match, diagnosis.message
    if match is None:
        return (
            f"By its shape it is {diagnosis.named}."
            if diagnosis.named and message.shape
            else (f"It may be {diagnosis.named}." if diagnosis.named else "")
        )
    likely = "It is" if match.misfit < 1 else "It is likely" if match.is_planned else "It may be"
    return f"{likely} {match_words(match)}."


def match_words(match: Match) -> str:
    """A tensor in words: "the gradient of mlp.up_proj and 2 more, 11 008 × 4 096 in bf16 (0.08 GiB)"."""
    request = match.request
    others = match.num_names - len(match.names)
    names = ", ".join(match.names) + (f" and {others} more" if others > 0 else "")
    size = (
        format_bytes(request.num_bytes)
        if request.num_bytes >= 2**29
        else f"{number(request.num_bytes / 2**20, ',.1f')} MiB"
    )
    of = f" ({names})" if names else ""
    return f"{request.what}{of}: {_times(request.shape)} in {request.dtype}, {size}"


def instant_sentence(diagnosis: Diagnosis) -> str:
    """When it happened, and how that is known; empty where it is not."""
    message = diagnosis.message
    if diagnosis.instant_told_by == "traceback":
        return f"The traceback ends in {message.place}."
    if diagnosis.instant is None:
        return f"It happened in {message.place}." if message.place else ""
    by = "what is asked for" if diagnosis.instant_told_by == "size" else "what was held"
    return f"By {by}, it happened {AT[diagnosis.instant]}."


def other_matches_sentence(diagnosis: Diagnosis) -> str:
    """What else has that size; empty where nothing has."""
    others = [_short(match) for match in diagnosis.matches[1:]]
    return f"Other tensors of the same size: {'; '.join(others)}." if others else ""


def _short(match: Match) -> str:
    """A tensor without its size: "gradient of mlp.up_proj, in backward"."""
    of = f" ({match.names[0]}{' and others' if match.num_names > 1 else ''})" if match.names else ""
    differs = f" ({match.request.why})" if match.request.why else ""
    return f"{match.request.what}{of} {AT[match.request.instant]}{differs}"


def figures_sentence(reading: Reading) -> str:
    """What else a text says of memory, where no message states a figure."""
    return f"It speaks of: {'; '.join(reading.figures[:8])}." if reading.figures else ""


def unread_sentence(reading: Reading) -> str:
    """How much of a long log was passed over; empty where nothing was."""
    return f"{number(reading.unread)} more places of the log were not read." if reading.unread else ""


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(number(size) for size in shape)
