"""Passages of a text that may hold a message, cleaned: from a pasted line to a log of hundreds of megabytes.

A log is searched for a few words as it streams by; only what stands around them is read. What comes out has no spaces
and no capitals, because terminals, logs and readers of pictures break messages anywhere, even inside a number.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memplan.errors import MemplanError
from memplan.units import KIB, MIB

WHOLE_BYTES = 512 * KIB
"""A text up to this size is read whole, whatever it says."""
MOST_BYTES = MIB
"""So much of a longer one is read; what looks like more of the same after that is counted."""
BEFORE, AFTER = 6 * KIB, 6 * KIB
"""What is read around a word: a traceback stands before, a message of many lines after."""
_ANCHORS = (
    b"ut of memory",
    b"OutOfMemory",
    b"to allocate",
    b"xhausted",
    b"XHAUSTED",
    b"Insufficient Memory",
    b"Resource limit",
    b"allocating tensor",
    b"ALLOC_FAILED",
    b"MemoryError",
    b"oom_kill",
    b"oom-kill",
    b"exitcode: -9",
    b"return code = -9",
    b"OOMKilled",
    b"executable batch size",
    b"CUDA calloc",
    b"rtMalloc failed",
    b"by signal: Killed",
    b"us error",
    b"PT_DEVMEM",
    b"WinError 1455",
    b"unable to mmap",
    b"memory on node",
)

_STRIDE = 64
"""Words nearer to one another than this belong to one message."""
_LINE_BYTES = 4 * KIB
_CONTROLS = bytes(one for one in range(32) if one not in b"\t\n\v\f\r\b\x1b")

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0e-\x1f\x7f]")
_PROGRESS = re.compile(r"\d{1,3}%\|[^|\n]*\|[^\[\n]{0,40}(?:\[[^\]\n]*\])?")
_RANK = re.compile(
    r"\s*(?:\[(?:rank|default|worker)\s*:?\s*(\d{1,6})\]:?|\[\d+,(\d{1,6})\]<std\w+>:|rank\s?(\d{1,6})\s*:|(\d{1,4}):\s)",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"\s*(?:>\s|[│┃]\s?|\([\w.:\- ]*pid=\d+[^)]*\)|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:Z+]*\]?\s|[\w.\-]+\s+\|\s)"
)
SPACES = re.compile(r"\s+|[│┃]")
"""What is left out of a squeezed text."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A cleaned part of a text, of one rank where lines say whose they are."""

    squeezed: str
    """Without spaces, in lower case."""
    raw: str
    """As it stands, without escapes and prefixes."""
    rank: int | None
    starts: tuple[int, ...]
    """Where each line begins in `squeezed`."""
    lines: tuple[int, ...]
    """The number of each line in the whole text, from 1."""

    def line_at(self, position: int) -> int:
        """The line of the whole text in which a place of `squeezed` stands."""
        return self.lines[max(0, bisect_right(self.starts, position) - 1)] if self.lines else 1


@dataclass(slots=True)
class Skipped:
    """Counts places that were passed over."""

    places: int = 0


def passages(chunks: Iterable[bytes], skipped: Skipped) -> Iterator[Passage]:
    """Find what may hold a message.

    Raises:
        MemplanError: the bytes are not text.
    """
    for first_line, data in _windows(_as_utf8(chunks), skipped):
        yield from cleaned(data.decode("utf-8", "replace"), first_line)


def cleaned(text: str, first_line: int = 1) -> Iterator[Passage]:
    """Clean a text, and part it by the ranks that wrote it. What has no rank goes on from the line before."""
    by_rank: dict[int | None, list[tuple[int, str]]] = {}
    rank: int | None = None
    for number, line in enumerate(re.split(r"\r\n|\n|\r(?!\n)", text), first_line):
        found, bare = _without_prefix(_PROGRESS.sub(" ", _ESCAPES.sub("", line)))
        rank = found if found is not None else rank
        by_rank.setdefault(rank, []).append((number, bare))
    for whose, its_lines in by_rank.items():
        squeezed, starts, length = [], [], 0
        for _, line in its_lines:
            part = SPACES.sub("", line).lower()
            squeezed.append(part)
            starts.append(length)
            length += len(part)
        raw = "\n".join(line for _, line in its_lines)
        yield Passage("".join(squeezed), raw, whose, tuple(starts), tuple(number for number, _ in its_lines))


