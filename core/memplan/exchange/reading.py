"""The desk that every format's reader works at: it hands out a file's keys and takes down what they mean.

Readers say what a key means; that numbers stand as text, that null means the default, that a key was never asked for
and how its name may have been meant, is settled here once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import Any

from memplan.errors import MemplanError
from memplan.exchange.notes import ImportNote, NoteKind, Stated
from memplan.number_style import number
from memplan.plan.problems import shown
from memplan.resources import resource

_TRUE, _FALSE = ("true", "yes", "on", "1", "y"), ("false", "no", "off", "0", "n")
_MOST_UNKNOWN = 30
_LONGEST_KEY = 60
_MOST_DIGITS = 30


class Reading:
    """What one file says, in the plan's terms.

    Args:
        file: its name.
        title: its format, as a person calls it: "axolotl YAML".
        keys_of: which list of known keys goes with it.
        trains: whether it is a trainer's file, so that what it leaves open must be asked for.
    """

    def __init__(self, file: str, title: str, keys_of: str, *, trains: bool) -> None:
        self.file, self.title, self.keys_of, self.trains = file, title, keys_of, trains
        self.stated: dict[str, Stated] = {}
        self.defaults: dict[str, tuple[Any, str]] = {}
        self.notes: list[ImportNote] = []
        self.asked: dict[str, Any] = {}
        """Every key of the file that was asked for, and every empty one, with its value."""

    def state(self, path: str, stated: Stated | None, *, value: Any = None, weak: bool = False) -> None:
        """Take down what the file states for a path; None states nothing. `value` is what the key's value means."""
        if stated is not None:
            self.stated[path] = replace(stated, value=stated.value if value is None else value, weak=weak)

    def default(self, path: str, value: Any, why: str) -> None:
        """What the trainer does where no file says anything else: an assumption, with its reason."""
        self.defaults.setdefault(path, (value, why))

    def leave_out(self, stated: Stated | None, why: str) -> None:
        """Say that a key decides memory and is not counted."""
        if stated is not None:
            self.notes.append(ImportNote("left_out", stated.key, why, self._name))

    def ignore(self, stated: Stated | None, why: str, kind: NoteKind = "ignored") -> None:
        """Say that a key does not apply here, or looks like another one that would."""
        if stated is not None:
            self.notes.append(ImportNote(kind, stated.key, why, self._name))

    def assume(self, title: str, words: str, path: str = "") -> None:
        """Say what was taken for granted about a key."""
        self.notes.append(ImportNote("assumed", title, words, path=path))

    @property
    def _name(self) -> str:
        return Stated(None, self.file, "").source


