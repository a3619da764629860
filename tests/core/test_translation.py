"""A text is translated by the catalog that is installed, and stays as it is without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memplan import install_catalog, tr, tr_later, tr_n, translated


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


@pytest.mark.usefixtures("in_capitals")
def test_nothing_is_translated_to_nothing() -> None:
    """gettext answers the empty text with the catalog's header."""
    assert translated("") == ""
