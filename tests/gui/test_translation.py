"""In a language of its own every text of the window is that language's: what stays English is found, view by view.

Its texts are 40% longer as well: nothing may be cut, but what says itself in whole elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QTabBar,
    QTableView,
    QTreeWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

from memplan import catalog, import_files, install_catalog
from memplan_gui import dialogs
from memplan_gui.charts.look import ChartLook
from memplan_gui.document import PlanDocument
from memplan_gui.export_dialog import ExportDialog
from memplan_gui.first_plan import example_plan
from memplan_gui.help_window import HelpWindow
from memplan_gui.import_dialog import ImportDialog
from memplan_gui.log_dialog import LogDialog
from memplan_gui.mistake_dialog import MistakeDialog
from memplan_gui.window import Window
from tests.gui.pseudo_locale import accented, pseudo_catalog
from tests.gui.test_large_text import cut_words, look_at, overlaps

VIEWS = ("Memory", "Timeline", "Fit", "Make it fit", "Map", "Compare", "Diagnose", "Evidence")
RECIPE = Path(__file__).parents[1] / "core/exchange/files/axolotl"
OF_THE_PERSON = (
    *("Llama-3.1-8B on A100 SXM4 80 GB", "Full fine-tune", "Fused optimizer", "LoRA, rank 16", "a plan"),
    "Inference or training: Llama 3.1 8B",
)
"""What the examples' authors wrote: titles of plans, and what their scenarios are called."""
KEYS = "Ctrl Shift Alt Enter Tab Home End Escape PgUp PgDown Esc"
NAMES = """
memplan meta llama Llama AdamW Adafactor LoRA QLoRA PyTorch Liger DeepSpeed Megatron NVIDIA AMD Apple Google Intel Huawei
SXM TPU NVL CUDA PCIe MiB GiB SVG PDF PNG CSV Markdown dtype config json Hugging Face mlp norm proj weight self attn
embed tokens head
"""
"""Names of things, and of tensors, that are the same in every language."""
ALLOWED = {*KEYS.split(), *NAMES.split()}
COMPOSED = {
    "Diagnose": ("DiagnosisPart description", "QLabel text", "QComboBox text"),
    "Evidence": ("QLabel text", "EvidenceView description", "FigureTable cell"),
    "Timeline": ("FigureTable cell",),
}
"""What the core still puts together of pieces, or takes from the data of its evidence: CONTRIBUTING.md says which."""


@pytest.fixture(autouse=True)
def another_language(qapp: QApplication) -> Iterator[None]:
    install_catalog(pseudo_catalog())
    yield
    install_catalog(None)


@pytest.fixture
def example(open_window: Callable[..., Window]) -> Window:
    window = open_window(PlanDocument(example_plan()))
    for fold in window.plan_panel.findChildren(QAbstractButton):
        if fold.property("role") == "fold":
            fold.click()
    return window


def english(text: str) -> list[str]:
    """The words of a text that no translator was given: those without an accent, but for names."""
    for known in OF_THE_PERSON:
        text = text.replace(known, "")
    text = re.sub(r"<[^>]+>|&\w+;", " ", text).replace("&", "")
    return [word for word in re.findall(r"(?<![\w])[A-Za-z]{3,}(?![\w])", text) if word not in ALLOWED]


def texts_of(owner: QWidget) -> Iterator[tuple[str, str]]:
    """Every text of what is on screen in a window, with what shows it."""
    for widget in (owner, *owner.findChildren(QWidget)):
        if widget is not owner and not widget.isVisibleTo(owner) and not isinstance(widget, QMenu):
            continue
        if isinstance(widget.parentWidget(), QTabBar) or (isinstance(widget, QMenu) and widget.title() == ""):
            continue  # Qt's own arrows, and menus that fill themselves when they open
        kind = "QLabel" if isinstance(widget, QLabel) else widget.metaObject().className()
        for how, text in (
            ("name", widget.accessibleName()),
            ("description", widget.accessibleDescription()),
            ("tip", widget.toolTip()),
            ("status", widget.statusTip()),
            ("title", widget.windowTitle() if widget.isWindow() else ""),
            ("text", own_text(widget)),
        ):
            yield f"{kind} {how}", text
        for action in widget.actions():
            yield f"{kind} action", action.text()
        if isinstance(widget, QTableView):
            yield from ((f"{kind} {how}", text) for how, text in texts_in(widget.model()))
        if isinstance(widget, QTreeWidget):
            heads = widget.headerItem()
            yield from ((f"{kind} heading", heads.text(at)) for at in range(widget.columnCount()))


def own_text(widget: QWidget) -> str:
    """What stands on a widget, or in it while nothing is typed."""
    if isinstance(widget, QLabel | QAbstractButton):
        return widget.text()
    if isinstance(widget, QComboBox):
        return "\n".join(widget.itemText(at) for at in range(widget.count()))
    if isinstance(widget, QTabBar):
        return "\n".join(widget.tabText(at) for at in range(widget.count()))
    if isinstance(widget, QLineEdit | QPlainTextEdit):
        return widget.placeholderText()
    return widget.title() if isinstance(widget, QMenu) else ""


