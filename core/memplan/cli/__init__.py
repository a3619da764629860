"""The command line: `memplan` opens the window, everything else works with no Qt installed."""

from __future__ import annotations

import sys

from memplan.version import PLAN_SUFFIX


def main() -> None:
    """Run the command line on this process's arguments, and end the process with the command's status."""
    arguments = sys.argv[1:]
    if not arguments or (len(arguments) == 1 and arguments[0].endswith(PLAN_SUFFIX)):
        # The window's first picture waits for everything that is loaded here: no commands, no options, no plan.
        from memplan.cli.window import run_window

        sys.exit(run_window(*arguments))
    from memplan.cli.ending import run

    sys.exit(run(arguments))
