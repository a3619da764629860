"""Read a text, a log or a stream: every out-of-memory message in it, with what it states."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from memplan.catalog import models
from memplan.diagnose.amounts import AMOUNT
from memplan.diagnose.belief import believed
from memplan.diagnose.caching import caching_messages
from memplan.diagnose.mentions import MOST_AFTER, MOST_BEFORE, is_mere_mention
from memplan.diagnose.message import Message, Reading
from memplan.diagnose.passages import SPACES, WHOLE_BYTES, Passage, Skipped, passages
from memplan.diagnose.places import placed
from memplan.diagnose.wordings import other_messages, told_in_words
from memplan.errors import MemplanError
from memplan.units import MIB

CHUNK_BYTES = 8 * MIB
MOST_MESSAGES = 200
_WORDS_BEFORE, _WORDS_AFTER = 5, 3
_ECHOES = ("driver", "unknown", "batch_search")
"""What says of a message that states figures only that there was one."""


def read_messages(text: str | bytes) -> Reading:
    """Read what was pasted, or a log that is at hand.

    Raises:
        MemplanError: the bytes are not text.

    >>> found = read_messages("CUDA out of memory. Tried to allocate 2.50 GiB (GPU 1; 23.69 GiB total capacity)")
    >>> found.messages[0].device, found.messages[0].asked.text, found.messages[0].free
    (1, '2.50 GiB', None)
    """
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return _read(data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES) or (0,))


def read_message_file(path: str | Path) -> Reading:
    """Read a log; however long, it is never held as a whole.

    Raises:
        MemplanError: it cannot be opened, or is not text.
    """
    try:
        with Path(path).open("rb") as stream:
            return read_message_stream(stream)
    except OSError as problem:
        raise MemplanError(f"cannot be read ({problem.strerror or problem}).", place=str(path)) from problem
    except MemplanError as problem:
        raise MemplanError(problem.message, place=str(path), remedy=problem.remedy) from None


def read_message_stream(stream: BinaryIO) -> Reading:
    """Read a stream to its end."""
    return _read(iter(lambda: stream.read(CHUNK_BYTES), b""))


def _read(chunks: Iterable[bytes]) -> Reading:
    skipped = Skipped()
    found: list[Message] = []
    told: Message | None = None
    figures: list[str] = []
    named: dict[str, None] = {}
    names = _model_names()
    for passage in passages(chunks, skipped):
        found += _messages(passage)
        named |= dict.fromkeys(name for key, name in names.items() if key in passage.squeezed)
        if not found and len(passage.raw) <= WHOLE_BYTES:
            told = told or _told(passage)
            figures += _figures(passage.raw)
    if not found and told is not None:
        found.append(told)
    return Reading(
        messages=_once(_told_why(found))[:MOST_MESSAGES],
        figures=tuple(dict.fromkeys(figures))[:40] if not found or found[0].kind == "unknown" else (),
        models=tuple(named)[:3],
        unread=skipped.places,
    )


def _messages(passage: Passage) -> Iterator[Message]:
    """The messages of a passage, in order; of two that overlap the more particular recognizer's."""
    special = [(start, end, 0, one) for start, end, one in other_messages(passage.squeezed)]
    general = [(start, end, 1, one) for start, end, one in caching_messages(passage.squeezed)]
    taken: list[tuple[int, int, int, Message]] = []
    for found in sorted([*special, *general], key=lambda one: one[:3]):
        if not taken or found[0] >= taken[-1][1]:
            taken.append(found)
        elif found[2] < taken[-1][2]:
            taken[-1] = found
    around = _Surroundings(passage)
    for start, _, _, message in taken:
        if message.states_nothing and is_mere_mention(*around.of(start)):
            continue
        rank = passage.rank if passage.rank is not None else message.rank
        here = replace(message, rank=rank, line=passage.line_at(start))
        yield believed(placed(here, passage, start))


class _Surroundings:
    """What stands around places of a passage, as it is written. A log may be one line with thousands of them."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._lines = passage.raw.split("\n")
        self._letters_of: tuple[int, list[int]] = (-1, [])

    def of(self, position: int) -> tuple[str, str]:
        """What stands before and after a place of the squeezed text: its line, and the one before."""
        at = max(0, bisect_right(self._passage.starts, position) - 1)
        line, left, letters = self._lines[at], position - self._passage.starts[at], self._letters(at)
        offset = letters[left] if left < len(letters) else len(line)
        before = line[max(0, offset - MOST_BEFORE) : offset]
        if offset < MOST_BEFORE and at:
            before = f"{self._lines[at - 1][-MOST_BEFORE:]} {before}"
        return before, line[offset : offset + MOST_AFTER]

    def _letters(self, at: int) -> list[int]:
        """Where the letters of a line stand in it."""
        if self._letters_of[0] != at:
            line = self._lines[at]
            self._letters_of = at, [place for place, letter in enumerate(line) if not SPACES.match(letter)]
        return self._letters_of[1]


def _told(passage: Passage) -> Message | None:
    found = told_in_words(passage.raw, passage.squeezed)
    return None if found is None else placed(replace(found, rank=passage.rank), passage, len(passage.squeezed))


def _told_why(messages: list[Message]) -> list[Message]:
    """Signals are sent for want of the host's memory where something else in the text says that it ran out."""
    says = any(one.kind == "host" and one.out_of == "memory" and not one.killed for one in messages)
    return [replace(one, killed=False) for one in messages] if says else messages


def _once(messages: list[Message]) -> tuple[Message, ...]:
    """Each message once, with how often it is repeated: frameworks print the same error several times."""
    first: dict[Message, Message] = {}
    for message in messages:
        key = replace(message, line=0, repeats=1, instant=None, place="", makes=None, in_warning=False)
        known = first.get(key)
        if known is None:
            first[key] = message
            continue
        better = known if known.place or not message.place else message
        warned = known.in_warning and message.in_warning
        first[key] = replace(better, line=known.line, repeats=known.repeats + 1, in_warning=warned)
    return _without_echoes(tuple(first.values()))


def _without_echoes(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Without messages that state nothing, where another of the same source states something."""
    telling = {message.kind for message in messages if message.asked is not None or message.total is not None}
    speaks = telling & {"cuda", "hip", "xpu", "npu", "hpu"}
    kept = (
        message
        for message in messages
        if message.asked is not None
        or message.total is not None
        or not (message.kind in telling or (speaks and message.kind in _ECHOES))
    )
    return tuple(kept)


def _model_names() -> dict[str, str]:
    """Names of the catalog's models as a text without spaces and capitals writes them, the longest first."""
    return {entry.id.lower(): entry.id for entry in sorted(models(), key=lambda one: -len(one.id))}


def _figures(text: str) -> Iterator[str]:
    """Amounts of memory, with the words around them."""
    words = text.split()
    squeezed = [re.sub(r"[()\[\]~,;]", "", word).lower() for word in words]
    for position, word in enumerate(squeezed):
        pair = word + (squeezed[position + 1] if position + 1 < len(words) else "")
        alone = re.search(AMOUNT + r"(?![a-z])", word)
        if alone or (re.fullmatch(r"[\d.]+", word) and re.fullmatch(r"[\d.]+(?:[kmgt]i?b|bytes)\W*", pair)):
            yield " ".join(words[max(0, position - _WORDS_BEFORE) : position + _WORDS_AFTER])
