"""What `memplan import` prints: the list of how a plan came about, for a person or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from memplan.cli.as_json import document
from memplan.cli.tables import print_labelled
from memplan.exchange import NOTE_TITLES, Imported, ImportNote
from memplan.plan.file import plan_bytes
from memplan.version import __version__

_COLOURS = {
    "misspelt": "red",
    "understood": "green",
    "assumed": "yellow",
    "left_out": "yellow",
    "ignored": "dim",
    "asked": "red",
}
_LEAST_LABEL, _MOST_LABEL = 20, 30
"""Labels stand in a column as wide as the longest of them, within these."""


def print_imported(found: Imported, saved_as: str | None) -> None:
    """Print what each file is, the list by kind, and what comes next."""
    from memplan.cli.terminal import console, plain_text

    out = console()
    widths = [len(label) for label in (*(note.title for note in found.notes), *(title for _, title in found.files))]
    least = max([_LEAST_LABEL, *(width for width in widths if width <= _MOST_LABEL)])
    for file, title in found.files:
        print_labelled(out, title, file, least=least)
    for kind, title in NOTE_TITLES.items():
        notes = [note for note in found.notes if note.kind == kind]
        if not notes:
            continue
        out.print()
        out.print(plain_text(title, style="bold"))
        for note in notes:
            print_labelled(out, note.title, _words(note), colour=_COLOURS[kind], least=least)
    out.print()
    out.print(plain_text(_ending(found, saved_as)))


def imported_json(found: Imported) -> str:
    """Write what was read for other programs; the plan is null while something is asked."""
    plan = found.plan
    content = {
        "memplan": __version__,
        "files": [{"file": file, "format": title} for file, title in found.files],
        "notes": [asdict(note) for note in found.notes],
        "plan": None if plan is None else json.loads(plan_bytes(plan)),
    }
    return document(content)


def _words(note: ImportNote) -> str:
    if note.option:
        return f"{note.words} {note.option}" if note.kind == "asked" else f"{note.words}; {note.option} says otherwise"
    return f"{note.words} ({note.source})" if note.source else note.words


def _ending(found: Imported, saved_as: str | None) -> str:
    if found.scenario is None:
        options = ", ".join(dict.fromkeys(note.option for note in found.questions))
        return f"Nothing is saved yet: answer what is asked with {options}."
    if saved_as is not None:
        return f"Saved as {saved_as}; memplan estimate {saved_as} says what it needs."
    return "Nothing is saved: -o NAME.memplan saves the plan."
