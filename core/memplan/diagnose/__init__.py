"""Out-of-memory messages: read them, say which tensor was asked for and why there was no room, and what would help."""

from __future__ import annotations

from memplan.diagnose.amounts import Amount
from memplan.diagnose.causes import Cause
from memplan.diagnose.diagnosis import CardPart, Diagnosis, LeverHelp, diagnose
from memplan.diagnose.matching import Match
from memplan.diagnose.message import Message, OtherProcess, Reading
from memplan.diagnose.reader import read_message_file, read_message_stream, read_messages
from memplan.diagnose.words import (
    NOTHING_FOUND,
    figures_sentence,
    headline,
    instant_sentence,
    match_words,
    other_matches_sentence,
    source_words,
    stated_rows,
    stated_sentence,
    tensor_sentence,
    unread_sentence,
)

__all__ = [
    "NOTHING_FOUND",
    "Amount",
    "CardPart",
    "Cause",
    "Diagnosis",
    "LeverHelp",
    "Match",
    "Message",
    "OtherProcess",
    "Reading",
    "diagnose",
    "figures_sentence",
    "headline",
    "instant_sentence",
    "match_words",
    "other_matches_sentence",
    "read_message_file",
    "read_message_stream",
    "read_messages",
    "source_words",
    "stated_rows",
    "stated_sentence",
    "tensor_sentence",
    "unread_sentence",
]
