"""In a language of its own every text of the window is that language's: what stays English is found, view by view."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTableView,
    QWidget,
)

from memplan import install_catalog
from memplan_gui.charts.look import ChartLook
from tests.gui.pseudo_locale import pseudo_catalog


@pytest.fixture(autouse=True)
def another_language() -> Iterator[None]:
    install_catalog(pseudo_catalog())
    yield
    install_catalog(None)


OF_THE_PERSON = ("Llama-3.1-8B on A100 SXM4 80 GB", "Full fine-tune", "Fused optimizer", "LoRA, rank 16")
"""What the example's author wrote: its title, and what its scenarios are called."""
KEYS = "Ctrl Shift Alt Enter Tab Home End Escape"
NAMES = """
memplan Llama AdamW Adafactor LoRA QLoRA PyTorch Liger DeepSpeed Megatron FSDP ZeRO NVIDIA AMD Apple Google Intel
SXM PCIe MiB GiB bytes config json Hugging Face nvidia SDPA
"""
"""Names of things, that are the same in every language."""
ALLOWED = {*KEYS.split(), *NAMES.split()}


def english(text: str) -> list[str]:
    """The words of a text that no translator was given: those without an accent, but for names."""
    for known in OF_THE_PERSON:
        text = text.replace(known, "")
    text = re.sub(r"<[^>]+>|&\w+;", " ", text)
    return [word for word in re.findall(r"(?<![\w.])[A-Za-z]{3,}(?![\w])", text) if word not in ALLOWED]


def texts_of(owner: QWidget) -> Iterator[tuple[str, str]]:
    """Every text of what is on screen in a window, with what shows it."""
    for widget in (owner, *owner.findChildren(QWidget)):
        if widget is not owner and not widget.isVisibleTo(owner):
            continue
        kind = widget.metaObject().className()
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
            yield from ((f"{kind} {widget.accessibleName()} {how}", text) for how, text in texts_in(widget.model()))


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
    return ""


def texts_in(model: QAbstractItemModel) -> Iterator[tuple[str, str]]:
    """Headings and cells of a table."""
    shown = Qt.ItemDataRole.DisplayRole
    for side, count in ((Qt.Orientation.Horizontal, model.columnCount()), (Qt.Orientation.Vertical, model.rowCount())):
        yield from (("heading", str(model.headerData(at, side, shown) or "")) for at in range(count))
    for row in range(min(model.rowCount(), 40)):
        for column in range(model.columnCount()):
            yield f"cell {column}", str(model.index(row, column).data(shown) or "")


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
