"""The verdict in words: what stands in the bar above the chart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memplan import Estimate, Unit, Verdict, basis_sentence, verdict_sentence

ICONS: dict[Verdict, str] = {
    "fits": "verdict-fits",
    "tight": "verdict-tight",
    "does_not_fit": "verdict-does-not-fit",
}
_MARGIN = re.compile(r" \(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class VerdictView:
    """What the bar shows, from loud to quiet."""

    icon: str
    role: str
    """The colour role of icon and word."""
    word: str
    margin: str
    """By how much; empty where the band of the need reaches over the usable line."""
    detail: str
    recipe: str
    basis: str
    basis_sentence: str
    sentence: str
    """The whole verdict, for a screen reader."""


def verdict_view(estimate: Estimate, unit: Unit) -> VerdictView:
    """The verdict on one scenario: the core's sentence, cut where the bar changes its voice."""
    sentence = verdict_sentence(estimate, unit)
    word, _, rest = sentence.partition(": ")
    found = _MARGIN.search(rest)
    detail = _MARGIN.sub("", rest, count=1)
    return VerdictView(
        icon=ICONS[estimate.verdict],
        role=estimate.verdict,
        word=word,
        margin=found[1] if found else "",
        detail=f"{detail[:1].upper()}{detail[1:]} · {estimate.device_name}",
        recipe=recipe_words(estimate),
        basis=estimate.basis,
        basis_sentence=_capital(basis_sentence(estimate)),
        sentence=f"{sentence}.",
    )


def recipe_words(estimate: Estimate) -> str:
    """What the estimate assumed: dtypes, and the bytes per parameter that follow."""
    return _capital(estimate.recipe.text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
