"""The command line: `memplan` opens the window, everything else works with no Qt installed."""

from __future__ import annotations

import sys

from memplan.cli.ending import run


def main() -> None:
    """Run the command line on this process's arguments, and end the process with the command's status."""
    sys.exit(run(sys.argv[1:]))
