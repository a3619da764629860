"""The window: it arranges and wires the parts, nothing else. Its shell is painted before the estimator is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import QMainWindow, QWidget

from memplan_gui.screen_room import within_screen
from memplan_gui.settings import Settings
from memplan_gui.theme import THEME_CHOICES, Theme

if TYPE_CHECKING:
    from memplan import LeverOffer
    from memplan_gui.actions import Menus
    from memplan_gui.answer_panel import AnswerPanel
    from memplan_gui.answers import Answers
    from memplan_gui.document import PlanDocument
    from memplan_gui.file_commands import FileCommands
    from memplan_gui.help_commands import HelpCommands
    from memplan_gui.import_commands import ImportCommands
    from memplan_gui.lever_menu import LeverMenu
    from memplan_gui.plan_panel import PlanPanel
    from memplan_gui.presenters.answer import Answer

DEFAULT_SIZE = QSize(1360, 900)
PANEL_WIDTH = 368
LEAST_SIZE = QSize(960, 600)
ZOOM = 0.8


class Window(QMainWindow):
    """One plan: what is asked at the left, what is answered at the right."""

    painted = Signal()
    """The shell is on screen."""
    closed = Signal()
    """The person closed it, and what was not saved is saved or given up."""
    new_wanted = Signal()
    """Another window is wanted."""
    quit_wanted = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self._theme, self._settings = theme, settings
        self._was_painted = self._is_given_up = False
        self.document: PlanDocument
        self.answers: Answers
        self.files: FileCommands
        self.imports: ImportCommands
        self.help: HelpCommands
        self.plan_panel: PlanPanel
        self.answer_panel: AnswerPanel
        self.is_filled = False
        self.setWindowTitle("memplan")
        self.setMinimumSize(self._theme.least_size(LEAST_SIZE))
        self.menus: Menus
        self.lever_menu: LeverMenu
        self._show_shell()
        self._restore_place()

    def fill(self, document: PlanDocument) -> None:
        """Put the document's plan into the shell."""
        from memplan_gui.actions import Menus
        from memplan_gui.answer_panel import AnswerPanel
        from memplan_gui.answers import Answers
        from memplan_gui.file_commands import FileCommands
        from memplan_gui.plan_panel import PlanPanel

        self._theme.take_style()
        self.menus = Menus(self)
        self.document = document
        document.setParent(self)
        self.answers = Answers(document, self)
        self.files = FileCommands(self, document, self._settings)
        self.plan_panel = PlanPanel(document, self._theme)
        self.answer_panel = AnswerPanel(document, self.answers, self._settings, self._theme)
        self._arrange()
        self._theme.dress()
        self._fill_menus()
        self._wire()
        self.set_unit(self._settings.unit)
        self.answers.refresh()
        self.setAcceptDrops(True)
        self.is_filled = True
        self._show_title()

    def load_chart(self) -> None:
        """Bring the chart in, last: what draws it takes longest to load."""
        self.answer_panel.chart.load_plot()
        self.answer_panel.splitter.share_soon()
        self.plan_panel.build_folds()

    def close_unasked(self) -> None:
        """Close it: what becomes of changes that are not saved was asked already."""
        self._is_given_up = True
        self.close()

    def set_unit(self, unit: str) -> None:
        """Show amounts in GiB or in GB."""
        chosen = self._settings.unit = "gb" if unit == "gb" else "gib"
        self.answers.set_unit(chosen)
        self.answer_panel.set_unit(chosen)
        self.plan_panel.set_unit(chosen)
        self.menus.actions["show_gb"].setChecked(chosen == "gb")

    def choose_theme(self, choice: str) -> None:
        """Light, dark, or the system's."""
        self._settings.theme = next(known for known in THEME_CHOICES if known == choice)
        self._theme.choose(self._settings.theme)
        self._fill_theme_menu()

    def toggle_lever(self, lever: str) -> None:
        """Flip a lever, as one undoable step."""
        from memplan_gui.presenters.levers import toggle_words

        offer = self.answers.offer(lever)
        if offer is not None and offer.scenario is not None:
            self.document.end_gesture()
            self.document.edit(f"scenarios[{self.document.current}]", offer.scenario, text=toggle_words(offer))
            self.document.end_gesture()

    def _show_shell(self) -> None:
        """The two grounds on which everything will stand. Anything more would have to be loaded first."""
        shell = QWidget()
        panel = QWidget(shell)
        panel.setAutoFillBackground(True)
        colours = panel.palette()
        colours.setColor(QPalette.ColorRole.Window, self._theme.colour("panel"))
        panel.setPalette(colours)
        panel.setGeometry(0, 0, PANEL_WIDTH, 10_000)
        self.menuBar()
        self.setCentralWidget(shell)

    def _arrange(self) -> None:
        from memplan_gui.pieces import row

        content = QWidget()
        halves = row(content)
        halves.addWidget(self.plan_panel)
        halves.addWidget(self.answer_panel, 1)
        self.setCentralWidget(content)
        self.answer_panel.splitter.restore(self._settings.state("views"))

    def _wire(self) -> None:
        panel, answers, document = self.answer_panel, self.answers, self.document
        answers.answered.connect(self._show_answer)
        answers.offered.connect(self._show_offers)
        panel.levers.toggled.connect(self.toggle_lever)
        panel.unit_switch.chosen.connect(self.set_unit)
        panel.export_button.clicked.connect(self.menus.actions["export_chart"].trigger)
        panel.chart.step_chosen.connect(self._show_step)
        panel.notice.closed.connect(self._notice_closed)
        panel.tabs.rename_wanted.connect(self._rename)
        panel.tabs.add_wanted.connect(self.menus.actions["duplicate"].trigger)
        self.plan_panel.config_wanted.connect(self.files.open_config)
        self.files.failed.connect(lambda text: panel.notice.say(text, "error"))
        self.files.done.connect(lambda: panel.notice.clear("error"))
        self.files.written.connect(panel.say)
        self.files.begun.connect(self.plan_panel.choose_title)
        document.replaced_whole.connect(lambda: panel.explain(None))
        document.file_changed.connect(self._show_title)
        document.changed.connect(lambda paths: self._show_title() if "title" in paths else None)

    def _fill_menus(self) -> None:
        from memplan_gui.actions import StepAction, views_menu
        from memplan_gui.lever_menu import LeverMenu
        from memplan_gui.recent_menu import RecentMenu
        from memplan_gui.showing_commands import OUTGOING

        stack = self.document.undo_stack
        steps = {"undo": StepAction(stack, self, back=True), "redo": StepAction(stack, self, back=False)}
        self.menus.fill(self._slots(), steps)
        self._fill_theme_menu()
        RecentMenu(self.menus.submenus["recent"], self.files, self._settings, self.answer_panel.notice)
        self.files.list_examples(self.menus.submenus["examples"])
        views_menu(self.menus.submenus["views"], self.answer_panel.views.titles, self.answer_panel.views.show_view)
        outgoing = [self.menus.actions[name] for name in OUTGOING]
        self.answer_panel.set_outgoing(outgoing, self.menus.actions["show_all"])
        self.lever_menu = LeverMenu(self.menus.submenus["levers"], self.answer_panel.levers, self.answers.finish)

    def _slots(self) -> dict[str, Callable[[], object]]:
        from memplan_gui.export_commands import ExportCommands
        from memplan_gui.help_commands import HelpCommands
        from memplan_gui.import_commands import ImportCommands
        from memplan_gui.scenario_commands import ScenarioCommands
        from memplan_gui.sheet_commands import SheetCommands
        from memplan_gui.showing_commands import ShowingCommands

        panel, files, chart = self.answer_panel, self.files, self.answer_panel.chart
        self.imports = ImportCommands(self, self.document, files)
        self.help = HelpCommands(self, panel, self._theme)
        return {
            **files.slots(),
            **self.imports.slots(),
            **ExportCommands(self, self.document, files, self._theme).slots(),
            **SheetCommands(self, self.document, self.answers, files, self._settings).slots(),
            **self.help.slots(),
            **ScenarioCommands(self, self.document).slots(),
            **ShowingCommands(self, self.document, panel, files, self._settings).slots(),
            "new_window": self.new_wanted.emit,
            "close_window": self.close,
            "quit": self.quit_wanted.emit,
            "show_gb": lambda: self.set_unit("gb" if self._settings.unit == "gib" else "gib"),
            "show_first_step": lambda: chart.choose_step("later" if chart.steps.value() == "first" else "first"),
            "zoom_in": lambda: chart.zoom(ZOOM),
            "zoom_out": lambda: chart.zoom(1 / ZOOM),
            "show_all": chart.show_all,
            "make_fit": panel.fit_button.click,
            "show_breakdown": lambda: panel.details.show_view(panel.details.breakdown),
            "show_explanation": lambda: panel.details.show_view(panel.details.explanation),
            "go_to_plan": self.plan_panel.focus_first,
            "go_to_chart": chart.take_keyboard,
        }

    def _show_answer(self, answer: Answer) -> None:
        """Show an answer everywhere; one that cannot be shown is a mistake, told in the verdict's place."""
        scenario = self.document.scenario
        try:
            self.answer_panel.show_answer(scenario, answer)
            self.plan_panel.show_answer(answer.estimate)
        except Exception as mistake:
            from memplan_gui.answers import mistake_words
            from memplan_gui.presenters.answer import Answer

            self.answer_panel.show_answer(scenario, Answer(None, mistake_words(mistake)))
            self.plan_panel.show_answer(None)

    def _show_offers(self, offers: tuple[LeverOffer, ...]) -> None:
        try:
            self.answer_panel.show_offers(offers, self.answers.offers_problem)
        except Exception as mistake:
            from memplan_gui.answers import mistake_words

            self.answer_panel.show_offers((), mistake_words(mistake))
        self.lever_menu.refresh()

    def _rename(self, position: int) -> None:
        self.document.show_scenario(position)
        self.menus.actions["rename"].trigger()

    def _show_step(self) -> None:
        self.menus.actions["show_first_step"].setChecked(self.answer_panel.chart.steps.value() == "first")

    def _show_title(self) -> None:
        self.setWindowTitle(self.document.title.replace("[*]", "[*][*]") + "[*] — memplan")  # twice, it is no mark
        self.setWindowModified(self.document.modified)
        self.setWindowFilePath(str(self.document.path or ""))

    def _notice_closed(self, kind: str) -> None:
        if kind == "hint":
            self._settings.knows_the_window = True

    def _fill_theme_menu(self) -> None:
        from memplan_gui.actions import theme_menu

        theme_menu(self.menus.submenus["theme"], self._settings.theme, self.choose_theme)

    def _restore_place(self) -> None:
        if not self.restoreGeometry(self._settings.state("geometry")):
            self.resize(within_screen(DEFAULT_SIZE))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Say once that the shell is on screen."""
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            self.painted.emit()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about changes that are not saved; remember the window's place."""
        if self.is_filled and not self._is_given_up and not self.files.may_go_on():
            event.ignore()
            return
        self._settings.set_state("geometry", self.saveGeometry())
        if self.is_filled:
            self._settings.set_state("views", self.answer_panel.splitter.saveState())
            self.document.undo_stack.disconnect(self)
        self._settings.save()
        event.accept()
        self.closed.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if _dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped: a plan, a model's config.json, trainers' configurations that go together."""
        if paths := _dropped(event):
            event.acceptProposedAction()
            self.imports.take(paths)


def _dropped(event: QDropEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
