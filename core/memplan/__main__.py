"""`python -m memplan` is the command line."""

from __future__ import annotations

from memplan.cli import main

main()
