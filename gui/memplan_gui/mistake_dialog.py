"""Says calmly that memplan made a mistake: what became of the plan, what to do, and details that can be copied."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QPushButton, QStyle, QWidget

from memplan import tr, tr_later, translated
from memplan_gui.pieces import column, fixed_font, label, row, shown, window_size
from memplan_gui.screen_room import within_screen

WIDTH = 520
DETAILS_SIZE = QSize(480, 180)
ICON = 32
HEADING = tr_later("Something in memplan went wrong")
KEPT = tr_later(
    "Nothing of your plan is lost: what is not saved has been kept beside, and is offered at the next start "
    "should memplan end. You can go on working."
)
NOT_KEPT = tr_later("What is not saved could not be kept beside. Save the plan under another name before going on.")
HELPS = tr_later("The details help whoever mends it. They hold no names, no paths and nothing of your plan.")


class MistakeDialog(QDialog):
    """Stands over one window, and lets the program go on."""

    def __init__(self, parent: QWidget | None, report: str, *, is_kept: bool) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("memplan")
        self.setMinimumWidth(window_size(QSize(WIDTH, 1)).width())
        self._report = report
        self.details = QPlainTextEdit(report)
        self.details.setReadOnly(True)
        self.details.setFont(fixed_font())
        self.details.setAccessibleName(tr("Details of the mistake"))
        self.details.setMinimumSize(within_screen(DETAILS_SIZE))
        self.details.setTabChangesFocus(True)
        self.details.hide()
        self.text = label(translated(KEPT if is_kept else NOT_KEPT), wraps=True, selectable=True)
        self._arrange()

    def _arrange(self) -> None:
        sign = label()
        sign.setPixmap(self.style().standardIcon(QStyle.StandardPixmap.SP_MessageBoxWarning).pixmap(ICON, ICON))
        words = column(spacing=8)
        words.addWidget(label(translated(HEADING), "section"))
        words.addWidget(self.text)
        words.addWidget(label(translated(HELPS), "caption", wraps=True))
        top = row(spacing=16)
        top.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        whole = column(self, spacing=16, margins=(20, 20, 20, 16))
        whole.addLayout(top)
        whole.addWidget(self.details, 1)
        whole.addWidget(self._buttons())

    def _buttons(self) -> QDialogButtonBox:
        role = QDialogButtonBox.ButtonRole
        buttons = QDialogButtonBox()
        self.more = buttons.addButton(tr("Show details"), role.ActionRole)
        self.copy = buttons.addButton(tr("Copy details"), role.ActionRole)
        close = buttons.addButton(tr("Go on"), role.RejectRole)
        close.setDefault(True)
        close.setFocus()
        self.more.clicked.connect(self._show_details)
        self.copy.clicked.connect(self._copy)
        buttons.rejected.connect(self.reject)
        for button in (self.more, self.copy):
            assert isinstance(button, QPushButton)
            button.setAutoDefault(False)
        return buttons

    def _show_details(self) -> None:
        shown(self.details, self.details.isHidden())
        self.more.setText(tr("Show details") if self.details.isHidden() else tr("Hide details"))
        self.adjustSize()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report)
        self.copy.setText(tr("Copied"))
