"""How a command ends: with an answer, with an error in words, or quietly when nobody listens any more.

Exit status: 0 all is well, 1 a defect in memplan, 2 bad input (or a search
that finds nothing, or an output that cannot be written), 3 a scenario does not fit, 130 stopped by the keyboard.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import click

from memplan.cli.commands import ReaderGoneError, memplan_command
from memplan.cli.terminal import prepare_streams
from memplan.errors import MemplanError
from memplan.printable import printable, printable_lines

ANSWERED, DEFECT, BAD_INPUT, STOPPED = 0, 1, 2, 130


def run(arguments: Sequence[str]) -> int:
    """Run a command; return the exit status. No traceback reaches a person who did not ask for one."""
    prepare_streams()
    try:
        _refuse_empty(arguments)
        status = memplan_command.main(args=list(arguments), prog_name="memplan", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as problem:
        usage = io.StringIO()
        problem.show(file=usage)
        _tell(usage.getvalue())  # It repeats what was typed.
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return STOPPED
    except (ReaderGoneError, BrokenPipeError):
        _give_up(sys.stdout)
        return ANSWERED
    except MemplanError as problem:
        if _is_debugging(arguments):
            traceback.print_exc()
        _tell(f"memplan: {problem}")
        return BAD_INPUT
    except OSError as problem:
        # Files are read and written in words of their own; what is left is the output itself.
        if _is_debugging(arguments):
            traceback.print_exc()
        _give_up(sys.stdout)
        words = (problem.strerror or type(problem).__name__).lower()
        _tell(f"memplan: the output cannot be written: {words}.")
        return BAD_INPUT
    except Exception as problem:
        if _is_debugging(arguments):
            traceback.print_exc()
            return DEFECT
        what = printable(f"{type(problem).__name__}: {problem}".splitlines()[0][:200])
        _tell(
            f"memplan: this is a defect in memplan ({what}). Report it together with the plan and what "
            "`memplan --debug` with the same arguments prints."
        )
        return DEFECT


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse what is empty: as a path it would be the folder at hand, which is what an unset variable comes to.

    Raises:
        MemplanError: an argument is empty, and where it stands. Searches of the catalog may have no words.
    """
    if "catalog" in arguments[:2]:
        return
    for position, argument in enumerate(arguments):
        option, sign, value = argument.partition("=")
        if sign and option.startswith("--") and not value.strip():
            place = option
        elif argument.strip():
            continue
        else:
            before = arguments[position - 1] if position else ""
            place = before if before.startswith("-") and before != "-" else ""
        remedy = "Give a name, or leave it out: a variable of the shell may be unset."
        raise MemplanError("an argument is empty.", place=place, remedy=remedy)


def _is_debugging(arguments: Sequence[str]) -> bool:
    return bool(arguments and arguments[0] == "--debug") or os.environ.get("MEMPLAN_DEBUG", "0") not in ("", "0")


def _tell(words: str) -> None:
    """Say what went wrong; where that cannot be written either, the exit status still says it."""
    try:
        click.echo(printable_lines(words), err=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Nobody takes the rest (`head` has gone away, the disk is full): Python must not try again when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
