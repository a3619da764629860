"""Where the bundled program begins."""

from memplan.cli import main

main()