class Keys:
    """One mapping of a file. Each key that is asked for counts as read; `finish` tells of the others.

    Names are given newest first: of two generations of a key both may stand there, if they agree.
    """

    def __init__(self, reading: Reading, content: Mapping[str, Any], under: str = "") -> None:
        self.reading, self.content, self.under = reading, content, under
        self._asked: set[str] = set()
        self._sections: list[Keys] = []

    def whole(self, *names: str, least: int = 1) -> Stated | None:
        """A whole number; text and floats that are one count. "auto" is no number: it states nothing."""
        found = self.any(*names)
        if found is None or _is_auto(found.value):
            return None
        number = _number(found.value)
        if number is None or not float(number).is_integer() or number < least:
            raise self.refused(found, f"a whole number from {least}")
        return replace(found, value=int(number))

    def number(self, *names: str) -> Stated | None:
        """A number."""
        found = self.any(*names)
        if found is None or _is_auto(found.value):
            return None
        number = _number(found.value)
        if number is None:
            raise self.refused(found, "a number")
        return replace(found, value=float(number))

    def switch(self, *names: str) -> Stated | None:
        """A switch, however it is written. "auto" states nothing."""
        found = self.any(*names)
        if found is None or _is_auto(found.value):
            return None
        word = str(found.value).strip().lower()
        if word not in (*_TRUE, *_FALSE) or isinstance(found.value, float | list | dict):
            raise self.refused(found, "true or false")
        return replace(found, value=word in _TRUE)

    def text(self, *names: str) -> Stated | None:
        """Text; a number or a switch is taken as it is written."""
        found = self.any(*names)
        if found is None or found.value == "":
            return None
        if isinstance(found.value, list | dict):
            raise self.refused(found, "text")
        word = str(found.value).lower() if isinstance(found.value, bool) else str(found.value)
        return replace(found, value=word.strip())

    def names(self, *names: str) -> Stated | None:
        """A list of names, or names in one text with commas between."""
        found = self.any(*names)
        if found is None:
            return None
        listed = found.value.split(",") if isinstance(found.value, str) else found.value
        if not isinstance(listed, list) or any(isinstance(one, list | dict) for one in listed):
            raise self.refused(found, "a list of names")
        return replace(found, value=tuple(name for one in listed if (name := str(one).strip())))

    def section(self, *names: str) -> Keys:
        """The mapping under a key; an empty one where there is none."""
        found = self.any(*names)
        if found is not None and not isinstance(found.value, dict):
            raise self.refused(found, "a mapping")
        inner = Keys(self.reading, found.value if found else {}, f"{found.key}." if found else "")
        self._sections.append(inner)
        return inner

    def any(self, *names: str) -> Stated | None:
        """Whatever stands under the first of the names; null is as good as nothing."""
        self._asked.update(names)
        self.reading.asked |= {self.under + name: self.content[name] for name in names if name in self.content}
        given = [name for name in names if self.content.get(name) is not None]
        if not given:
            return None
        found = Stated(self.content[given[0]], self.reading.file, self.under + given[0])
        for other in given[1:]:
            if self.content[other] != found.value:
                words = (
                    f"says {shown(self.content[other])}, {found.key} says {shown(found.value)}: they are one setting"
                )
                raise MemplanError(words, place=self.place(self.under + other), remedy="Keep one of them.")
        return found

    def has(self, name: str) -> bool:
        """Whether a key is there at all, with a value."""
        return self.content.get(name) is not None

    def place(self, key: str) -> str:
        """How messages name a key of this file."""
        return f"{self.reading.file}: {key}"

    def refused(self, found: Stated, allowed: str) -> MemplanError:
        """The error for a value that the key cannot have."""
        return MemplanError(f"found {shown(found.value)}; allowed is {allowed}.", place=self.place(found.key))

    def finish(self) -> None:
        """Tell of every key that was not asked for: known ones decide no memory, others may be misspelt."""
        known = known_keys(self.reading.keys_of)
        idle: list[str] = []
        unknown = 0
        for key, value in self._left():
            leaf = key.rpartition(".")[2]
            if leaf in known or leaf.startswith("_"):
                if value is not None:
                    idle.append(key)
                else:
                    self.reading.asked[key] = None
                continue
            unknown += 1
            if unknown <= _MOST_UNKNOWN:
                near = get_close_matches(leaf, known, n=1, cutoff=0.75) if len(leaf) <= _LONGEST_KEY else []
                hint = f"; did you mean {near[0]}?" if near else "."
                words = f"no key of {self.reading.title} that is known{hint}"
                self.reading.ignore(Stated(value, self.reading.file, key), words, "misspelt" if near else "ignored")
        if unknown > _MOST_UNKNOWN:
            self.reading.notes.append(
                ImportNote("ignored", f"{number(unknown - _MOST_UNKNOWN)} more keys", "not known.")
            )
        if idle:
            words = f"decide no memory: {', '.join(idle)}"
            self.reading.ignore(Stated(None, self.reading.file, "Other keys"), words)

    def _left(self) -> Iterator[tuple[str, Any]]:
        for key, value in self.content.items():
            if key not in self._asked:
                yield self.under + str(key), value
        for section in self._sections:
            yield from section._left()


@cache
def known_keys(format_id: str) -> frozenset[str]:
    """The names of a format's keys, from its library; of "one+other" those of both."""
    formats = json.loads(resource("exchange", "keys.json").read_text(encoding="utf-8"))["formats"]
    return frozenset(key for one in format_id.split("+") for key in formats[one]["keys"])


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in ("auto", "")


def _number(value: Any) -> int | float | None:
    """A number, also as text: "2e-5", "5e8", "2_000"."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        try:
            value = int(text) if text.lstrip("+-").isdecimal() and len(text) <= _MOST_DIGITS else float(text)
        except ValueError:
            return None
    if isinstance(value, int):
        return value if abs(value) < 10**_MOST_DIGITS else None
    return value if math.isfinite(value) else None
