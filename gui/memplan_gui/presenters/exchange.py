"""What is read from trainers' configurations, and what they cannot say, in the words of the forms. Plain Python."""

from __future__ import annotations

from typing import Any

from memplan import (
    EXPORT_FORMATS,
    Exported,
    ImportNote,
    MemplanError,
    Scenario,
    Unit,
    catalog,
    facts_at,
    tr,
    tr_later,
    tr_n,
    translated,
    value_at,
)
from memplan_gui.presenters.compare import value_text

WHOLE = ("training.", "hardware.")
NOT_SAID_TITLES = (tr_later("Not said in it"), tr_later("In the plan"))


def note_words(note: ImportNote) -> str:
    """A note's value as the forms show it, and why; other notes as they are."""
    if note.value is None or not note.path:
        return note.words
    words = field_text(note.path, note.value)
    return f"{words}: {note.why}" if note.why else words


def field_text(path: str, value: Any, unit: Unit = "gib") -> str:
    """The value of a field as the forms show it; a device by its name."""
    if path == "hardware.device":
        try:
            return catalog.device(str(value)).name
        except MemplanError:
            return str(value)
    return value_text(path, value, unit)


def unsaid_rows(scenario: Scenario, found: Exported) -> tuple[tuple[str, str], ...]:
    """What a format cannot say: each field with the scenario's value."""
    return tuple((translated(one.title), field_text(one.path, value_at(scenario, one.path))) for one in found.unsaid)


def unsaid_sentence(found: Exported, format_id: str) -> str:
    """How much that is, in words."""
    count = len(found.unsaid)
    if not count:
        is_part = bool(about_words(format_id))
        return tr("It says all that it is about.") if is_part else tr("It says all that the scenario has.")
    return tr_n(
        "One field of the scenario that it cannot say: set them elsewhere, or do without.",
        "{count} fields of the scenario that it cannot say: set them elsewhere, or do without.",
        count,
    ).format(count=count)


def about_words(format_id: str) -> str:
    """What a file of the format decides, where that is not all of a run."""
    concerns = EXPORT_FORMATS[format_id].concerns
    if set(concerns) == set(WHOLE):
        return ""
    titles = [
        tr("Hardware") if path == "hardware." else translated(facts_at(Scenario, path.rstrip(".")).title)
        for path in concerns
    ]
    return tr("Stands beside a trainer's own file; it is about: {fields}.").format(fields=", ".join(titles))