def texts_in(model: QAbstractItemModel) -> Iterator[tuple[str, str]]:
    """Headings and cells of a table, but for names of devices."""
    shown, devices = Qt.ItemDataRole.DisplayRole, {device.name for device in catalog.devices()}
    for side, count in ((Qt.Orientation.Horizontal, model.columnCount()), (Qt.Orientation.Vertical, model.rowCount())):
        yield from (("heading", str(model.headerData(at, side, shown) or "")) for at in range(count))
    for row in range(min(model.rowCount(), 40)):
        for column in range(model.columnCount()):
            text = str(model.index(row, column).data(shown) or "")
            yield "cell", "" if text in devices else text


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What charts write."""
    texts: list[str] = []
    write = ChartLook.write

    def note(look: ChartLook, painter: QPainter, kind: str, text: str, *place: object) -> None:
        texts.append(text)
        write(look, painter, kind, text, *place)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(ChartLook, "write", note)
    return texts


def modes_of(window: Window, title: str) -> Iterator[str]:
    """Show a view in each of its modes, answered."""
    look_at(window, title)
    yield title
    view = window.answer_panel.views.view(title)
    for button in view.findChildren(QAbstractButton) if view is not None else ():
        if button.property("role") == "segment" and button.isVisibleTo(window):
            button.click()
            assert view is not None
            view.finish()
            QApplication.processEvents()
            yield f"{title}: {button.text()}"


@pytest.mark.parametrize("title", VIEWS)
def test_nothing_fixed_stays_english_in_a_view(example: Window, painted: list[str], title: str) -> None:
    for mode in modes_of(example, title):
        texts = [*texts_of(example), *(("painted", text) for text in painted)]
        left = {(where, text) for where, text in texts if english(text) and where not in COMPOSED.get(title, ())}
        assert not left, mode
        painted.clear()
    assert len(texts) > 100


def test_nothing_fixed_stays_english_in_menus_and_undo(example: Window) -> None:
    example.document.edit("scenarios[0].training.sequence_length", 4096)
    example.menus.submenus["levers"].aboutToShow.emit()
    menus = [menu for menu in example.findChildren(QMenu) if menu is not example.menus.submenus["examples"]]
    left = {action.text() for menu in menus for action in menu.actions() if english(action.text())}
    assert not left
    assert example.menus.actions["undo"].text() == accented("&Undo {step}").format(step=accented("Sequence length"))


@pytest.fixture
def opened_dialogs(example: Window, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[QWidget]]:
    """Each dialog, and Help."""
    recipe = sorted(RECIPE.glob("*.y*ml"))[0]
    asked: list[QMessageBox] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box))
    dialogs.ask_about_changes(example, "a plan")
    dialogs.ask_about_recovery(example, "a plan")
    dialogs.ask_replace(example, Path("/tmp/a plan"))
    dialogs.ask_about_other_version(example, Path("/tmp/a plan"))
    example.menus.actions["help"].trigger()
    made: list[QWidget] = [
        ImportDialog(example, [recipe], import_files([recipe])),
        ExportDialog(example, example.document.plan.scenarios, 0, "axolotl", example.answer_panel._theme),
        MistakeDialog(example, "a report", is_kept=True),
        LogDialog(example, Path("/tmp/none.log")),
    ]
    yield [*made, *asked, *example.findChildren(HelpWindow)]
    for dialog in (*made[:2], *asked):
        dialog.deleteLater()
    for dialog in made[2:]:
        dialog.close()


def test_nothing_fixed_stays_english_in_dialogs(opened_dialogs: list[QWidget]) -> None:
    for dialog in opened_dialogs:
        dialog.show()
        QApplication.processEvents()
        of_a_file = ("cell", "QLabel text", "QPlainTextEdit", "QLineEdit description")
        composed = of_a_file if isinstance(dialog, ImportDialog | ExportDialog | LogDialog) else ()
        left = {
            (where, text)
            for where, text in texts_of(dialog)
            if english(text.replace("/tmp", "")) and text != "Cancel" and not any(kind in where for kind in composed)
        }
        assert not left, dialog
        assert texts_of(dialog)


def test_longer_words_are_not_cut_in_any_view(example: Window) -> None:
    problems = []
    for title in VIEWS:
        for mode in modes_of(example, title):
            problems += [f"{mode}: {words}" for words in (*cut_words(example), *overlaps(example))]
    assert not problems, "\n".join(problems)


def test_longer_words_are_not_cut_in_dialogs(opened_dialogs: list[QWidget]) -> None:
    for dialog in opened_dialogs:
        if isinstance(dialog, QDialog):
            dialog.show()
            QApplication.processEvents()
            assert [*cut_words(dialog), *overlaps(dialog)] == [], dialog


def test_a_text_that_no_translator_was_given_is_seen(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    QLabel(accented("Sequence length {count}").format(count="8,192"), owner).setToolTip(accented("Help"))
    QLabel("Sequence length", owner).setToolTip("GiB of a A100 SXM4")
    QLineEdit(owner).setPlaceholderText(f"{accented('For example')} none")
    owner.show()
    assert [(where, english(text)) for where, text in texts_of(owner) if english(text)] == [
        ("QLabel text", ["Sequence", "length"]),
        ("QLineEdit text", ["none"]),
    ]


def test_a_view_that_loses_its_translation_is_seen(example: Window) -> None:
    example.answer_panel.fit_button.setText("Make it fit")
    assert ("QToolButton text", "Make it fit") in {(where, text) for where, text in texts_of(example) if english(text)}
