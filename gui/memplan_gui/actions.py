"""Every command of the window, declared once: menu, words, shortcut. The window adds what each one does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence, QUndoStack
from PySide6.QtWidgets import QMainWindow, QMenu

from memplan import tr, tr_later, translated


@dataclass(frozen=True, slots=True)
class Command:
    """One command. An id that ends in ":" opens a submenu, one that is "-" draws a line."""

    id: str
    menu: str
    text: str = ""
    shortcut: str = ""
    checkable: bool = False


MENUS = (tr_later("&File"), tr_later("&Edit"), tr_later("&Scenario"), tr_later("&View"), tr_later("&Help"))

COMMANDS: tuple[Command, ...] = (
    Command("new", "&File", "&New plan", "Ctrl+N"),
    Command("new_window", "&File", "Ne&w window", "Ctrl+Alt+N"),
    Command("open", "&File", "&Open…", "Ctrl+O"),
    Command("recent:", "&File", "Open &recent"),
    Command("open_config", "&File", "Open config.json as &model…", "Ctrl+Shift+O"),
    Command("import_files", "&File", "&Import trainer configurations…", "Ctrl+Shift+I"),
    Command("examples:", "&File", "Open an &example"),
    Command("-", "&File"),
    Command("save", "&File", "&Save", "Ctrl+S"),
    Command("save_as", "&File", "Save &as…", "Ctrl+Shift+S"),
    Command("-", "&File"),
    Command("export_chart", "&File", "Export c&hart…", "Ctrl+E"),
    Command("export_config", "&File", "Export &trainer configuration…", "Ctrl+Alt+E"),
    Command("export_sheet", "&File", "Export &design-review sheet…", "Ctrl+Shift+E"),
    Command("print_sheet", "&File", "&Print design-review sheet…", "Ctrl+P"),
    Command("-", "&File"),
    Command("close_window", "&File", "&Close window", "Ctrl+Shift+W"),
    Command("quit", "&File", "&Quit", "Ctrl+Q"),
    Command("undo", "&Edit", "&Undo", "Ctrl+Z"),
    Command("redo", "&Edit", "&Redo", "Ctrl+Shift+Z"),
    Command("-", "&Edit"),
    Command("copy_picture", "&Edit", "Copy chart as &picture", "Ctrl+Shift+P"),
    Command("copy_table", "&Edit", "Copy &table, as cells", "Ctrl+Shift+C"),
    Command("copy_text", "&Edit", "Copy table as te&xt", "Ctrl+Shift+X"),
    Command("copy_markdown", "&Edit", "Copy table as &Markdown", "Ctrl+Shift+M"),
    Command("duplicate", "&Scenario", "&Duplicate", "Ctrl+D"),
    Command("add", "&Scenario", "&Add with defaults", "Ctrl+Shift+N"),
    Command("rename", "&Scenario", "&Rename…", "F2"),
    Command("remove", "&Scenario", "Re&move", "Ctrl+W"),
    Command("-", "&Scenario"),
    Command("move_left", "&Scenario", "Move &left", "Ctrl+Shift+PgUp"),
    Command("move_right", "&Scenario", "Move r&ight", "Ctrl+Shift+PgDown"),
    Command("previous", "&Scenario", "&Previous", "Ctrl+PgUp"),
    Command("next", "&Scenario", "&Next", "Ctrl+PgDown"),
    Command("-", "&Scenario"),
    Command("make_fit", "&Scenario", "Make it &fit", "Ctrl+M"),
    Command("levers:", "&Scenario", "Le&vers"),
    Command("show_gb", "&View", "Amounts in &GB (10⁹ bytes)", "Ctrl+G", checkable=True),
    Command("show_first_step", "&View", "The &first step", "Ctrl+T", checkable=True),
    Command("-", "&View"),
    Command("zoom_in", "&View", "Zoom &in", "Ctrl+="),
    Command("zoom_out", "&View", "Zoom &out", "Ctrl+-"),
    Command("show_all", "&View", "Show &all of the chart", "Ctrl+0"),
    Command("-", "&View"),
    Command("views:", "&View", "&Views"),
    Command("show_breakdown", "&View", "&Breakdown", "Ctrl+B"),
    Command("show_explanation", "&View", "&Explanation", "Ctrl+I"),
    Command("go_to_plan", "&View", "Go to the &plan", "Ctrl+L"),
    Command("go_to_chart", "&View", "Go to the &chart", "Ctrl+K"),
    Command("-", "&View"),
    Command("theme:", "&View", "&Theme"),
    Command("help", "&Help", "&Help for what has the keyboard", "F1"),
    Command("-", "&Help"),
    Command("help_start", "&Help", "&First steps"),
    Command("help_recipes", "&Help", "&Recipes"),
    Command("help_levers", "&Help", "&Levers"),
    Command("help_why", "&Help", "&Why is my number different?"),
    Command("help_sharing", "&Help", "&Sheets and exports"),
    Command("help_glossary", "&Help", "&Glossary"),
    Command("help_method", "&Help", "The &method"),
    Command("help_keyboard", "&Help", "&Keyboard shortcuts"),
    Command("-", "&Help"),
    Command("show_log", "&Help", "Sh&ow log"),
    Command("about", "&Help", "&About memplan"),
)


class Menus:
    """The menu bar: empty menus at once, filled when there is something to command."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._menus = {title: window.menuBar().addMenu(translated(title)) for title in MENUS}
        self.actions: dict[str, QAction] = {}
        self.submenus: dict[str, QMenu] = {}

    def fill(self, slots: Mapping[str, Callable[[], object]], actions: Mapping[str, QAction]) -> None:
        """Add every command: as the action that is given for it (undo, redo), or as a new one with its slot."""
        for command in COMMANDS:
            menu = self._menus[command.menu]
            if command.id == "-":
                menu.addSeparator()
            elif command.id.endswith(":"):
                self.submenus[command.id[:-1]] = menu.addMenu(translated(command.text))
            else:
                action = actions.get(command.id) or self._action(command, slots[command.id])
                action.setShortcut(QKeySequence(command.shortcut))
                menu.addAction(action)
                self.actions[command.id] = action

    def _action(self, command: Command, slot: Callable[[], object]) -> QAction:
        action = QAction(translated(command.text), self._window, checkable=command.checkable)
        action.triggered.connect(lambda _=False: slot())
        return action


