"""Paths inside a plan, as errors, edits and forms write them: `scenarios[0].training.micro_batch`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from memplan.errors import PlanError

Part = str | int

_PART = re.compile(r"""(?:^|\.)([^.\[\]"]+)|\[([0-9]{1,9})\]|\["((?:[^"\\]|\\.)*)"\]""")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@lru_cache(maxsize=4096)
def parse_path(path: str) -> tuple[Part, ...]:
    """Read a path into names and positions.

    >>> parse_path("scenarios[0].training.micro_batch")
    ('scenarios', 0, 'training', 'micro_batch')

    Raises:
        PlanError: the text is not a path.
    """
    parts: list[Part] = []
    end = 0
    while found := _PART.match(path, end):
        name, position, quoted = found.groups()
        parts.append(int(position) if position is not None else name if name is not None else _unquoted(quoted))
        end = found.end()
    if not parts or end != len(path):
        raise PlanError(f"{path!r} is not a path; one reads scenarios[0].training.micro_batch.")
    return tuple(parts)


def format_path(parts: Iterable[Part]) -> str:
    """Write names and positions as a path.

    >>> format_path(("scenarios", 0, "training", "odd name"))
    'scenarios[0].training["odd name"]'
    """
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_NAME.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += '["' + part.replace("\\", "\\\\").replace('"', '\\"') + '"]'
    return text


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