def _without_prefix(line: str) -> tuple[int | None, str]:
    """A line without what programs put before it, and the rank that one of them named."""
    rank = None
    for _ in range(4):
        if found := _RANK.match(line):
            rank = int(next(group for group in found.groups() if group))
        elif not (found := _PREFIX.match(line)):
            break
        line = line[found.end() :]
    return rank, line


def _windows(chunks: Iterator[bytes], skipped: Skipped) -> Iterator[tuple[int, bytes]]:
    """The parts around the words that matter, each with the number of its first line; a short text as one."""
    log, is_short = _Log(skipped), True
    for chunk in chunks:
        log.held += chunk
        if is_short and len(log.held) <= WHOLE_BYTES:
            continue
        is_short = False
        yield from log.windows(len(log.held) - AFTER)
    if is_short:
        yield 1, log.held
    else:
        yield from log.windows(len(log.held))


@dataclass(slots=True)
class _Log:
    """A long text as it comes: what is held of it, and how far it was searched."""

    skipped: Skipped
    held: bytes = b""
    line: int = 1
    searched: int = 0
    """Up to here in `held`, nothing is left to find."""
    taken: int = 0

    def windows(self, limit: int) -> Iterator[tuple[int, bytes]]:
        """Search up to a limit, and let go of what will not be needed."""
        if limit <= self.searched:
            return
        if self.taken >= MOST_BYTES:
            self.skipped.places += self.held.count(_ANCHORS[0], self.searched, limit)
            self.searched = limit
        for start, end in self._spans(limit):
            if self.taken < MOST_BYTES:
                self.taken += end - start
                yield self.line + self.held.count(b"\n", 0, start), self.held[start:end]
            else:
                self.skipped.places += self.held.count(_ANCHORS[0], start, end)
            self.searched = end
        self.searched = max(self.searched, limit)
        gone = max(0, min(limit, self.searched) - BEFORE - _LINE_BYTES)
        self.line += self.held.count(b"\n", 0, gone)
        self.held, self.searched = self.held[gone:], self.searched - gone

    def _spans(self, limit: int) -> list[tuple[int, int]]:
        """Places around the words that matter, by whole lines where lines are of a usual length; none twice."""
        spans: list[tuple[int, int]] = []
        least, data = self.searched, self.held
        for place in sorted(self._places(limit)):
            if place < least:
                continue
            start, end = max(self.searched, place - BEFORE), min(len(data), place + AFTER)
            start = max(self.searched, data.rfind(b"\n", start - _LINE_BYTES, start) + 1 or start) if start else 0
            after = data.find(b"\n", end, end + _LINE_BYTES)
            end = end if after < 0 else after
            if spans and start <= spans[-1][1] and spans[-1][1] - spans[-1][0] < WHOLE_BYTES:
                start = spans.pop()[0]
            elif spans:
                start = max(start, spans[-1][1])
            spans.append((start, end))
            least = place + 1 if end - start < WHOLE_BYTES else end
        return spans

    def _places(self, limit: int) -> set[int]:
        found: set[int] = set()
        for word in _ANCHORS:
            place = self.held.find(word, self.searched)
            while 0 <= place < limit:
                found.add(place)
                place = self.held.find(word, place + _STRIDE)
        return found


def _as_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text as UTF-8; Windows' shells write UTF-16.

    Raises:
        MemplanError: it is no text.
    """
    decoder: codecs.IncrementalDecoder | None = None
    for number, chunk in enumerate(chunks):
        if number == 0:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
            name = _utf16_of(chunk)
            if name:
                decoder = codecs.getincrementaldecoder(name)("replace")
            else:
                _refuse_binary(chunk[: 64 * KIB])
        yield decoder.decode(chunk).lstrip("\ufeff").encode("utf-8", "replace") if decoder else chunk


def _utf16_of(data: bytes) -> str:
    """The form of UTF-16, by its mark or by every other byte being zero; empty for anything else."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if data[0] == 0xFF else "utf-16-be"
    head = data[:400]
    if len(head) >= 8 and not any(head[0::2]) and all(head[1::2]):
        return "utf-16-be"
    return "utf-16-le" if len(head) >= 8 and all(head[0::2]) and not any(head[1::2]) else ""


_MAGIC = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "compressed (gzip)",
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "compressed (zstd)",
}


def _refuse_binary(head: bytes) -> None:
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            remedy = "Paste the text that it shows." if "picture" in what else "Take the text out of it first."
            raise MemplanError(f"is {what}, not text.", remedy=remedy)
    odd = len(head) - len(head.translate(None, _CONTROLS))
    if odd > len(head) // 20:
        raise MemplanError("is not text.", remedy="Give the log, or the message itself.")
