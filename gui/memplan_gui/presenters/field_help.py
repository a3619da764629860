"""What a field says of itself, in the form's own words: what it is, its unit, what it takes. Plain Python, no Qt."""

from __future__ import annotations

from collections.abc import Sequence

from memplan import COUNTS_IN_TOKENS, FieldFacts, number

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
    empty = " May be left empty." if may_be_empty and "empty" not in facts.description else ""
    return f"{facts.description} {takes}".rstrip() + empty


def _takes(facts: FieldFacts, choices: Sequence[str]) -> str:
    if facts.kind == "choice":
        return f"One of: {', '.join(choices)}." if len(choices) <= MOST_CHOICES else ""
    if facts.kind == "number":
        return f"In per cent, {_range(facts, 100)}."
    if facts.kind == "names":
        words = ", ".join(facts.choices)
        return f"{words}, or names with commas between them." if words else "Names with commas between them."
    if facts.kind != "whole number":
        return ""
    if facts.unit == "bytes":
        return "An amount of memory, such as 1.5 GiB or 800 MiB."
    of_unit = f" of {facts.unit}" if facts.unit else ""
    forms = f": {COUNTS_IN_TOKENS}" if facts.unit == "tokens" else ""
    return f"A whole number{of_unit}, {_range(facts)}{forms}."


def _range(facts: FieldFacts, times: int = 1) -> str:
    low = facts.minimum if facts.minimum is not None else facts.above
    high = facts.maximum if facts.maximum is not None else facts.below
    words = f"{'above' if facts.minimum is None else 'from'} {number((low or 0) * times)}"
    if high is None:
        return words
    return f"{words} to {'below ' if facts.maximum is None else ''}{number(high * times)}"
