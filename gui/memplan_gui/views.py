"""The views of the answer, a tab each under the verdict: made when first looked at, told answers while shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QTabWidget, QWidget

from memplan import Scenario, Unit, tr, translated
from memplan_gui.pieces import column, scaled
from memplan_gui.presenters.answer import Answer
from memplan_gui.scroller import Scroller
from memplan_gui.showing import Showing
from memplan_gui.tab_bar import TabBar

MARGIN = 20
AROUND = 8
"""Above and below a view."""
LEAST = QSize(300, 330)
"""Below this height the verdict scrolls out of sight above the view."""


class AnswerView(QWidget):
    """What a tab holds: one question about the scenario that is looked at, answered."""

    copy_wanted = Signal()
    """Its table is to be copied."""

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Show the answer to a scenario. Called while the view is on screen, and when it comes there."""
        raise NotImplementedError

    keyboard: QWidget | None = None
    """Where the keyboard goes when the view is asked for. No focus proxy: Tab would pass over what stands before it."""

    def take_keyboard(self) -> None:
        """Bring the keyboard into the view."""
        (self.keyboard or self).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def finish(self) -> None:
        """Show at once what would follow later: for pictures and tests."""

    def share(self, height: int) -> None:
        """Share a height among the parts so that nothing has to be scrolled, where there is so much."""

    def showing(self) -> Showing | None:
        """What it has in front, to be copied and exported; None where there is nothing."""
        return None


class Views(QTabWidget):
    """Memory by instant first; each of the others costs nothing until it is looked at."""

    copy_wanted = Signal()
    """The table of the view that is looked at is to be copied."""

    def __init__(self, title: str, first: QWidget) -> None:
        super().__init__()
        self.setObjectName("views")
        self.setTabBar(TabBar())
        self.setDocumentMode(True)
        self.setAccessibleName(tr("Views of the answer"))
        self.tabBar().setObjectName("view_tabs")
        self.tabBar().setAccessibleName(tr("Views of the answer"))
        self._first = first
        self._titles: list[str] = [title]
        self.addTab(first, translated(title))
        self._makers: list[Callable[[], AnswerView]] = []
        self._made: dict[int, AnswerView] = {}
        self._asked: tuple[Scenario, Answer, Unit] | None = None
        self._outgoing: Sequence[QAction] = ()
        self.currentChanged.connect(lambda _: self._tell())

    def add_view(self, title: str, make: Callable[[], AnswerView]) -> None:
        """Add a tab whose view is made when it is first shown."""
        self._makers.append(make)
        self._titles.append(title)
        self.addTab(QWidget(), translated(title))

    def set_outgoing(self, actions: Sequence[QAction]) -> None:
        """Put what copies and exports into the menu of the right button, in this view and every other."""
        self._outgoing = actions
        self._equip(self._first)

    @property
    def titles(self) -> tuple[str, ...]:
        """What the tabs are called in the code; the person reads it translated."""
        return tuple(self._titles)

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
            view.take_keyboard()

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
            inset = QWidget()
            column(inset, margins=(MARGIN, AROUND, MARGIN, AROUND)).addWidget(view)
            scroller = Scroller(inset, sideways=True)
            scroller.sized.connect(lambda height, view=view: view.share(height - 2 * AROUND))
            column(self.widget(index)).addWidget(scroller)
            view.copy_wanted.connect(self.copy_wanted)
            self._equip(view)
        self._made[index].show_answer(*self._asked)

    def _equip(self, view: QWidget) -> None:
        view.addActions(list(self._outgoing))
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def sizeHint(self) -> QSize:
        """As little as a view can be read at: more is what the window has to spare."""
        return QSize(LEAST.width(), scaled(LEAST.height(), 1.1))

    def minimumSizeHint(self) -> QSize:
        """The same."""
        return self.sizeHint()
