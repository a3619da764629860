"""Shows the log: what stands in it, and where its file is, for whoever sends it to somebody."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QPushButton, QWidget

from memplan import tr
from memplan_gui.pieces import column, fixed_font, label, window_size

SIZE = QSize(640, 420)
MOST_CHARACTERS = 100_000
"""Of the end of the log: more is in the file."""


class LogDialog(QDialog):
    """The end of the log in front, where systems without a viewer of files show nothing."""

    def __init__(self, parent: QWidget | None, path: Path) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Log"))
        self.resize(window_size(SIZE))
        self._path = path
        self.text = QPlainTextEdit(end_of(path))
        self.text.setReadOnly(True)
        self.text.setFont(fixed_font())
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(tr("Log"))
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.place = label(str(path), wraps=True, selectable=True)
        self.place.setAccessibleName(tr("File of the log"))
        whole = column(self, spacing=12, margins=(20, 16, 20, 16))
        whole.addWidget(self.place)
        whole.addWidget(self.text, 1)
        whole.addWidget(self._buttons())

    def _buttons(self) -> QDialogButtonBox:
        role = QDialogButtonBox.ButtonRole
        buttons = QDialogButtonBox()
        self.copy = buttons.addButton(tr("Copy path"), role.ActionRole)
        self.copy.clicked.connect(self._copy)
        folder = buttons.addButton(tr("Open folder"), role.ActionRole)
        folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent))))
        close = buttons.addButton(tr("Close"), role.RejectRole)
        close.setDefault(True)
        close.setFocus()
        buttons.rejected.connect(self.reject)
        for button in (self.copy, folder):
            assert isinstance(button, QPushButton)
            button.setAutoDefault(False)
        return buttons

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(str(self._path))
        self.copy.setText(tr("Copied"))


def end_of(path: Path) -> str:
    """The last lines of a file, whole ones."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        return tr("{file} cannot be read: {problem}").format(file=path, problem=problem.strerror or problem)
    return text if len(text) <= MOST_CHARACTERS else text[-MOST_CHARACTERS:].partition("\n")[2]
