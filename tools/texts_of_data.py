"""The texts that data has for itself, each in one place and plain: fields, choices, terms, instants, levers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from memplan import (
    CHOICE_TITLES,
    EXPORT_FORMATS,
    INSTANT_TITLES,
    LEVERS,
    NOTE_TITLES,
    PREFERENCE_TITLES,
    PREFERENCE_WORDS,
    TERMS,
    VERDICT_TITLES,
    Basis,
    FieldFacts,
    Plan,
)
from memplan.choice_titles import TITLES_IN_FIELD
from memplan.diagnose.diagnosis import PART_TITLES
from memplan.plan.field_facts import facts
from memplan_gui.plan_fields import SECTIONS
from memplan_gui.recipes import PRESETS

Text = tuple[str, str, str]
"""The text, the file it stands in, what it is."""

_TITLES: tuple[tuple[Mapping[Any, str], str], ...] = (
    (CHOICE_TITLES, "core/memplan/choice_titles.py"),
    *((titles, "core/memplan/choice_titles.py") for titles in TITLES_IN_FIELD.values()),
    (VERDICT_TITLES, "core/memplan/sentences.py"),
    (INSTANT_TITLES, "core/memplan/result.py"),
    (PREFERENCE_TITLES, "core/memplan/making_fit/preferences.py"),
    (PREFERENCE_WORDS, "core/memplan/making_fit/preferences.py"),
    (NOTE_TITLES, "core/memplan/exchange/notes.py"),
    (PART_TITLES, "core/memplan/diagnose/diagnosis.py"),
)


def texts_of_data() -> Iterator[Text]:
    """Every text that is shown as data has it."""
    yield from _texts_of_fields(Plan, set())
    for titles, file in _TITLES:
        yield from _named(titles, file)
    yield from ((term, "core/memplan/result.py", "a term") for term in TERMS)
    for section in SECTIONS:
        for title in (section.title, *(fold.title for fold in section.folds)):
            yield title, "gui/memplan_gui/plan_fields.py", "a part of the plan panel"
    for preset in PRESETS:
        for text in (preset.title, preset.words, preset.description):
            yield text, "gui/memplan_gui/recipes.py", f"the recipe {preset.title}"
    for basis in get_args(Basis):
        yield basis, "core/memplan/result.py", "a basis"
    for form in EXPORT_FORMATS.values():
        yield form.title, "core/memplan/exchange", "a format to export to"
    for lever in LEVERS:
        for name in ("title", "short", "price", "does", "idle"):
            if text := getattr(lever, name):
                yield text, "core/memplan/levers", f"{name} of the lever {lever.id}"


def _named(titles: Mapping[Any, str], file: str) -> Iterable[Text]:
    return ((title, file, str(name)) for name, title in titles.items())


def _texts_of_fields(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[Text]:
    """Titles, descriptions and units of a model's fields, and of the sections under it."""
    if model in seen:
        return
    seen.add(model)
    file = model.__module__.replace(".", "/")
    for name in model.model_fields:
        found: FieldFacts = facts(model, name)
        for kind in ("title", "description", "unit"):
            if text := getattr(found, kind):
                yield text, f"core/{file}.py", f"{kind} of {name}"
        if found.section is not None:
            yield from _texts_of_fields(found.section, seen)
