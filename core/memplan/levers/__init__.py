"""Levers: changes a person can make to a scenario, what each saves now, and what it costs."""

from __future__ import annotations

from memplan.levers.known import LEVERS
from memplan.levers.lever import Lever
from memplan.levers.offers import LeverOffer, lever_offers

__all__ = ["LEVERS", "Lever", "LeverOffer", "lever_offers"]
