"""Scenarios as trainers' configurations: each format's writer, what it cannot say, and the estimate as a comment.

What a format cannot say is found by reading the file back: whatever then differs from the scenario was not said.
"""

from memplan.exchange.export.exporting import EXPORT_FORMATS, Exported, export_scenario

__all__ = ["EXPORT_FORMATS", "Exported", "export_scenario"]