class StepAction(QAction):
    """Undo or redo, with what it would undo: "Undo sequence length"."""

    def __init__(self, stack: QUndoStack, window: QMainWindow, *, back: bool) -> None:
        super().__init__(window)
        self._back = back
        self.show_step(stack.undoText() if back else stack.redoText())
        self.setEnabled(stack.canUndo() if back else stack.canRedo())
        self.triggered.connect(stack.undo if back else stack.redo)
        (stack.undoTextChanged if back else stack.redoTextChanged).connect(self.show_step)
        (stack.canUndoChanged if back else stack.canRedoChanged).connect(self.setEnabled)

    def show_step(self, step: str) -> None:
        """Name another step; no step leaves the command's own words."""
        if not step:
            self.setText(tr("&Undo") if self._back else tr("&Redo"))
        else:
            self.setText((tr("&Undo {step}") if self._back else tr("&Redo {step}")).format(step=step))


def theme_menu(menu: QMenu, chosen: str, choose: Callable[[str], object]) -> None:
    """Fill a menu with the themes."""
    choices_menu(menu, {"system": tr("As the &system"), "light": tr("&Light"), "dark": tr("&Dark")}, chosen, choose)


def choices_menu(menu: QMenu, choices: Mapping[str, str], chosen: str, choose: Callable[[str], object]) -> None:
    """Fill a menu with choices of which one is on."""
    menu.clear()
    for value, text in choices.items():
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(value == chosen)
        action.triggered.connect(lambda _=False, value=value: choose(value))


def views_menu(menu: QMenu, titles: Iterable[str], show: Callable[[str], object]) -> None:
    """Fill a menu with the views; Alt and its number shows each."""
    for number, title in enumerate(titles, start=1):
        action = menu.addAction(f"&{number} {translated(title)}")
        action.setShortcut(QKeySequence(f"Alt+{number}"))
        action.triggered.connect(lambda _=False, title=title: show(title))
