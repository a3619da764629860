"""Editors by kind. Each has `value()`, `set_value()` and the signal `edited(value)`; none knows the plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionFrame,
    QStyleOptionViewItem,
    QWidget,
)

from memplan import Unit, tr
from memplan_gui.presenters.typed import typed_count
from memplan_gui.presenters.words import bytes_text, count_text, fraction_text, parse_bytes, parse_fraction


class LineEdit(QLineEdit):
    """A line that leaves undo to the document, unless it holds text that the plan has not taken."""

    def holds_back(self) -> bool:
        """Whether there is typed text that the plan has not taken."""
        return self.isModified()

    def event(self, event: QEvent) -> bool:
        """Qt's lines claim Ctrl+Z for themselves: then undo would look dead whenever one has the keyboard."""
        if is_undo(event) and not self.holds_back():
            event.ignore()
            return False
        return super().event(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Leave files to the window: their names are no text that anybody wants here."""
        if event.mimeData().hasUrls():
            event.ignore()
        else:
            super().dragEnterEvent(event)


class ParsedEdit(LineEdit):
    """A line whose text stands for a value. While it is typed, each text that the plan takes is an edit.

    A text that it does not take leaves the value from before the typing, never that of a beginning of the text. It
    stays, to be mended, until another one is taken, Escape brings the value back, or that changes elsewhere.
    """

    edited = Signal(object)
    taken_back = Signal(object)
    """Escape: what was typed is not meant, the value from before it is."""
    unreadable = Signal(str)
    """What cannot be read, when the person is done typing it."""
    finished = Signal()
    """The person is done with the field: what follows is another gesture."""

    def __init__(self, read: Callable[[str], Any], write: Callable[[Any], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._read, self._write = read, write
        self._value: Any = None
        self._settled: Any = None
        self._is_typing = self._is_refused = False
        self.textEdited.connect(self._typed)
        self.editingFinished.connect(self._done)

    def value(self) -> Any:
        """The value that the plan has."""
        return self._value

    def settled_value(self) -> Any:
        """The value from before the typing: what stays when the text is not taken."""
        return self._settled

    @property
    def is_refused(self) -> bool:
        """Whether the text stands for nothing that the plan has taken."""
        return self._is_refused

    def settled_text(self) -> str:
        """How the value from before the typing is written."""
        return self._write(self._settled)

    def refuse(self) -> None:
        """The plan does not take what was typed."""
        self._is_refused = True

    def end_typing(self) -> None:
        """Show the plan's value, which is none from before any typing now, instead of what was typed."""
        if self.isModified() or self._is_refused:
            self._show_value()

    def set_value(self, value: Any) -> None:
        """Show a value. The text stays as it was typed while typing it is what changes the value."""
        if self._is_refused and value == self._value:
            return
        self._value = value
        if self._is_typing:
            return
        self._is_refused = False
        self._settled = value
        text = self._write(value)
        if text != self.text():
            self.setText(text)
            if not self.hasFocus():
                self.setCursorPosition(0)  # of a text that is too long, the beginning shows
        self.setModified(False)

    def holds_back(self) -> bool:
        """Whether there is typed text that the plan has not taken."""
        try:
            return self.isModified() and self._value_of(self.text()) != self._value
        except ValueError:
            return True

    def _value_of(self, text: str) -> Any:
        """Short texts are rounded: what is written for a value stands for that value, not for the rounded one."""
        return self._settled if text == self._write(self._settled) else self._read(text)

    def _typed(self, text: str) -> None:
        try:
            value = self._value_of(text)
        except ValueError:
            value = self._settled  # not readable yet; said when the person is done
        was_refused, self._is_refused = self._is_refused, False
        self._edit(value, is_news=was_refused)

    def _edit(self, value: Any, *, is_news: bool = False) -> None:
        """Say the value where it is another one, or where it takes the place of what was refused."""
        if is_news or value != self._value:
            self._is_typing = True
            try:
                self.edited.emit(value)
            finally:
                self._is_typing = False

    def _done(self) -> None:
        if self.isModified():
            was_refused, self._is_refused = self._is_refused, False
            try:
                self._edit(self._value_of(self.text()), is_news=was_refused)
            except ValueError as problem:
                self._edit(self._settled)
                self._is_refused = True
                self.unreadable.emit(str(problem))
            if not self._is_refused:
                self._show_value()
        self.finished.emit()

    def _show_value(self) -> None:
        self._is_refused = False
        self._settled = self._value
        self.setModified(False)
        self.setText(self._write(self._value))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape brings the value back from before the typing."""
        if event.key() == Qt.Key.Key_Escape and (self.isModified() or self._is_refused):
            self._is_typing = True
            self.taken_back.emit(self._settled)  # even where the plan has it: what was refused is no news any more
            self._is_typing = False
            self._show_value()
            return
        super().keyPressEvent(event)


class IntegerEdit(ParsedEdit):
    """A whole number of any size: reads 4096, 8k, 8ki, 1.5M; arrows step, by one or by doubling."""

    read_as = Signal(str)
    """The number in full while a short form of it is typed ("8k" in tokens: "= 8192"); else empty."""

    def __init__(
        self,
        *,
        doubling: bool = False,
        optional: bool = False,
        unit: str = "",
        most: float | None = None,
        parent: QWidget | None = None,
    ) -> None:
        parse = _optional(lambda text: typed_count(text, unit, most), optional)
        super().__init__(parse, _optional_text(count_text), parent)
        self._doubling, self._unit = doubling, unit
        self._least: float = -math.inf
        self._most: float = math.inf
        self.setPlaceholderText(tr("not given") if optional else "")
        self.textChanged.connect(self._say_in_full)

    def _say_in_full(self, text: str) -> None:
        try:
            number = count_text(typed_count(text, self._unit))
        except ValueError:
            number = ""
        is_short = number and text.strip()[-1:].isalpha()
        self.read_as.emit(f"= {number}" if is_short else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down step, Page Up and Page Down double and halve, as far as the field goes."""
        key = event.key()
        if key not in (Qt.Key.Key_Up, Qt.Key.Key_PageUp, Qt.Key.Key_Down, Qt.Key.Key_PageDown):
            super().keyPressEvent(event)
            return
        if self.isModified():
            self._done()  # a step is one from what is typed
        if (value := self._value) is None:
            return
        if key in (Qt.Key.Key_Up, Qt.Key.Key_PageUp):
            stepped = value * 2 if self._doubling or key == Qt.Key.Key_PageUp else value + 1
        else:
            stepped = value // 2 if self._doubling or key == Qt.Key.Key_PageDown else value - 1
        if stepped != value and self._least <= stepped <= self._most:
            self.edited.emit(stepped)

    def set_range(self, least: float | None, most: float | None) -> None:
        """Let no step lead out of what the field takes."""
        self._least = -math.inf if least is None else least
        self._most = math.inf if most is None else most


class FractionEdit(ParsedEdit):
    """A fraction, read and written as per cent."""

    def __init__(self, *, optional: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(_optional(parse_fraction, optional), _optional_text(fraction_text), parent)
        self.setPlaceholderText(tr("not given") if optional else "")


class BytesEdit(ParsedEdit):
    """An amount of memory in the unit that the window shows."""

    def __init__(self, *, optional: bool = False, parent: QWidget | None = None) -> None:
        self._unit: Unit = "gib"
        super().__init__(
            _optional(lambda text: parse_bytes(text, self._unit), optional),
            _optional_text(lambda value: bytes_text(value, self._unit)),
            parent,
        )
        self.setPlaceholderText(tr("not given") if optional else "")

    def set_unit(self, unit: Unit) -> None:
        """Read and write in another unit."""
        if self.isModified():
            self._done()  # what is typed is meant in the unit before
        self._unit = unit
        if self._value is not None and not self._is_refused:
            self.setText(bytes_text(self._value, unit))


class TextEdit(ParsedEdit):
    """A line of text; empty means not given where that is allowed."""

    def __init__(self, *, optional: bool = False, placeholder: str = "", parent: QWidget | None = None) -> None:
        super().__init__(lambda text: text.strip() or (None if optional else ""), lambda value: value or "", parent)
        self.setPlaceholderText(placeholder or (tr("not given") if optional else ""))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Of a text that is too long, show the beginning, and that there is more."""
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        place = self.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, self).adjusted(2, 0, -2, 0)
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, place.width())
        if self.hasFocus() or shown == self.text():
            super().paintEvent(event)
            return
        painter = QPainter(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelLineEdit, option, painter, self)
        painter.setPen(option.palette.color(QPalette.ColorRole.Text))
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)


class NamesEdit(ParsedEdit):
    """Names with commas between them, or a word that stands for a whole list of them."""

    def __init__(self, words: Sequence[str], parent: QWidget | None = None) -> None:
        def read(text: str) -> str | tuple[str, ...]:
            names = tuple(name for name in text.replace(",", " ").split() if name)
            return names[0] if len(names) == 1 and names[0] in words else names

        super().__init__(read, lambda value: value if isinstance(value, str) else ", ".join(value), parent)
        self.setPlaceholderText(tr("none"))


WORDS_IN_LIST = Qt.ItemDataRole.UserRole + 1
"""Where an item of a ChoiceEdit has the longer words for the list that opens, which may be wider than the field."""
LIST_MARGIN = 24


class _ListDelegate(QStyledItemDelegate):
    """Shows a choice in the list that opens by its longer words, where it has any."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:  # noqa: N802  # Qt's name
        """Put the longer words in."""
        super().initStyleOption(option, index)
        if words := index.data(WORDS_IN_LIST):
            option.text = words


class ChoiceEdit(QComboBox):
    """One of a few choices. The wheel scrolls the panel, not the choice."""

    edited = Signal(object)
    finished = Signal()

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices: list[str] = []
        self.set_choices(choices)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setMaxVisibleItems(16)
        self.activated.connect(self._chosen)

    def set_choices(self, choices: Sequence[tuple[str, str]]) -> None:
        """Offer others: what each is called, and its value."""
        self.clear()
        self._choices = [choice for _, choice in choices]
        self.addItems([title for title, _ in choices])

    def value(self) -> Any:
        """The choice that is shown."""
        return self._choices[self.currentIndex()] if self.currentIndex() >= 0 else None

    def set_value(self, value: Any) -> None:
        """Show a choice."""
        position = self._choices.index(value) if value in self._choices else -1
        if position != self.currentIndex():
            self.setCurrentIndex(position)

    def _chosen(self, position: int) -> None:
        self.edited.emit(self._choices[position])
        self.finished.emit()

    def showPopup(self) -> None:  # noqa: N802  # Qt's name
        """The list that opens is called as the field is."""
        if self.view().accessibleName() != self.accessibleName():
            self.view().setAccessibleName(self.accessibleName())
            self.setItemDelegate(_ListDelegate(self))  # the style's own knows nothing of the style sheet
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 2 * self.view().frameWidth() + LIST_MARGIN)
        super().showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the panel: a choice must not change because someone scrolls past it."""
        event.ignore()


class ToggleEdit(QCheckBox):
    """Yes or no."""

    edited = Signal(object)
    finished = Signal()

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self.clicked.connect(self._clicked)

    def value(self) -> bool:
        """Whether it is on."""
        return self.isChecked()

    def set_value(self, value: bool) -> None:
        """Show yes or no."""
        if value != self.isChecked():
            self.setChecked(value)

    def _clicked(self, on: bool) -> None:
        self.edited.emit(on)
        self.finished.emit()


def is_undo(event: QEvent) -> bool:
    """Whether a widget is asked if it wants the keys of undo or redo for itself."""
    return event.type() == QEvent.Type.ShortcutOverride and (
        event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)  # type: ignore[attr-defined]  # the type says what event it is
    )


def _optional(read: Callable[[str], Any], optional: bool) -> Callable[[str], Any]:
    return (lambda text: read(text) if text.strip() else None) if optional else read


def _optional_text(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "" if value is None else write(value)
