"""What translators are given is what the sources say; what they give back fits it."""

from __future__ import annotations

import re
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from tools import make_translation_template as made

PLACEHOLDER = re.compile(r"\{(\w+)")


def wrong_placeholders(catalog: Catalog) -> list[str]:
    """Translations that name what the code does not fill in, or leave out what it does."""
    found = []
    for message in catalog:
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        texts = message.string if isinstance(message.string, tuple) else (message.string,)
        needed = set(PLACEHOLDER.findall(ids[-1]))
        for text in filter(None, texts if message.id else ()):
            given = set(PLACEHOLDER.findall(text))
            if given != needed and not (len(ids) > 1 and given < needed):
                found.append(f"{ids[-1]!r} became {text!r}")
    return found


def test_the_template_is_up_to_date() -> None:
    assert made.TEMPLATE.read_bytes() == made.template(), "run: python -m tools.make_translation_template"


def test_it_has_texts_of_every_kind() -> None:
    with made.TEMPLATE.open("rb") as file:
        ids = {message.id for message in read_po(file)}
    assert {"&Open…", "Micro-batch", "optimizer states", "Full fine-tune", "Hardware"} <= ids


def test_every_translation_fills_in_what_the_code_gives() -> None:
    for file in made.TEMPLATE.parent.rglob("*.po"):
        with file.open("rb") as content:
            assert wrong_placeholders(read_po(content)) == [], file


def test_every_translation_is_compiled_as_it_is() -> None:
    for file in made.TEMPLATE.parent.rglob("*.po"):
        assert file.with_suffix(".mo").exists(), (
            f"{file} is not compiled: pybabel compile -D memplan -d {file.parents[2]}"
        )


def test_a_placeholder_that_a_translation_makes_up_or_loses_is_seen() -> None:
    catalog = Catalog(locale="de")
    catalog.add("Undo {step}", "{step} zurücknehmen")
    catalog.add("Saved {name}", "{datei} gesichert")
    catalog.add("Exported {name}", "Exportiert")
    catalog.add(("{count} place", "{count} places"), ("eine Stelle", "{count} Stellen"))
    assert wrong_placeholders(catalog) == [
        "'Saved {name}' became '{datei} gesichert'",
        "'Exported {name}' became 'Exportiert'",
    ]


def test_the_template_is_where_the_window_looks_for_languages() -> None:
    assert made.TEMPLATE.parent == Path(__file__).parents[2] / "resources" / "translations"
