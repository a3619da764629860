"""Telling a run that ran out of memory from a line that only speaks of it: advice, code, a negation, a count of none.

Only messages without a figure are asked about: who states how much was asked for did not just mention it.
"""

from __future__ import annotations

import re

SAYS = re.compile(r"\bOOM(?:s|'d|ed)?\b|\bout[ -]of[ -]memory\b", re.IGNORECASE)
"""How a person says it."""

_BETWEEN = (
    r"(?:\s+(?:an?|any|more|further|the|longer|single|new|such|real|really|yet|ever|going|go|goes|to|run|runs|ran|running"
    r"|be|been|being|see|seen|seeing|get|gets|got|getting|gone|hit|hits|have|had|cause|causes|lead|leads|result|in"
    r"|trigger|throw|raise|frequent|potential|possible|sudden|cuda|gpu|hip|xpu|npu|mps|xla|host|device|driver|system|cpu"
    r"|torch\.(?:cuda\.)?|error:?))*"
)
"""What may stand between the word that takes it back and the word itself."""
_BEFORE = re.compile(
    r"(?:"
    r"\b(?:no|not|never|without|neither|nor|isn't|wasn't|aren't|didn't|doesn't|don't|won't|hasn't|haven't|zero)"
    r"|\b(?:avoid|prevent|handl|catch|reduc)(?:s|es|e|ed|ing)?"
    r"|\b(?:against|for debugging|in case of|instead of|rather than)"
    r"|\b(?:risk|chance|danger|likelihood|signs?) of|\bprone to|\b(?:may|might|could|can|would|will|should)"
    r"|\bif\b(?!\s+i\b)(?:\s+[\w']+){0,3}|\bexcept|\bimport|\bclass|\bisinstance\([^)\n]*|\bretry(?:ing)? on"
    rf"){_BETWEEN}[\s(\"'`*:]*(?:torch\.)?(?:cuda\.)?$",
    re.IGNORECASE,
)
_ITSELF = r"^(?:oom(?:s|'d|ed)?\b|[\w.]*out[ -]?of[ -]?memory(?:error)?|memoryerror|resource_?exhausted(?:error)?)"
_AFTER = re.compile(
    rf"{_ITSELF}[\s-]*"
    r"(?:[\"'`]+\s*(?:not\s+)?(?:in|==|!=)\s"
    r"|(?:killer|handl\w+|protect\w+|prevent\w+|detect\w+|guards?|checks?|safe\w*|tests?|score\w*|adj\w*|policy|counter)\b"
    r"|(?:errors?|exceptions?|problems?|issues?|situations?)?\s*(?:can|may|might|could|would|should|will)\b"
    r"|(?:errors?|events?|count)?\s*[:=]?\s*(?:0|none|no|false|off|disabled|never)\b(?![.,]\d)"
    r"|(?:errors?|exceptions?|problems?|issues?)?\s*(?:is|are|was|were|has been|have been)\s+"
    r"(?:not\b|avoided|prevented|handled|caught|fixed|gone))",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.;!?]\s+|\n")
MOST_BEFORE, MOST_AFTER = 160, 400
"""So many letters around the words say what they are there for."""


def is_mere_mention(before: str, after: str) -> bool:
    """Whether a text only speaks of running out of memory.

    Args:
        before: what stands before the words, the line before them included.
        after: the words themselves, and what stands behind them.

    >>> is_mere_mention("No ", "out of memory here"), is_mere_mention("RuntimeError: CUDA ", "out of memory.")
    (True, False)
    """
    sentence = _SENTENCE_END.split(before[-MOST_BEFORE:])[-1]
    if "://" in (sentence.split() or [""])[-1] and not sentence[-1:].isspace():
        return True  # a part of an address
    if re.search(r"\binvoked\s*$", sentence, re.IGNORECASE):
        return False  # the kernel: "python invoked oom-killer"
    return bool(_BEFORE.search(sentence) or _AFTER.match(after))


def person_says(raw: str) -> bool:
    """Whether a text says, in a person's words, that a run ended for want of memory."""
    places = (found.start() for found in SAYS.finditer(raw))
    return any(not is_mere_mention(raw[max(0, at - MOST_BEFORE) : at], raw[at : at + MOST_AFTER]) for at in places)
