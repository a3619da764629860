"""From an estimate to words, rows and bars. Plain Python: tested without a display."""
