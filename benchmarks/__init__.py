"""Speeds of memplan as a person meets them: medians, and ratios to something bare. `python -m benchmarks`."""
