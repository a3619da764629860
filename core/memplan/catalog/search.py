"""Finds catalog entries: by name, and by the words that a person types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from memplan.errors import UnknownEntryError
from memplan.printable import printable

# A number keeps its point ("3.1", "0.8b"); whatever else is neither letter nor digit separates words.
_WORD = re.compile(r"[^\W_]+(?:\.\d[^\W_]*)*")

_BEFORE_NUMBER = re.compile(r"(?<=[^\W\d_])(?=\d)")
"""Where a name and its number stand together ("qwen2.5", "a100"): people also type them apart."""
_SEPARATORS = re.compile(r"[\s_./-]+")

# How well a typed word matches, best first: the whole word, its start, the start of a longer number, somewhere inside.
_WHOLE, _START, _START_OF_NUMBER, _INSIDE = range(4)

_GAP = re.compile(r"[\s_-]+")
_NOT_IN_NAME = 1000
_LONGEST_NAME = 60


Newness = tuple[float, float, float]
"""What is compared to say which of two models of a series is the newer: see `newness`."""
_SERIES = re.compile(r"[-_]?v?\d.*$")
_VERSION = re.compile(r"[a-z]*?(\d+(?:[._]\d+)?)$")
_STAMP = re.compile(r"2[2-9](?:0[1-9]|1[0-2])$")
"""Year and month, as Mistral's names have them: 2407."""


