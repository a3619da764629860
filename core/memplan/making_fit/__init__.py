"""Making a plan fit: the least costly set of levers, within what a person wants to keep."""

from __future__ import annotations

from memplan.making_fit.candidate import Candidate, Use
from memplan.making_fit.each_device import cheapest_on_each
from memplan.making_fit.preferences import PREFERENCE_TITLES, PREFERENCE_WORDS, PREFERENCES, Preferences
from memplan.making_fit.proposal import Freed, Proposal, Remedy, make_fit, making_fit
from memplan.making_fit.waterfall import Fall, waterfall
from memplan.making_fit.words import need_words, proposal_sentence, remedy_words, uses_words

__all__ = [
    "PREFERENCES",
    "PREFERENCE_TITLES",
    "PREFERENCE_WORDS",
    "Candidate",
    "Fall",
    "Freed",
    "Preferences",
    "Proposal",
    "Remedy",
    "Use",
    "cheapest_on_each",
    "make_fit",
    "making_fit",
    "need_words",
    "proposal_sentence",
    "remedy_words",
    "uses_words",
    "waterfall",
]
