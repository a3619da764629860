"""What a field says of itself, in the form's own words: what it is, its unit, what it takes. Plain Python, no Qt."""

from __future__ import annotations

from collections.abc import Sequence

from memplan import FieldFacts, count_forms, number, tr, translated

MOST_CHOICES = 9
"""Of more, a list is quicker to read in the field itself."""


def field_help(facts: FieldFacts, choices: Sequence[str] = ()) -> str:
    """The field's description, and what can be typed or chosen.

    Args:
        facts: the field's own.
        choices: as the form calls them, for a field that has some.

    >>> from memplan import Scenario, facts_at
    >>> field_help(facts_at(Scenario, "hardware.headroom"))
    'Fraction of the device left free on purpose. In per cent, from 0 to below 100.'
    """
    takes = _takes(facts, choices)
    may_be_empty = facts.optional and facts.kind in ("whole number", "number", "text")
    empty = tr("May be left empty.") if may_be_empty and "empty" not in facts.description else ""
    return " ".join(filter(None, (translated(facts.description), takes, empty)))


def _takes(facts: FieldFacts, choices: Sequence[str]) -> str:
    if facts.kind == "choice":
        return tr("One of: {choices}.").format(choices=", ".join(choices)) if len(choices) <= MOST_CHOICES else ""
    if facts.kind == "number":
        return tr("In per cent, {range}.").format(range=_range(facts, 100))
    if facts.kind == "names":
        words = ", ".join(facts.choices)
        some = tr("{words}, or names with commas between them.").format(words=words)
        return some if words else tr("Names with commas between them.")
    if facts.kind != "whole number":
        return ""
    if facts.unit == "bytes":
        return tr("An amount of memory, such as {example} GiB or 800 MiB.").format(example=number(1.5, ".1f"))
    if facts.unit == "tokens":
        words = tr("A whole number of tokens, {range}: {forms}.")
        return words.format(range=_range(facts), forms=count_forms(facts.unit))
    words = tr("A whole number of {unit}, {range}.") if facts.unit else tr("A whole number, {range}.")
    return words.format(unit=translated(facts.unit), range=_range(facts))


def _range(facts: FieldFacts, times: int = 1) -> str:
    low = facts.minimum if facts.minimum is not None else facts.above
    high = facts.maximum if facts.maximum is not None else facts.below
    if high is None:
        words = tr("above {low}") if facts.minimum is None else tr("from {low}")
    elif facts.maximum is None:
        words = tr("above {low} to below {high}") if facts.minimum is None else tr("from {low} to below {high}")
    else:
        words = tr("above {low} to {high}") if facts.minimum is None else tr("from {low} to {high}")
    return words.format(low=number((low or 0) * times), high=number((high or 0) * times))
