"""Marks for the benchmark of the start: lines on standard error when MEMPLAN_MARKS=1 asks for them."""

from __future__ import annotations

import os
import sys
import time


def mark(name: str) -> None:
    """Say that the start has come this far, and what it took of the processors: `mark first_paint 0.21`."""
    if os.environ.get("MEMPLAN_MARKS") == "1":
        sys.stderr.write(f"mark {name} {time.process_time():.4f}\n")
        sys.stderr.flush()


def exit_when_painted() -> bool:
    """Whether the benchmark wants the window to close as soon as all is painted."""
    return os.environ.get("MEMPLAN_EXIT_WHEN_PAINTED") == "1"
