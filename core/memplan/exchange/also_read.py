"""The keys of a file that no other line of the list names: what was read beside the others, and what stands empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memplan.exchange.notes import ImportNote
from memplan.exchange.reading import Reading
from memplan.plan.problems import quoted, shown

ALSO_READ, EMPTY_KEYS = "Also read", "Empty keys"


def also_read(readings: Iterable[Reading], notes: Sequence[ImportNote]) -> Iterator[ImportNote]:
    """Name each key that was asked for and that no note names, so that the list has every key of every file."""
    for reading in readings:
        open_keys = {key: value for key, value in reading.asked.items() if not _named(key, reading.file, notes)}
        quiet = {key: value for key, value in open_keys.items() if not any(_within(key, one) for one in reading.asked)}
        file = Path(reading.file).name
        if told := ", ".join(f"{key} {_value(value)}" for key, value in quiet.items() if not _empty(value)):
            yield ImportNote("understood", ALSO_READ, told, file)
        if empty := ", ".join(key for key, value in quiet.items() if _empty(value)):
            yield ImportNote("ignored", EMPTY_KEYS, f"their defaults count: {empty}", file)


def _within(key: str, other: str) -> bool:
    return other.startswith(f"{key}.")


def _named(key: str, file: str, notes: Sequence[ImportNote]) -> bool:
    """Whether a note is of this key, or of one within it; a plain word in a sentence may mean something else."""
    ends = f" in {Path(file).name}"
    for note in notes:
        of_it = note.source.removesuffix(ends) if note.source.endswith(ends) else note.title
        if key in (of_it, note.title) or _within(key, of_it) or _within(key, note.title):
            return True
        if "_" in key and re.search(rf"(?<![\w.]){re.escape(key)}(?!\w)", f"{note.words} {note.source}"):
            return True
    return False


def _value(value: object) -> str:
    return quoted(value) if isinstance(value, str) else shown(value)


def _empty(value: object) -> bool:
    return value is None or value in ("", [], {})
