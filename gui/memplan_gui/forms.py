"""Rows, folds and sections of the plan panel, built from what the plan's fields say of themselves."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from memplan import FieldFacts, choice_title, tr, tr_n, translated
from memplan_gui.fields import BytesEdit, ChoiceEdit, FractionEdit, IntegerEdit, NamesEdit, TextEdit, ToggleEdit
from memplan_gui.icons import icon
from memplan_gui.pieces import MOST_WIDER, as_label, column, label, scaled, shown, tip, tool_button
from memplan_gui.presenters.field_help import field_help
from memplan_gui.search_field import SearchEdit
from memplan_gui.theme import Theme
from memplan_gui.wrapped_label import WrappedLabel

LABEL_WIDTH = 152
NUMBER_WIDTH = 84
ROW_GAP = 4
INSET = 8
"""How far rows stand in from the panel's own margin: focus frames of headers and title reach out to that."""


def editor_for(name: str, facts: FieldFacts, *, doubling: bool = False) -> QWidget:
    """The editor that suits a field: its kind decides."""
    if facts.kind == "whole number" and facts.unit == "bytes":
        return BytesEdit(optional=facts.optional)
    if facts.kind == "whole number":
        return IntegerEdit(doubling=doubling, optional=facts.optional, unit=facts.unit, most=facts.maximum)
    if facts.kind == "number":
        return FractionEdit(optional=facts.optional)
    if facts.kind == "switch":
        return ToggleEdit(translated(facts.title))
    if facts.kind == "choice":
        return ChoiceEdit([(translated(choice_title(name, choice)), choice) for choice in facts.choices])
    if facts.kind == "names":
        return NamesEdit(facts.choices)
    return TextEdit(optional=facts.optional, placeholder=tr("newest") if name == "kernels_version" else "")


def _is_tight() -> bool:
    """Whether the panel is not as wide as the text wants: names and units then take two lines."""
    return scaled(LABEL_WIDTH) > scaled(LABEL_WIDTH, MOST_WIDER)


class RejectionLine(WrappedLabel):
    """Under an editor, why its last edit was not taken."""

    def __init__(self, editor: QWidget) -> None:
        super().__init__("")
        self._editor = editor
        as_label(self, "rejection", selectable=True)
        self.hide()

    def show_rejection(self, message: str) -> None:
        """Say it and mark the editor; empty when there is nothing to say."""
        if message == self.text() == "":
            return
        self.setText(message[:1].upper() + message[1:])
        shown(self, bool(message))
        self._editor.setProperty("rejected", bool(message))
        self._editor.style().unpolish(self._editor)
        self._editor.style().polish(self._editor)


