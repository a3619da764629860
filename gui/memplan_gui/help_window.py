"""The window of Help: contents and search at the left, a page at the right. Nothing of it comes from a network."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QKeySequence, QResizeEvent, QShortcut, QTextCursor, QTextOption
from PySide6.QtWidgets import QLineEdit, QTextBrowser, QTreeWidgetItem, QWidget

from memplan import MemplanError, tr, tr_n, translated
from memplan_gui.help_contents import Contents
from memplan_gui.help_text import page_document
from memplan_gui.keyboard_splitter import KeyboardSplitter
from memplan_gui.pieces import column, label, row, scaled, tool_button, window_size
from memplan_gui.presenters.help import PAGES, HelpPages, topic_of_link
from memplan_gui.screen_room import within_screen
from memplan_gui.theme import Theme

SIZE = QSize(1000, 720)
LEAST_SIZE = QSize(560, 400)
CONTENTS_WIDTH = 250
WIDEST_PAGE = 860
"""Lines that are longer are hard to read."""
ROUNDING = 4
TOPIC = Qt.ItemDataRole.UserRole
MOST_HITS = 60


class Page(QTextBrowser):
    """Shows a page, and hands every link to the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setOpenLinks(False)
        self.setAccessibleName(tr("Help page"))
        self.setObjectName("help_page")
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    def loadResource(self, kind: int, name: QUrl | str) -> None:  # noqa: N802  # Qt's name
        """Load nothing: a page is its text."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep lines short enough to be read."""
        widest = scaled(WIDEST_PAGE)
        self.setViewportMargins(0, 0, max(0, self.width() - widest), 0)
        super().resizeEvent(event)
        self.settle()

    def settle(self) -> None:
        """Scroll sideways only where something is cut: what cells are rounded up by is nothing to scroll for."""
        policy, over = Qt.ScrollBarPolicy, self.document().size().width() - self.viewport().width()
        self.setHorizontalScrollBarPolicy(policy.ScrollBarAsNeeded if over > ROUNDING else policy.ScrollBarAlwaysOff)


