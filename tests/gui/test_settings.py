"""Settings that are broken, foreign or of a newer memplan: what can be read is, the rest is the default, and all opens."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QByteArray, QPoint, QRect, QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import PREFERENCES, save_plan
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.first_plan import example_plan
from memplan_gui.screen_room import within_screen
from memplan_gui.settings import MOST_RECENT, Settings
from memplan_gui.theme import Theme
from memplan_gui.window import LEAST_SIZE, Window

OpenOn = Callable[[Path], Window]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.ini"


@pytest.fixture
def open_on(qtbot: QtBot, theme: Theme) -> OpenOn:
    """Opens the whole window on a file of settings, as it stands there."""

    def open_one(file: Path) -> Window:
        window = Window(theme, Settings(file))
        qtbot.addWidget(window, before_close_func=lambda opened: opened.document.undo_stack.setClean())
        window.show()
        window.fill(PlanDocument(example_plan()))
        window.load_chart()
        window.answers.finish()
        for title in ("Fit", "Make it fit", "Memory"):  # those that remember something
            window.answer_panel.views.show_view(title)
            QApplication.processEvents()
        return window

    return open_one


def is_on_screen(window: Window) -> bool:
    screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    return any(screen.intersects(window.frameGeometry()) for screen in screens)


GARBAGE = {
    "empty": b"",
    "text": b"this is no file of settings",
    "zeros": bytes(1000),
    "binary": bytes(range(256)) * 4,
    "cut": b"[General]\ntheme=dar",
    "a plan": b'{"memplan": 1, "scenarios": []}',
    "brackets": b"[[[[\n=\n==\n[General\ntheme\n=dark\n%%%\n",
    "variants": b"[General]\ntheme=@Variant(\\0\\0\\0\\x7f\\0\\0)\nrecent=@Variant(garbage)\nunit=@ByteArray(\\xff)\n"
    b"favourites=@Size(1 2)\nkept=@Rect(0 0 1 1)\n[window]\ngeometry=@Variant(\\0\\0\\0\\b\\0)\nviews=@ByteArray(\\0\\xff)\n",
    "deep": b"[" + b"a/" * 5000 + b"]\nb=c\n",
}


@pytest.mark.qt_log_ignore("QVariant::load", "instance of an invalid type", extend=True)
@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE)
def test_a_garbage_file_opens_with_defaults(file: Path, content: bytes, qapp: QApplication) -> None:
    file.write_bytes(content)
    settings = Settings(file)
    assert settings.theme in ("system", "dark")
    assert settings.unit == "gib"
    assert settings.recent in ([], [Path("@Variant(garbage)")])
    assert settings.knows_the_window is False
    settings.theme = "dark"
    settings.add_recent(file.with_name("p.memplan"))
    settings.save()
    again = Settings(file)
    assert again.theme == "dark"
    assert again.recent[0] == file.with_name("p.memplan")


WRONG: dict[str, object] = {
    "theme": 7,
    "unit": ["gib", "gb"],
    "knows_the_window": {"a": 1},
    "recent": 3.5,
    "favourites": QPoint(1, 2),
    "kept": QRect(0, 0, 1, 1),
    "window/geometry": "in the middle",
    "window/views": 12,
}


def test_values_of_a_wrong_type_are_the_defaults_and_the_window_opens(file: Path, open_on: OpenOn) -> None:
    store = QSettings(str(file), QSettings.Format.IniFormat)
    for name, value in WRONG.items():
        store.setValue(name, value)
    store.sync()
    settings = Settings(file)
    assert (settings.theme, settings.unit, settings.knows_the_window) == ("system", "gib", False)
    assert settings.favourites == []
    assert settings.state("geometry").isEmpty()
    window = open_on(file)
    assert is_on_screen(window)
    assert window.answer_panel.chart.plot is not None


@given(data=st.binary(max_size=300))
def test_any_bytes_are_survived(data: bytes, tmp_path_factory: pytest.TempPathFactory, qapp: QApplication) -> None:
    file = tmp_path_factory.mktemp("settings") / "settings.ini"
    file.write_bytes(b"[General]\ntheme=light\n" + data)
    settings = Settings(file)
    assert settings.theme in ("system", "light", "dark")
    assert settings.unit in ("gib", "gb")
    assert len(settings.recent) <= MOST_RECENT
    assert isinstance(settings.state("geometry"), QByteArray)
    assert all(isinstance(name, str) for name in (*settings.favourites, *settings.kept(frozenset({"model"}))))


@pytest.mark.parametrize("data", [b"\x01\xd9\xd0\xcb" + bytes(60), b"x" * 66, bytes(4)])
def test_a_damaged_place_of_the_window_is_the_usual_one(file: Path, open_on: OpenOn, data: bytes) -> None:
    settings = Settings(file)
    settings.set_state("geometry", QByteArray(data))
    settings.set_state("views", QByteArray(data))
    settings.save()
    window = open_on(file)
    assert is_on_screen(window)
    assert window.width() >= within_screen(LEAST_SIZE).width()
    assert all(size > 0 for size in window.answer_panel.splitter.sizes())


@pytest.mark.parametrize(
    "place", [QRect(40_000, 30_000, 1200, 800), QRect(-9000, -9000, 1200, 800), QRect(0, 0, 9000, 9000)]
)
def test_a_window_of_a_screen_that_is_gone_comes_back(
    file: Path, open_on: OpenOn, qtbot: QtBot, theme: Theme, place: QRect
) -> None:
    other = Window(theme, Settings(forgotten=True))
    qtbot.addWidget(other)
    other.setGeometry(place)
    settings = Settings(file)
    settings.set_state("geometry", other.saveGeometry())
    settings.save()
    window = open_on(file)
    assert is_on_screen(window)
    title_bar = window.frameGeometry().topLeft()
    screen = QGuiApplication.primaryScreen().availableGeometry()
    assert screen.adjusted(-window.width(), 0, 0, 0).contains(title_bar)  # it can be taken hold of
    assert window.width() <= screen.width()


def test_settings_of_a_newer_memplan_are_kept(file: Path, open_on: OpenOn) -> None:
    file.write_text(
        "[General]\nsettings=9\ntheme=sepia\nunit=tib\nkept=model, planet\nfavourites=h100-80gb-sxm, x900\n"
        "[later]\nthing=precious\n"
    )
    settings = Settings(file)
    assert (settings.theme, settings.unit) == ("system", "gib")
    window = open_on(file)
    view = window.answer_panel.views.view("Make it fit")
    assert view is not None
    view.finish()
    assert set(settings.kept(frozenset())) - set(PREFERENCES)  # a name that is not known here does no harm
    window.set_unit("gb")
    window.close_unasked()
    text = file.read_text()
    assert "thing=precious" in text
    assert "settings=9" in text
    assert "x900" in text


def test_a_file_that_cannot_be_read_or_written_stops_nobody(tmp_path: Path, open_on: OpenOn) -> None:
    folder = tmp_path / "settings.ini"
    folder.mkdir()
    window = open_on(folder)
    window.choose_theme("dark")
    window.choose_theme("light")
    save_plan(new_plan(), tmp_path / "p.memplan")
    assert window.files.open_path(tmp_path / "p.memplan")
    window.close_unasked()
    assert folder.is_dir()
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        locked = tmp_path / "locked.ini"
        locked.write_text("[General]\ntheme=dark\n")
        locked.chmod(0o400)
        settings = Settings(locked)
        assert settings.theme == "dark"
        settings.unit = "gb"
        settings.save()
        assert settings.unit == "gb"  # for this run


def test_recent_files_are_ten_and_each_once(settings: Settings, tmp_path: Path) -> None:
    for number in (*range(12), 5):
        settings.add_recent(tmp_path / f"{number}.memplan")
    names = [path.name for path in settings.recent]
    assert len(names) == 10
    assert names[0] == "5.memplan"
    assert len(set(names)) == 10
    again = Settings(tmp_path / "settings.ini")
    settings.save()
    assert again.recent == settings.recent


def test_forgotten_settings_write_nothing(tmp_path: Path) -> None:
    settings = Settings(forgotten=True)
    settings.add_recent(tmp_path / "p.memplan")
    settings.save()
    assert [path.name for path in settings.recent] == ["p.memplan"]
    assert Settings(forgotten=True).recent == []
