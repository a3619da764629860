"""What the Makefile and the tests run: set-up, the example, the evidence page."""
