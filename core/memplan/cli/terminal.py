"""Writing to a terminal, a pipe or a file, whatever characters it can take."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN = {
    "−": "-",
    "–": "-",
    "×": "x",
    "·": "*",
    "…": "...",
    "’": "'",
    "“": '"',
    "”": '"',
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "²": "^2",
    "√": "sqrt",
    "⌈": "ceil(",
    "⌉": ")",
    "⌊": "floor(",
    "⌋": ")",
    "½": "1/2",
    "\u00a0": " ",
    "\u2009": " ",
    "\u202f": " ",
}
"""What stands for the characters that sentences and formulas use, where the terminal lacks them."""


def _plain(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), problem.end


def prepare_streams() -> None:
    """Let standard output and error replace what they cannot encode (an ASCII terminal, an old code page)."""
    codecs.register_error("memplan-plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="memplan-plain")


def console() -> Console:
    """A console on standard output: colours only on a terminal, and only where NO_COLOR is not set."""
    from rich.console import Console

    class QuietConsole(Console):
        """Leaves a broken pipe to the command's end, where every kind of end is decided."""

        def on_broken_pipe(self) -> None:
            raise

    return QuietConsole(highlight=False, soft_wrap=False, emoji=False, markup=False)
