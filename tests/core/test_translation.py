"""A text is translated by the catalog that is installed, and stays as it is without one."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

from memplan import (
    EXPORT_FORMATS,
    Scenario,
    estimate,
    export_scenario,
    install_catalog,
    number,
    once_a_style,
    tr,
    tr_later,
    tr_n,
    translated,
    verdict_sentence,
)
from memplan.translation import in_english


class Upper:
    """A language of capitals."""

    def gettext(self, message: str) -> str:
        return message.upper() or "the catalog's own header"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return (msgid1 if n == 1 else msgid2).upper()


@pytest.fixture
def in_capitals() -> Iterator[None]:
    install_catalog(Upper())
    yield
    install_catalog(None)


def test_without_a_catalog_texts_stay() -> None:
    assert tr("Undo {step}").format(step="x") == "Undo x"
    assert [tr_n("{count} way", "{count} ways", n) for n in (0, 1, 2)] == [
        "{count} ways",
        "{count} way",
        "{count} ways",
    ]
    assert translated(tr_later("Later")) == "Later"


@pytest.mark.usefixtures("in_capitals")
def test_a_catalog_translates_and_what_is_marked_waits_for_it() -> None:
    assert tr("Undo") == "UNDO"
    assert tr_n("one way", "ways", 2) == "WAYS"
    assert (tr_later("Later"), translated(tr_later("Later"))) == ("Later", "LATER")


def test_words_that_are_remembered_know_of_a_change_of_language() -> None:
    words = once_a_style(lambda count: f"{number(count)} {tr('tokens')}")
    assert words(4096) == "4,096 tokens"
    install_catalog(Upper())
    try:
        assert words(4096) == "4,096 TOKENS"
        with in_english():
            assert words(4096) == "4,096 tokens"
    finally:
        install_catalog(None)
    assert words(4096) == "4,096 tokens"


@pytest.mark.usefixtures("in_capitals")
def test_nothing_is_translated_to_nothing() -> None:
    """gettext answers the empty text with the catalog's header."""
    assert translated("") == ""


class Marked(Upper):
    """A language that marks each text and keeps what stands in braces."""

    def gettext(self, message: str) -> str:
        return f"»{message}"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"»{msgid1 if n == 1 else msgid2}"


@pytest.mark.parametrize("format_id", EXPORT_FORMATS)
def test_an_exported_configuration_is_in_english(in_capitals: None, format_id: str) -> None:
    """Other persons read it, and other programs: it says what the command line says."""
    lora = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": {"method": "lora"}})
    install_catalog(Marked())
    assert "»" in verdict_sentence(estimate(lora)), "the language is in force elsewhere"
    assert "»" not in export_scenario(lora, format_id).text


@pytest.mark.usefixtures("in_capitals")
def test_english_of_one_thread_is_not_that_of_another() -> None:
    said: list[str] = []
    with in_english():
        other = Thread(target=lambda: said.append(tr("Undo")))
        other.start()
        other.join()
        said.append(tr("Undo"))
    assert said == ["UNDO", "Undo"]