class Entry(Protocol):
    """What can be found: an id, a name to show and other names."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...


EntryT = TypeVar("EntryT", bound=Entry)


class CatalogIndex(Generic[EntryT]):
    """Entries of one kind, by name and by word.

    Args:
        kind: what an entry is called in an error message ("model").
        entries: in the order that settles ties.
        more_words: words that lead to an entry though none of its names has them (vendor, family).
        short_names: names that lead to an entry where no other entry claims them.
        newness: which series an entry belongs to, and how new it is there: of a series the newest comes first where
            words match equally well.
    """

    def __init__(
        self,
        kind: str,
        entries: Iterable[EntryT],
        more_words: Callable[[EntryT], Iterable[str]],
        short_names: Callable[[EntryT], Iterable[str]] = lambda _: (),
        newness: Callable[[EntryT], tuple[str, Newness]] | None = None,
    ) -> None:
        self.kind = kind
        self.entries = tuple(entries)
        self._by_name = _by_name(self.entries, short_names)
        self._more_words = more_words
        self._places = _places([newness(entry) for entry in self.entries] if newness else [])

    def find(self, name: str) -> EntryT | None:
        """The entry of that id or alias, in capitals or not; None where there is none."""
        return self._by_name.get(_folded(name))

    def get(self, name: str) -> EntryT:
        """The entry of that id or alias, in capitals or not; UnknownEntryError suggests the closest."""
        found = self.find(name)
        if found is None:
            raise UnknownEntryError(f"no {self.kind} {_shortened(name)} in the catalog.", remedy=self._suggestion(name))
        return found

    def search(self, query: str) -> tuple[EntryT, ...]:
        """Entries that match every word of the query, best first; all of them for an empty query.

        Where none does, names and numbers typed together are taken apart: "qwen32b" finds what "qwen 32b" does.
        Words are words: a query of other signs alone (".*") matches nothing.
        """
        typed = words(query)
        if not typed:
            return () if _SEPARATORS.sub("", query) else self.entries
        return self._matching(typed) or self._matching([part for word in typed for part in _BEFORE_NUMBER.split(word)])

    def _matching(self, typed: list[str]) -> tuple[EntryT, ...]:
        ranked = []
        for place, (entry, own) in enumerate(zip(self.entries, self._words, strict=True)):
            ranks = [own.rank(word) for word in typed]
            if None not in ranks:
                tie = self._places[place] if self._places else place
                ranked.append((sum(filter(None, ranks)), _position(typed, entry.name), tie, entry))
        return tuple(entry for *_, entry in sorted(ranked, key=lambda row: row[:3]))

    @cached_property
    def _words(self) -> tuple[_Words, ...]:
        """The words of each entry; made when somebody searches: most ask for an entry by its name."""
        return tuple(_Words(entry, self._more_words(entry)) for entry in self.entries)

    def _suggestion(self, name: str) -> str:
        from difflib import (
            get_close_matches,
        )  # a name that is there needs no nearest one, and the start waits for imports

        close = get_close_matches(_folded(name), self._by_name, n=6, cutoff=0.6)
        found = self.search(name) if words(name) else ()
        likely = list(dict.fromkeys(entry.id for entry in (*found, *(self._by_name[key] for key in close))))[:3]
        if likely:
            return f"Did you mean {_either(likely)}?"
        return f"`memplan catalog {self.kind}s` lists them."


def newness(name: str, family: str) -> tuple[str, Newness]:
    """The series that a model belongs to, and how new it is there, as far as its own name tells.

    A catalog has no dates. Names have generations (Qwen2.5, Llama-3.1, v0.3) and at times a year and month (2407); what
    ends in a letter is a size (7B, 8x22B, A3B).

    >>> newness("Qwen2.5-32B", "qwen2.5"), newness("Mistral-Small-Instruct-2409", "mistral")
    (('qwen', (2.5, 0.0, 2.5)), ('mistral', (0.0, 2409.0, 0.0)))
    >>> newness("Mixtral-8x7B-v0.1", "mixtral")
    ('mixtral', (0.0, 0.0, 0.1))
    """
    version = stamp = 0.0
    for part in name.casefold().split("-"):
        if _STAMP.match(part):
            stamp = float(part)
        elif (found := _VERSION.match(part)) and not version and float(found[1].replace("_", ".")) < 100:
            version = float(found[1].replace("_", "."))
    return _SERIES.sub("", family), (version if version >= 1 else 0.0, stamp, version)


def _places(newness_of_each: list[tuple[str, Newness]]) -> list[int]:
    """Where each entry stands when series keep their order, and the newest of a series comes first in it."""
    first: dict[str, int] = {}
    for place, (series, _) in enumerate(newness_of_each):
        first.setdefault(series, place)

    def key(place: int) -> tuple[int, Newness, int]:
        series, (version, stamp, small) = newness_of_each[place]
        return first[series], (-version, -stamp, -small), place

    order = sorted(range(len(newness_of_each)), key=key)
    places = [0] * len(order)
    for position, place in enumerate(order):
        places[place] = position
    return places


def words(text: str) -> list[str]:
    """The words of a name or a query, in small letters."""
    return _WORD.findall(text.casefold())


def _by_name(entries: Iterable[EntryT], short_names: Callable[[EntryT], Iterable[str]]) -> dict[str, EntryT]:
    named: dict[str, EntryT] = {}
    short: dict[str, list[EntryT]] = {}
    for entry in entries:
        for name in (entry.id, *entry.aliases):
            named[_folded(name)] = entry
        for name in short_names(entry):
            short.setdefault(_folded(name), []).append(entry)
    alone = {name: owners[0] for name, owners in short.items() if len(set(map(id, owners))) == 1}
    return {**alone, **named}


def _folded(name: str) -> str:
    """One spelling for "RTX 4090", "rtx_4090" and "rtx-4090"."""
    return _GAP.sub("-", name.casefold().strip())


class _Words:
    """The words that lead to one entry."""

    def __init__(self, entry: Entry, more: Iterable[str]) -> None:
        names = (entry.id, entry.name, *entry.aliases)
        self.of_names = tuple(dict.fromkeys(word for name in names for word in words(name)))
        self.parts = tuple(dict.fromkeys(part for word in self.of_names for part in _apart(word)))
        self.more = tuple(dict.fromkeys(word for text in more for word in words(text)))
        # "rtx4090" means "RTX 4090", "llama3.1" means "Llama-3.1".
        self.run_together = tuple("".join(words(name)) for name in names)

    def rank(self, word: str) -> int | None:
        """How well a typed word matches: names before vendors and families; None where it does not."""
        rank = _rank(word, self.of_names)
        if rank is not None:
            return rank
        ranks = [found + 1 for found in (_rank(word, self.parts), _rank(word, self.more)) if found is not None]
        if ranks:
            return min(ranks)
        return _INSIDE if any(name.startswith(word) for name in self.run_together) else None


def _apart(word: str) -> list[str]:
    """A name and its number, where a word is both."""
    parts = _BEFORE_NUMBER.split(word, maxsplit=1)
    return parts if len(parts) > 1 else []


def _rank(word: str, among: tuple[str, ...]) -> int | None:
    """How well the word matches the best of the words; None when none matches."""
    if word in among:
        return _WHOLE
    starts = [candidate for candidate in among if candidate.startswith(word)]
    if starts:
        number_goes_on = word[-1].isdigit() and all(candidate[len(word)].isdigit() for candidate in starts)
        return _START_OF_NUMBER if number_goes_on else _START
    # "8b" must not find "38b", nor "0.5b" find "10.5b": only what begins with a letter may stand inside.
    if len(word) > 1 and word[0].isalpha() and any(word in candidate for candidate in among):
        return _INSIDE
    return None


def _position(typed: list[str], name: str) -> int:
    """Where the first typed word stands in the name: the earlier, the more the name is about it."""
    first = next((word for word in typed if word[0].isalpha()), None)
    if first is None:
        return 0
    at = name.casefold().find(first)
    return at if at >= 0 else _NOT_IN_NAME


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _shortened(name: str) -> str:
    """A name that somebody typed, in quotation marks, no longer than a line."""
    return f'"{printable(name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…")}"'
