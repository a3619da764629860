"""The views of the answer, a tab each under the verdict: made when first looked at, told answers while shown."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabWidget, QWidget

from memplan import Scenario, Unit
from memplan_gui.charts.picture import Picture
from memplan_gui.pieces import column
from memplan_gui.presenters.answer import Answer

MARGIN = 20


class AnswerView(QWidget):
    """What a tab holds: one question about the scenario that is looked at, answered."""

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Show the answer to a scenario. Called while the view is on screen, and when it comes there."""
        raise NotImplementedError

    def finish(self) -> None:
        """Show at once what would follow later: for pictures and tests."""

    def paper_picture(self, title: str, subtitle: str) -> Picture | None:
        """The view's own chart as a picture; None where it has none."""
        return None


class Views(QTabWidget):
    """Memory by instant first; each of the others costs nothing until it is looked at."""

    def __init__(self, title: str, first: QWidget) -> None:
        super().__init__()
        self.setObjectName("views")
        self.setDocumentMode(True)
        self.setAccessibleName("Views of the answer")
        self.tabBar().setObjectName("view_tabs")
        self.tabBar().setAccessibleName("Views of the answer")
        self.addTab(first, title)
        self._makers: list[Callable[[], AnswerView]] = []
        self._made: dict[int, AnswerView] = {}
        self._asked: tuple[Scenario, Answer, Unit] | None = None
        self.currentChanged.connect(lambda _: self._tell())

    def add_view(self, title: str, make: Callable[[], AnswerView]) -> None:
        """Add a tab whose view is made when it is first shown."""
        self._makers.append(make)
        self.addTab(QWidget(), title)

    @property
    def titles(self) -> tuple[str, ...]:
        """What the tabs are called."""
        return tuple(self.tabText(index) for index in range(self.count()))

    def view(self, title: str) -> AnswerView | None:
        """The view of a tab; None where it has not been made yet."""
        return self._made.get(self.titles.index(title))

    @property
    def current_view(self) -> AnswerView | None:
        """The view that is looked at; None for the first, which is no view of this kind."""
        return self._made.get(self.currentIndex())

    def show_view(self, title: str) -> None:
        """Bring a view to the front, and the keyboard into it."""
        self.setCurrentIndex(self.titles.index(title))
        view = self._made.get(self.currentIndex())
        if view is not None:
            view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Give the answer to the view that is looked at; the others ask for the latest when their turn comes."""
        self._asked = scenario, answer, unit
        self._tell()

    def _tell(self) -> None:
        index = self.currentIndex()
        if self._asked is None or index == 0:
            return
        if index not in self._made:
            view = self._made[index] = self._makers[index - 1]()
            column(self.widget(index), margins=(MARGIN, 8, MARGIN, 8)).addWidget(view)
        self._made[index].show_answer(*self._asked)