class FieldRow(QWidget):
    """Label, editor, and unit or note; under them what is wrong with the last edit. Advice colours the label: no row
    moves.
    """

    help: str
    """What the field is and what it takes."""

    def __init__(
        self, facts: FieldFacts, editor: QWidget, *, title: str = "", about: str = "", noted: bool = False
    ) -> None:
        super().__init__()
        self.note = label("", "caption", wraps=True) if noted else None
        self.editor = editor
        self._rejection: RejectionLine | None = None
        self._name: QLabel | None = None
        self._advice = ""
        self._grid = grid = QGridLayout(self)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setContentsMargins(INSET, 0, INSET, ROW_GAP)
        grid.setColumnMinimumWidth(0, scaled(LABEL_WIDTH, MOST_WIDER))
        grid.setColumnStretch(1, 1)
        if isinstance(editor, IntegerEdit):
            editor.set_range(facts.minimum, facts.maximum)
        title = title or translated(facts.title)
        editor.setAccessibleName(title)
        choices = [editor.itemText(at) for at in range(editor.count())] if isinstance(editor, ChoiceEdit) else []
        self.help = about or field_help(facts, choices)
        editor.setAccessibleDescription(self.help)
        if isinstance(editor, ToggleEdit | SearchEdit):  # these say themselves what they are about
            grid.addWidget(editor, 0, 0, 1, 3)
        else:
            name = self._name = label(title)
            name.setBuddy(editor)
            name.setToolTip(tip(self.help))
            if _is_tight() or name.sizeHint().width() > scaled(LABEL_WIDTH, MOST_WIDER):
                name.setWordWrap(True)
                name.setFixedWidth(scaled(LABEL_WIDTH, MOST_WIDER))
            grid.addWidget(name, 0, 0)
            self._place_editor(grid, facts, editor)
        if isinstance(editor, SearchEdit):
            editor.explain(self.help)
        else:
            editor.setToolTip(tip(self.help))

    def _place_editor(self, grid: QGridLayout, facts: FieldFacts, editor: QWidget) -> None:
        unit = translated(facts.unit) if facts.unit != "bytes" else ""
        if not unit and self.note is None:
            grid.addWidget(editor, 0, 1, 1, 2)
            return
        editor.setFixedWidth(scaled(NUMBER_WIDTH, MOST_WIDER))
        grid.addWidget(editor, 0, 1)
        unit_label = self.note or label(unit, "caption", wraps=True)
        grid.addWidget(unit_label, 0, 2)
        if isinstance(editor, IntegerEdit) and unit:
            editor.read_as.connect(lambda text: unit_label.setText(text or unit))
        grid.setColumnStretch(1, 0)
        grid.setColumnStretch(2, 1)

    @property
    def rejection(self) -> str:
        """What is wrong with the last edit; empty when nothing is."""
        return self._rejection.text() if self._rejection is not None else ""

    @property
    def advice(self) -> str:
        """What the estimate has to say about the field."""
        return self._advice

    def show_rejection(self, message: str) -> None:
        """Say why an edit was not taken."""
        if not message and not self.rejection:
            return
        if self._rejection is None:  # most rows never have anything to say
            self._rejection = RejectionLine(self.editor)
            self._grid.addWidget(self._rejection, 1, 0, 1, 3)
        self._rejection.show_rejection(message)

    def show_advice(self, message: str) -> None:
        """Mark the field that the estimate has something to say about; what it says stands at the panel's foot."""
        if message == self._advice:
            return
        self._advice = message
        words = "\n".join(part for part in (message, self.help) if part)
        self.editor.setAccessibleDescription(words)
        if self._name is not None:
            self._name.setToolTip(tip(words))
            self._name.setProperty("advised", bool(message))
            self._name.style().unpolish(self._name)
            self._name.style().polish(self._name)


class Fold(QWidget):
    """A header that opens and closes what is under it, and says how much of it differs from the defaults."""

    toggled = Signal(bool)

    def __init__(self, title: str, theme: Theme) -> None:
        super().__init__()
        self._title, self._theme = title, theme
        self._said: tuple[int, int, bool] | None = None
        self.header = tool_button("fold", title, text=title, checkable=True)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.body = QWidget()
        self.rows = column(self.body, margins=(0, 4, 0, 4))
        whole = column(self)
        whole.addWidget(self.header)
        whole.addWidget(self.body)
        self.body.hide()
        self.header.toggled.connect(self._toggle)
        theme.changed.connect(self._draw)
        self.summarise(0, 0)
        self._draw()

    def open(self) -> None:
        """Show what is under it."""
        self.header.setChecked(True)

    def summarise(self, num_changed: int, num_advice: int) -> None:
        """Say what is inside while it is closed."""
        said = num_changed, num_advice, self.header.isChecked()
        if said == self._said:
            return
        self._said = said
        words = [self._title]
        words += (
            [tr_n("{count} changed", "{count} changed", num_changed).format(count=num_changed)] if num_changed else []
        )
        words += [tr("advice")] if num_advice and not self.header.isChecked() else []
        self.header.setText(" · ".join(words))
        state = tr("open") if self.header.isChecked() else tr("closed")
        self.header.setAccessibleName(", ".join((*words, state)))

    def _toggle(self, opened: bool) -> None:
        self.body.setVisible(opened)
        self._draw()
        self.toggled.emit(opened)

    def _draw(self) -> None:
        name = "chevron-down" if self.header.isChecked() else "chevron-right"
        self.header.setIcon(icon(name, self._theme.colour("muted")))
