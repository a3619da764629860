"""The language of the window: the first of the person's own that memplan was translated into, else English."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from memplan import MemplanError, install_catalog, resource
from memplan_gui.mistakes import note_handled

if TYPE_CHECKING:
    from gettext import GNUTranslations

WRITTEN_IN = ("en", "C")
"""The language of the code itself, and of a system that was told none."""


def speak(app: QCoreApplication, languages: Sequence[str] | None = None) -> str:
    """Translate what is shown from now on, Qt's own buttons and dialogs too; return the language, "" for English.

    Args:
        app: keeps Qt's translation.
        languages: as the person prefers them, such as "pt-BR"; the system's when none are given.
    """
    for name in QLocale.system().uiLanguages() if languages is None else languages:
        language, _, rest = name.replace("-", "_").partition("_")
        if language in WRITTEN_IN:
            return ""
        for folder in (f"{language}_{rest}", language):
            if (file := catalog_file(folder)) is not None:
                return _speak_as(app, folder, file)
    return ""


def catalog_file(language: str) -> Path | None:
    """The compiled catalog of a language; None where there is none."""
    try:
        return resource("translations", language, "LC_MESSAGES", "memplan.mo")
    except MemplanError:
        return None


def read_catalog(file: Path) -> GNUTranslations:
    """Read a compiled catalog. What is raised by a damaged one depends on where it is damaged."""
    from gettext import GNUTranslations  # few have a catalog, and everybody waits for what is imported

    with file.open("rb") as content:
        return GNUTranslations(content)


def _speak_as(app: QCoreApplication, language: str, file: Path) -> str:
    try:
        install_catalog(read_catalog(file))
    except Exception as error:
        note_handled(error)
        return ""
    translator = QTranslator(app)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(QLocale(language), "qtbase", "_", folder):
        app.installTranslator(translator)
    return language
