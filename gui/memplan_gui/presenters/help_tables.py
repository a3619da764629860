"""Tables of Help that are worked out, so that they cannot say anything else than memplan does. Markdown, no Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memplan import (
    LEVERS,
    PREFERENCE_TITLES,
    Estimate,
    Lever,
    Scenario,
    TermName,
    choice_title,
    estimate,
    facts_at,
    number,
)
from memplan_gui.recipes import PRESETS

BILLION = 1_000_000_000
OPTIMIZERS_OF = "meta-llama/Llama-3.1-8B"
"""The model whose tensors the table of optimizers is counted for."""
STATES: tuple[TermName, ...] = ("weights", "gradients", "master weights", "optimizer states")
NOTHING_CHANGES = "What is learnt stays as it is"
LEVER_GROUPS = (
    (NOTHING_CHANGES, ()),
    ("Other numbers", ("precision", "optimizer")),
    ("Another training", ("method", "sequence_length", "effective_batch")),
    ("Elsewhere", ("devices", "host")),
)
"""Levers by what a person may want to keep, and would not with them."""


def recipe_table() -> str:
    """Bytes of each state for a parameter, by recipe: of a size alone, which has no tensors to round."""
    rows = []
    for preset in PRESETS:
        held = _bytes(_estimated({"parameters": BILLION}, dict(preset.values)))
        rows.append((preset.title, *(_figure(held[term]) for term in STATES), _figure(sum(held.values()))))
    table = _table(("recipe", *STATES, "in all"), rows)
    about = "\n".join(f"- **{preset.title}.** {preset.description}" for preset in PRESETS)
    return f"{table}\n\n{about}"


def optimizer_table() -> str:
    """Bytes of states for a parameter that trains, by optimizer, under 16-bit and under fp32 weights."""
    rows = []
    for optimizer in facts_at(Scenario, "training.optimizer").choices:
        found = [_states_of(optimizer, weights) for weights in ("bf16", "fp32")]
        rows.append((choice_title("optimizer", optimizer), *(_figure(one) for one in found)))
    return _table(("optimizer", "bf16 weights", "fp32 weights"), rows)


def lever_sections() -> str:
    """Every lever in the words that it has for itself."""
    parts = []
    for title, kept in LEVER_GROUPS:
        levers = [lever for lever in LEVERS if (lever.changes_what in kept if kept else lever.changes_what is None)]
        parts += [f"## {title}", *(_lever(lever) for lever in levers)]
    return "\n\n".join(parts)


def shortcut_table(shortcuts: Sequence[tuple[str, str, str]]) -> str:
    """The commands of the menus with their keys, menu by menu."""
    menus = dict.fromkeys(menu for menu, _, _ in shortcuts)
    return "\n\n".join(
        f"## {menu}\n\n" + _table(("command", "keys"), [row[1:] for row in shortcuts if row[0] == menu])
        for menu in menus
    )


def _lever(lever: Lever) -> str:
    lines = [
        f"### {lever.title}",
        "",
        lever.does,
        "",
        f"- **Price**: {lever.price}",
        f"- **Does not help**: {lever.idle}",
    ]
    if lever.changes_what is not None:
        lines.append(f"- **Make it fit** leaves it out where “{PREFERENCE_TITLES[lever.changes_what]}” must stay.")
    lines.append(f"- **Source**: {lever.source}")
    return "\n".join(lines)


def _states_of(optimizer: str, weights: str) -> float:
    found = _estimated(
        {"catalog": OPTIMIZERS_OF}, {"optimizer": optimizer, "weights_dtype": weights, "sequence_length": 128}
    )
    return _term(found, "optimizer states") / found.parameters.total


def _estimated(model: Mapping[str, Any], training: Mapping[str, Any]) -> Estimate:
    return estimate(Scenario.model_validate({"model": model, "training": training}))


def _bytes(found: Estimate) -> dict[TermName, float]:
    return {term: _term(found, term) / BILLION for term in STATES}


def _term(found: Estimate, name: TermName) -> int:
    return next((term.largest_bytes for term in found.terms if term.name == name), 0)


def _figure(value: float) -> str:
    """Three decimals at most, none where they say nothing.

    >>> _figure(2.0), _figure(2.0312), _figure(0.0), _figure(0.0004)
    ('2', '2.03', '0', 'about 0')
    """
    if 0 < value < 0.005:
        return "about 0"
    return number(value, ".3g")


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)] if len(titles) > 2 else ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
