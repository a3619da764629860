"""JSON from people's disks: what it holds, or why it cannot be read, in words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

from memplan.errors import MemplanError
from memplan.number_style import number

MAX_DEPTH = 100
"""Deeper nesting than any plan or model configuration has; readers give up on it at different depths."""


class _RefusedError(ValueError):
    """A value that JSON's reader accepts and this one does not."""


def read_json(data: bytes, *, place: str, error: type[MemplanError]) -> Any:
    """Read JSON to the letter of its standard: no key twice, no NaN, no infinity.

    Args:
        data: the file's bytes, UTF-8; a byte order mark is let pass.
        place: the file's name, for the message.
        error: which error to raise.

    Raises:
        MemplanError: why it cannot be read, with line and column where there are any.
    """
    return _read(data, place, error, on_special=_refuse_special, on_large=_refuse_large, pairs=_unique_keys)


def read_loose_json(data: bytes, *, place: str, error: type[MemplanError]) -> Any:
    """Read JSON as Python programs write it: no key twice; NaN and infinities become `{"__float__": "Infinity"}`.

    Model configurations hold such values (`"time_step_limit": [0.0, Infinity]`); the tagged form is the one that
    transformers 5 writes, and a plan can carry it.
    """

    def large(text: str) -> Any:
        return special("-Infinity" if text.startswith("-") else "Infinity")

    def special(name: str) -> Any:
        return {"__float__": name}

    return _read(data, place, error, on_special=special, on_large=large, pairs=_unique_keys)


def _read(
    data: bytes,
    place: str,
    error: type[MemplanError],
    *,
    on_special: Callable[[str], Any],
    on_large: Callable[[str], Any],
    pairs: Callable[[list[tuple[str, Any]]], Any],
) -> Any:
    def number(text: str) -> Any:
        value = float(text)
        return on_large(text) if math.isinf(value) else value

    text = decoded(data, place, error)
    try:
        value = json.loads(text, parse_constant=on_special, parse_float=number, object_pairs_hook=pairs)
    except RecursionError:
        raise error(_TOO_DEEP, place=place) from None
    except json.JSONDecodeError as problem:
        raise _not_json(problem, text, place, error) from None
    except ValueError as problem:
        message = str(problem) if isinstance(problem, _RefusedError) else "a number has more digits than can be read."
        raise error(message, place=place) from None
    if is_deeper_than(value, MAX_DEPTH):
        raise error(_TOO_DEEP, place=place)
    return value


_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep."


def decoded(data: bytes, place: str, error: type[MemplanError]) -> str:
    """Return the text of a file.

    Raises:
        MemplanError: it is empty, in another encoding, or no text.
    """
    if not data.strip():
        raise error("the file is empty.", place=place)
    if wide := _wide_encoding(data):
        raise error(f"is {wide} text.", place=place, remedy=_SAVE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        where = f"byte {number(problem.start)} is not UTF-8"
        if _CONTROLS.isdisjoint(data):
            message = f"is text in another encoding than UTF-8, such as Latin-1 or Windows-1252 ({where})."
            raise error(message, place=place, remedy=_SAVE) from None
        message = f"is not a text file ({where})."
        raise error(message, place=place, remedy="Check that it is the right file.") from None
    if "\0" in text:
        raise error("is not a text file (it holds zero bytes).", place=place, remedy="Check that it is the right file.")
    return text


_SAVE = "Save it as UTF-8."
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\f\r")
"""Bytes that no text holds in an encoding of one byte a letter."""


def _wide_encoding(data: bytes) -> str | None:
    """UTF-32 or UTF-16, told by their mark or by where the zeros of ASCII letters stand; None for neither."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    begin = data[:_LOOKED_AT]
    for zeros, letters in ((begin[::2], begin[1::2]), (begin[1::2], begin[::2])):
        if zeros and not any(zeros) and all(letters):
            return "UTF-16"
    return None


_LOOKED_AT = 64


def _not_json(problem: json.JSONDecodeError, text: str, place: str, error: type[MemplanError]) -> MemplanError:
    if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated string"):
        return error(
            f"ends in the middle, at line {number(text.count(chr(10)) + 1)}: the file is truncated.",
            place=place,
            remedy="Get it again from where it came.",
        )
    what = f"{problem.msg[0].lower()}{problem.msg[1:]}"
    return error(f"is not JSON: line {number(problem.lineno)}, column {number(problem.colno)}: {what}.", place=place)


def _refuse_special(name: str) -> NoReturn:
    raise _RefusedError(f"holds {name}, which is no number in JSON.")


def _refuse_large(text: str) -> NoReturn:
    raise _RefusedError(f"holds {text[:40]}, which is too large a number.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _RefusedError(f"the key {json.dumps(twice[:40], ensure_ascii=False)} stands twice in one object.")
    return found


def is_deeper_than(value: Any, limit: int) -> bool:
    """Walk level by level: recursion is what must not happen here."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)
