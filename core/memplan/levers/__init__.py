"""Levers: changes a person can make to a scenario, what each saves now, and what it costs."""

from __future__ import annotations

from memplan.levers.known import LEVERS
from memplan.levers.lever import Lever, Preference
from memplan.levers.links import Links, links_of
from memplan.levers.offers import LeverOffer, each_offer, lever_offers, useful_offers
from memplan.levers.pace import Pass, Work, cached_keys, kept_on_host, slowdown, work_of
from memplan.levers.same_result import has_flash

__all__ = [
    "LEVERS",
    "Lever",
    "LeverOffer",
    "Links",
    "Pass",
    "Preference",
    "Work",
    "cached_keys",
    "each_offer",
    "has_flash",
    "kept_on_host",
    "lever_offers",
    "links_of",
    "slowdown",
    "useful_offers",
    "work_of",
]
