"""Writing to a terminal, a pipe or a file, whatever characters it can take."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TYPE_CHECKING, Any

from memplan.errors import MemplanError
from memplan.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

LEAST_COLUMNS = 20
"""Lines are never broken into less: an amount with its unit has room."""

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


class ClosedOutput(io.TextIOBase):
    """Stands for a standard output that whoever started the command has closed: who writes to it is told."""

    def write(self, text: str) -> int:
        """Refuse."""
        raise MemplanError(
            "standard output is closed, so there is nowhere to print to.",
            remedy="Leave it open, or send it to a file: memplan … > FILE.",
        )


def prepare_streams() -> None:
    """Let standard output and error replace what they cannot encode (an ASCII terminal, an old code page)."""
    codecs.register_error("memplan-plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="memplan-plain")
    if sys.stdout is None:
        sys.stdout = ClosedOutput()


def plain_text(words: str, style: str = "") -> Text:
    """Words from anywhere, as they may stand on a terminal: on one line, without control characters."""
    from rich.text import Text

    return Text(printable(words), style=style)


def console() -> Console:
    """A console on standard output: colours only on a terminal, and only where NO_COLOR is not set."""
    from rich.console import Console

    class QuietConsole(Console):
        """Leaves a broken pipe to the command's end, where every kind of end is decided."""

        def on_broken_pipe(self) -> None:
            raise

        def render_str(self, text: str, **options: Any) -> Text:
            """Every string passes here on its way to the terminal, those of tables too."""
            return super().render_str(printable(text), **options)

    made = QuietConsole(highlight=False, soft_wrap=False, emoji=False, markup=False)
    # A terminal that says it has no columns does not know: rich itself takes 80 for what is no terminal.
    made.width = max(LEAST_COLUMNS, made.width) if made.width else 80
    return made
