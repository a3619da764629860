"""Which memplan this is, and how its files end: what can be known without loading anything."""

from __future__ import annotations

__version__ = "0.1.0"

PLAN_SUFFIX = ".memplan"
