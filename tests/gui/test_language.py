"""The window speaks the first language of the person's own that there is a catalog for, else English."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QApplication, QDialogButtonBox
from pytestqt.qtbot import QtBot

from memplan import MemplanError, install_catalog, tr
from memplan_gui import language


def compiled(**texts: str) -> bytes:
    catalog = Catalog(locale="de")
    for text, german in texts.items():
        catalog.add(text, german)
    written = io.BytesIO()
    write_mo(written, catalog)
    return written.getvalue()


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qapp: QApplication) -> Iterator[Path]:
    """An installation with a German catalog; its file."""
    file = tmp_path / "de" / "memplan.mo"
    file.parent.mkdir()
    file.write_bytes(compiled(Undo="Zurück"))

    def resource(*parts: str) -> Path:
        path = tmp_path / parts[1] / parts[-1]
        if not path.exists():
            raise MemplanError("is missing.")
        return path

    monkeypatch.setattr(language, "resource", resource)
    yield file
    install_catalog(None)
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(
    ("preferred", "spoken"),
    [
        (["de-DE", "de", "en"], "de"),
        (["fr-FR", "de-AT"], "de"),
        (["en-GB", "de"], ""),  # English is what the code is written in: it comes first here
        (["fr"], ""),
        (["C"], ""),
        ([], ""),
    ],
)
def test_the_first_language_that_is_there_is_spoken(qapp: QApplication, preferred: list[str], spoken: str) -> None:
    assert language.speak(qapp, preferred) == spoken
    assert tr("Undo") == ("Zurück" if spoken else "Undo")


@pytest.mark.usefixtures("german")
def test_qt_speaks_it_too(qapp: QApplication, qtbot: QtBot) -> None:
    language.speak(qapp, ["de"])
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    qtbot.addWidget(buttons)
    assert buttons.buttons()[0].text() == "Abbrechen"


def test_a_damaged_catalog_leaves_english(qapp: QApplication, german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    german.write_bytes(german.read_bytes()[:30])
    assert language.speak(qapp, ["de"]) == ""
    assert tr("Undo") == "Undo"


def test_without_translations_english_is_spoken(qapp: QApplication) -> None:
    assert language.speak(qapp, ["xx-XX"]) == ""