class HelpWindow(QWidget):
    """One for each window of a plan; it stays beside that and blocks nothing."""

    def __init__(self, parent: QWidget, pages: HelpPages, theme: Theme) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._pages, self._theme = pages, theme
        self._visited: list[tuple[str, int]] = []
        self._at = -1
        self._page = ""
        self._places: dict[str, int] = {}
        self.setWindowTitle(tr("Help — memplan"))
        self.setMinimumSize(within_screen(LEAST_SIZE))
        self.resize(window_size(SIZE))
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Search in Help"))
        self.search.setAccessibleName(tr("Search in Help"))
        self.search.setClearButtonEnabled(True)
        self.contents = Contents()
        self.page = Page()
        self.back = tool_button("flat", tr("Back"), tip=tr("Back (Alt+Left)"))
        self.forward = tool_button("flat", tr("Forward"), tip=tr("Forward (Alt+Right)"))
        self._arrange()
        self._wire()
        self._list_contents()
        self._draw()

    def show_topic(self, topic: str) -> None:
        """Show a page, or a heading of it: "levers#checkpointing"."""
        self._remember_place()
        del self._visited[self._at + 1 :]
        self._visited.append((topic, -1))
        self._at = len(self._visited) - 1
        self._go()

    @property
    def topic(self) -> str:
        """What is shown."""
        return self._visited[self._at][0] if self._visited else ""

    def go_back(self, steps: int = 1) -> None:
        """Show what was shown before; negative steps go forward again."""
        if 0 <= self._at - steps < len(self._visited):
            self._remember_place()
            self._at -= steps
            self._go()

    def _arrange(self) -> None:
        self.back.setText("←")
        self.forward.setText("→")
        side, head = QWidget(), row(spacing=4)
        head.addWidget(self.back)
        head.addWidget(self.forward)
        head.addWidget(self.search, 1)
        self._found = label("", "caption")
        self._found.hide()
        parts = column(side, spacing=8, margins=(12, 12, 4, 12))
        parts.addLayout(head)
        parts.addWidget(self._found)
        parts.addWidget(self.contents, 1)
        halves = KeyboardSplitter(Qt.Orientation.Horizontal, tr("Line between contents and page"), self._theme)
        halves.addWidget(side)
        halves.addWidget(self.page)
        halves.setStretchFactor(1, 1)
        QWidget.setTabOrder(self.contents, halves.handle(1))
        halves.setSizes([scaled(CONTENTS_WIDTH, 1.7), SIZE.width()])
        column(self).addWidget(halves)
        self.setObjectName("help")

    def _wire(self) -> None:
        self.search.textChanged.connect(self._search)
        self.search.returnPressed.connect(self._take_first)
        self.contents.itemActivated.connect(lambda item: self._take(item))
        self.contents.itemClicked.connect(lambda item: self._take(item))
        self.page.anchorClicked.connect(self._follow)
        self.back.clicked.connect(lambda: self.go_back())
        self.forward.clicked.connect(lambda: self.go_back(-1))
        self._theme.changed.connect(self._draw)
        for keys, slot in (
            (QKeySequence.StandardKey.Back, self.go_back),
            (QKeySequence.StandardKey.Forward, lambda: self.go_back(-1)),
            (QKeySequence.StandardKey.Find, self._start_search),
            (QKeySequence("Escape"), self._escape),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)

    def _list_contents(self) -> None:
        """The pages, and under each its headings."""
        self._found.hide()
        self.contents.clear()
        for page, title in PAGES.items():
            item = QTreeWidgetItem(self.contents, [translated(title)])
            item.setData(0, TOPIC, page)
            for section in self._pages.sections(page) if page == self._page else ():
                if section.level == 2:
                    below = QTreeWidgetItem(item, [section.heading])
                    below.setData(0, TOPIC, section.topic)
                    below.setToolTip(0, section.heading)
            item.setExpanded(page == self._page)
            if page == self._page:
                self.contents.setCurrentItem(item)
        self.contents.fit()

    def _search(self, query: str) -> None:
        if not query.strip():
            self._list_contents()
            self._mark("")
            return
        found = self._pages.search(query)
        self.contents.clear()
        for section in found[:MOST_HITS]:
            item = QTreeWidgetItem(self.contents, [section.title])
            item.setData(0, TOPIC, section.topic)
            item.setToolTip(0, section.title)
        self.contents.fit()
        count = len(found)
        places = tr_n("{count} place", "{count} places", count).format(count=count)
        self._found.setText(places if count else tr("Nothing found"))
        self._found.show()
        self._mark(query)

    def _take_first(self) -> None:
        first = self.contents.topLevelItem(0)
        if self.search.text().strip() and first is not None:
            self.contents.setCurrentItem(first)
            self._take(first)

    def _take(self, item: QTreeWidgetItem) -> None:
        topic = str(item.data(0, TOPIC))
        if topic != self.topic:
            self.show_topic(topic)

    def _follow(self, link: QUrl) -> None:
        """Go where a link of the page leads; one that leaves Help opens in the browser, because it was clicked."""
        topic = topic_of_link(link.toString(), self._page)
        if topic is not None:
            self.show_topic(topic)
        elif link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)

    def _go(self) -> None:
        topic, scrolled = self._visited[self._at]
        page, _, place = topic.partition("#")
        if page != self._page:
            self._fill(page)
            if not self.search.text().strip():
                self._list_contents()
        bar = self.page.verticalScrollBar()
        bar.setValue(scrolled if scrolled >= 0 else self._height_of(place))
        self.back.setEnabled(self._at > 0)
        self.forward.setEnabled(self._at < len(self._visited) - 1)
        self._mark(self.search.text())

    def _fill(self, page: str) -> None:
        self._page = page
        try:
            markdown = self._pages.markdown(page)
        except MemplanError as problem:
            markdown = f"# {PAGES.get(page, page)}\n\n{problem}"
        document, self._places = page_document(markdown, self._theme, self.page)
        self.page.setDocument(document)
        self.page.settle()
        self.page.setAccessibleDescription(translated(PAGES.get(page, page)))

    def _height_of(self, place: str) -> int:
        """How far down a heading stands."""
        if place not in self._places:
            return 0
        document = self.page.document()
        block = document.findBlock(self._places[place])
        return round(document.documentLayout().blockBoundingRect(block).top())

    def _remember_place(self) -> None:
        if self._visited:
            self._visited[self._at] = self.topic, self.page.verticalScrollBar().value()

    def _mark(self, query: str) -> None:
        """Show where the words that are searched for stand in the page."""
        marks: list[QTextBrowser.ExtraSelection] = []
        for word in query.split():
            cursor = self.page.document().find(word)
            while not cursor.isNull() and len(marks) < 500:
                mark = QTextBrowser.ExtraSelection()
                mark.cursor = QTextCursor(cursor)
                mark.format.setBackground(self._theme.colour("accent_soft"))
                marks.append(mark)
                cursor = self.page.document().find(word, cursor)
        self.page.setExtraSelections(marks)

    def _start_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _escape(self) -> None:
        """Give up the search; where there is none, the window."""
        if self.search.text():
            self.search.clear()
        else:
            self.close()

    def _draw(self) -> None:
        """Take the theme's colours."""
        if self._page:
            scrolled = self.page.verticalScrollBar().value()
            self._fill(self._page)
            self.page.verticalScrollBar().setValue(scrolled)
            self._mark(self.search.text())
