"""Hands on a window, as a person has them: fields by their names, commands by their menus, dialogs by their buttons."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QWidget,
)

from memplan_gui.window import Window

PATIENCE_S = 20.0
NOTHING: Mapping[str, str] = MappingProxyType({})


class Hands:
    """What a person does with a window, and reads in it."""

    def __init__(self, window: Window) -> None:
        self.window = window
        window.activateWindow()

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        """Let the window work until something is so.

        Raises:
            AssertionError: it does not come about.
        """
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < end, what
            QTest.qWait(10)

    def field(self, name: str) -> QWidget:
        """The field of a name, as a screen reader says it."""
        fields = self.window.plan_panel.findChildren(QWidget)
        return next(one for one in fields if one.accessibleName() == name and one.isVisibleTo(self.window))

    def set(self, name: str, value: str) -> None:
        """Type a value into a field, or go through a list until it stands there."""
        field = self.field(name)
        field.setFocus()
        if isinstance(field, QComboBox):
            wanted = field.findText(value)
            assert wanted >= 0, f"{value} is none of {name}"
            while field.currentIndex() != wanted:
                QTest.keyClick(field, Qt.Key.Key_Down if field.currentIndex() < wanted else Qt.Key.Key_Up)
        else:
            assert isinstance(field, QLineEdit)
            field.selectAll()
            QTest.keyClicks(field, value)
            QTest.keyClick(field, Qt.Key.Key_Return)
        QApplication.processEvents()

    def shown(self, name: str) -> str:
        """What stands in a field."""
        field = self.field(name)
        assert isinstance(field, QLineEdit | QComboBox)
        return field.text() if isinstance(field, QLineEdit) else field.currentText()

    def press(self, keys: str) -> None:
        """Press a shortcut."""
        self.window.activateWindow()  # without a screen nothing does that when a dialog is gone
        self.wait_until(self.window.isActiveWindow, "the window does not get the keyboard")
        QTest.keySequence(self.window, QKeySequence(keys))
        QApplication.processEvents()

    def click(self, words: str) -> None:
        """Click the button with these words."""
        buttons = self.window.findChildren(QAbstractButton)
        next(one for one in buttons if one.text() == words and one.isVisibleTo(self.window)).click()
        QApplication.processEvents()

    def command(self, path: str) -> QAction:
        """A command by its menu and its words: "File > Save as…"."""
        menu, _, words = path.partition(" > ")
        entry = next(one for one in self.window.menuBar().actions() if _plain(one) == menu)
        under = entry.menu()
        assert under is not None
        under.aboutToShow.emit()
        return next(one for one in under.actions() if _plain(one) == words)


def _plain(action: QAction) -> str:
    return action.text().replace("&", "")


def name_file(path: str) -> None:
    """Give the next dialog that asks for a file this name. It asks inside a call, so this is said before."""

    def give(dialog: QDialog) -> bool:
        if not isinstance(dialog, QFileDialog):
            return False
        edit = dialog.findChild(QLineEdit)
        assert edit is not None
        edit.setText(path)  # typed, it would be completed: what is meant is this name and no other
        button = dialog.findChild(QDialogButtonBox).buttons()[0]
        assert button.isEnabled(), path
        button.click()
        return True

    _when_asked(give)


def answer(words: str, fields: Mapping[str, str] = NOTHING) -> None:
    """Click the button with these words in the next question, its fields filled before: name and text of each."""

    def click(dialog: QDialog) -> bool:
        for edit in dialog.findChildren(QLineEdit):
            if edit.accessibleName() in fields and not edit.text():
                QTest.keyClicks(edit, fields[edit.accessibleName()])
                QTest.keyClick(edit, Qt.Key.Key_Return)
        buttons = dialog.findChildren(QAbstractButton)
        button = next((one for one in buttons if one.text().replace("&", "") == words and one.isEnabled()), None)
        if button is not None:
            button.click()
        return button is not None

    _when_asked(click)


def _when_asked(deal_with: Callable[[QDialog], bool], tries: int = 1000) -> None:
    def look() -> None:
        asked = QApplication.activeModalWidget()
        if isinstance(asked, QDialog) and deal_with(asked):
            return
        if tries:
            _when_asked(deal_with, tries - 1)
        elif isinstance(asked, QDialog):
            asked.reject()  # another one than was awaited: the story fails, and does not hang

    QTimer.singleShot(10, look)
