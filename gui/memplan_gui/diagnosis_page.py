"""One diagnosis on screen: headline, the card's bar, answers by line, levers with a button each."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from memplan import tr
from memplan_gui.card_bar import CardBar
from memplan_gui.pieces import column, label, row, scaled, shown, tip, tool_button
from memplan_gui.presenters.diagnosis import DiagnosisPage, HelpLine, levers_title
from memplan_gui.theme import Theme

LABEL_WIDTH = 76


class DiagnosisPart(QWidget):
    """What a message says."""

    lever_wanted = Signal(str)
    """The lever to apply, by its id."""
    explain_wanted = Signal(str, str)
    """The instant and the term to explain."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._page: DiagnosisPage | None = None
        self._headline = label("", "section", wraps=True, selectable=True)
        self._source = label("", "caption", wraps=True, selectable=True)
        self.bar = CardBar(theme)
        self.explain_button = tool_button("button", tr("Explain the tensor's term"), text=tr("Explain it in the plan"))
        self.explain_button.setToolTip(tr("Show how this part of the estimate comes about"))
        self._levers_title = label("", "section", wraps=True)
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._helps: list[tuple[QToolButton, QLabel]] = []
        self._row_grid, self._help_grid = QGridLayout(), QGridLayout()
        self._arrange()
        self.explain_button.clicked.connect(self._explain)
        self.show_page(None)

    def _arrange(self) -> None:
        whole = column(self, spacing=8, margins=(0, 0, 8, 0))
        head = row(spacing=8)
        head.addWidget(self._headline, 1)
        head.addWidget(self.explain_button, 0, Qt.AlignmentFlag.AlignTop)
        whole.addLayout(head)
        whole.addWidget(self._source)
        whole.addWidget(self.bar)
        for grid in (self._row_grid, self._help_grid):
            grid.setHorizontalSpacing(12)
            grid.setVerticalSpacing(6)
            grid.setColumnStretch(1, 1)
        whole.addLayout(self._row_grid)
        whole.addWidget(self._levers_title)
        whole.addLayout(self._help_grid)
        whole.addStretch(1)

    @property
    def text(self) -> str:
        """All that is said."""
        lines = [self._headline.text(), self._source.text(), self.bar.accessibleDescription()]
        lines += [f"{name.text()} {words.text()}" for name, words in self._rows if not words.isHidden()]
        lines += [self._levers_title.text()]
        lines += [words.text() for _, words in self._helps if not words.isHidden()]
        return "\n".join(line for line in lines if line.strip())

    @property
    def lever_buttons(self) -> list[QToolButton]:
        """The buttons that apply a lever, as far as they are shown."""
        return [button for button, _ in self._helps if not button.isHidden()]

    def show_page(self, page: DiagnosisPage | None, applied: str = "") -> None:
        """Show another diagnosis, or none; `applied` is the lever that the plan has since it was applied here."""
        self._page = page
        self._headline.setText(page.headline if page else "")
        self._source.setText(tr("From {source}.").format(source=page.source) if page else "")
        self.bar.show_page(page.bar if page else None)
        self._show_rows(page.rows if page else ())
        shown(self.explain_button, page is not None and page.place is not None)
        title = levers_title(page, applied) if page else ""
        self._levers_title.setText(title)
        shown(self._levers_title, bool(title))
        self._show_helps(page.levers if page else ())
        self.setAccessibleDescription(self.text)

    def _show_rows(self, rows: tuple[tuple[str, str], ...]) -> None:
        while len(self._rows) < len(rows):
            name, words = label("", "muted"), label(wraps=True, selectable=True)
            name.setMinimumWidth(scaled(LABEL_WIDTH))
            name.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            self._row_grid.addWidget(name, len(self._rows), 0)
            self._row_grid.addWidget(words, len(self._rows), 1)
            self._rows.append((name, words))
        for position, (name, words) in enumerate(self._rows):
            title, text = rows[position] if position < len(rows) else ("", "")
            name.setText(title)
            words.setText(text)
            for part in (name, words):
                shown(part, bool(text))

    def _show_helps(self, lines: tuple[HelpLine, ...]) -> None:
        while len(self._helps) < len(lines):
            self._add_help()
        for position, (button, words) in enumerate(self._helps):
            line = lines[position] if position < len(lines) else None
            for part in (button, words):
                shown(part, line is not None)
            if line is not None:
                button.setAccessibleName(tr("Apply: {lever}").format(lever=line.title))
                button.setAccessibleDescription(f"{line.words}. {line.price}")
                button.setToolTip(tip(f"{line.title}: {line.words}. {line.price}"))
                words.setText(f"{line.title}: {line.words}. {line.price}")

    def _add_help(self) -> None:
        position = len(self._helps)
        button, words = tool_button("button", tr("Apply"), text=tr("Apply")), label(wraps=True, selectable=True)
        button.setMinimumWidth(scaled(LABEL_WIDTH))
        button.clicked.connect(lambda: self._wants(position))
        self._help_grid.addWidget(button, position, 0, Qt.AlignmentFlag.AlignTop)
        self._help_grid.addWidget(words, position, 1)
        self._helps.append((button, words))

    def _wants(self, position: int) -> None:
        if self._page is not None and position < len(self._page.levers):
            self.lever_wanted.emit(self._page.levers[position].lever_id)

    def _explain(self) -> None:
        if self._page is not None and self._page.place is not None:
            self.explain_wanted.emit(*self._page.place)
