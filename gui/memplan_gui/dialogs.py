"""Questions and messages that need an answer. Everything else is said in the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from memplan import __version__
from memplan_gui.icons import pixmap
from memplan_gui.pieces import window_size
from memplan_gui.theme import Theme

NAME_SIZE = QSize(440, 110)
"""Of the question for a name: the longest automatic one is seen whole."""
PLAN_FILTER = "Plans (*.memplan)"
OPEN_FILTER = "Plans and model configurations (*.memplan *.json);;All files (*)"
CONFIG_FILTER = "Model configurations (*.json);;All files (*)"
IMPORT_FILTER = "Trainer configurations (*.yaml *.yml *.json *.toml *.safetensors);;All files (*)"
SHEET_FILTER = "PDF (*.pdf);;PNG picture (*.png);;SVG picture (*.svg)"
FINEST_PNG = "PNG picture, four times as fine (*.png)"
TABLE_FILTER = "Table as CSV (*.csv);;Table as Markdown (*.md)"
CHART_FILTER = f"PNG picture, twice as fine (*.png);;{FINEST_PNG};;SVG picture (*.svg);;PDF (*.pdf);;{TABLE_FILTER}"

Wish = Literal["save", "discard", "cancel"]
RecoveryWish = Literal["open", "discard", "later"]
OtherVersionWish = Literal["overwrite", "save_as", "cancel"]
_Role = QMessageBox.ButtonRole
Button = tuple[str, QMessageBox.ButtonRole]
"""What stands on it, and what pressing it means."""
Answer = TypeVar("Answer")


def ask_about_changes(parent: QWidget, name: str) -> Wish:
    """Ask what becomes of changes that are not saved."""
    answers: dict[Wish, Button] = {
        "save": ("Save", _Role.AcceptRole),
        "discard": ("Do not save", _Role.DestructiveRole),
        "cancel": ("Cancel", _Role.RejectRole),
    }
    return _ask(parent, f"Save the changes to “{name}”?", "Without saving they are lost.", answers, usual="save")


def ask_about_recovery(parent: QWidget, name: str) -> RecoveryWish:
    """Ask what becomes of work that was not saved when memplan last ended."""
    answers: dict[RecoveryWish, Button] = {
        "open": ("Open it", _Role.AcceptRole),
        "discard": ("Throw it away", _Role.DestructiveRole),
        "later": ("Ask again later", _Role.RejectRole),
    }
    text = f"memplan ended before “{name}” was saved."
    return _ask(parent, text, "What it held at the end was kept.", answers, usual="open")


def ask_name(parent: QWidget, name: str) -> str | None:
    """Ask what to call a scenario; None when the person thinks better of it."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle("Rename scenario")
    dialog.setLabelText("Name")
    dialog.setTextValue(name)
    dialog.resize(window_size(NAME_SIZE))
    taken, text = dialog.exec(), dialog.textValue().strip()
    dialog.deleteLater()  # its parent would keep it
    return text if taken and text else None


def ask_open(parent: QWidget | None, title: str, filters: str, folder: str) -> Path | None:
    """Ask for a file to open."""
    name, _ = QFileDialog.getOpenFileName(parent, title, folder, filters)
    return Path(name) if name else None


def ask_open_several(parent: QWidget, title: str, filters: str, folder: str) -> list[Path]:
    """Ask for files to open together; none when the person thinks better of it."""
    names, _ = QFileDialog.getOpenFileNames(parent, title, folder, filters)
    return [Path(name) for name in names]


def ask_save(parent: QWidget, title: str, filters: str, suggested: str) -> Path | None:
    """Ask for a file to write; a name without one of the endings on offer gets that of the chosen kind."""
    return ask_save_as_kind(parent, title, filters, suggested)[0]


def ask_save_as_kind(parent: QWidget, title: str, filters: str, suggested: str) -> tuple[Path | None, str]:
    """Ask for a file to write and which of the filters it is of, where an ending does not say that.

    The file dialog asks about a file of the name that was typed. Where that is not the file that will be written, the
    same is asked here.
    """
    while True:
        name, chosen = QFileDialog.getSaveFileName(parent, title, suggested, filters)
        if not name:
            return None, ""
        path = with_ending(Path(name), filters, chosen)
        if path == Path(name) or not path.exists() or ask_replace(parent, path):
            return path, chosen
        suggested = str(path)


def with_ending(path: Path, filters: str, chosen: str) -> Path:
    """The path with the chosen filter's ending, unless it has one of those on offer: `plan.v2` has none of them."""
    endings = [f".{ending}" for ending in re.findall(r"\*\.(\w+)", filters)]
    if path.suffix.lower() in endings:
        return path
    found = re.search(r"\*(\.\w+)", chosen)
    return path.with_name(path.name.rstrip(".") + (found[1] if found else endings[0]))


def ask_replace(parent: QWidget, path: Path) -> bool:
    """Ask whether a file may be written over."""
    answers = {True: ("Replace", _Role.DestructiveRole), False: ("Another name…", _Role.RejectRole)}
    more = f"A file of that name is in {path.parent} already. What it holds is lost."
    return _ask(parent, f"Replace “{path.name}”?", more, answers, usual=False)


def ask_about_other_version(parent: QWidget, path: Path) -> OtherVersionWish:
    """Ask what becomes of a file that somebody else wrote since it was read."""
    answers: dict[OtherVersionWish, Button] = {
        "overwrite": ("Overwrite", _Role.DestructiveRole),
        "save_as": ("Save as…", _Role.AcceptRole),
        "cancel": ("Cancel", _Role.RejectRole),
    }
    text = f"“{path.name}” was changed by another window or program since it was read here."
    return _ask(parent, text, "Overwriting it loses those changes.", answers, usual="save_as")


def _ask(parent: QWidget, text: str, more: str, answers: Mapping[Answer, Button], *, usual: Answer) -> Answer:
    """Ask one question; Return gives the usual answer, Escape the one whose button rejects."""
    box = QMessageBox(parent)
    box.setText(text)
    box.setInformativeText(more)
    buttons = {answer: box.addButton(*button) for answer, button in answers.items()}
    rejecting = next(answer for answer, (_, role) in answers.items() if role == _Role.RejectRole)
    box.setDefaultButton(buttons[usual])
    box.setEscapeButton(buttons[rejecting])
    box.exec()
    clicked = box.clickedButton()
    box.deleteLater()  # its parent would keep it
    return next((answer for answer, button in buttons.items() if button is clicked), rejecting)


def show_problem(parent: QWidget | None, title: str, text: str) -> None:
    """Say what went wrong, where the person must know it before going on."""
    box = QMessageBox(QMessageBox.Icon.Warning, "memplan", title, QMessageBox.StandardButton.Close, parent)
    box.setInformativeText(text)
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.exec()
    box.deleteLater()


def show_about(parent: QWidget, theme: Theme) -> None:
    """Say what this is."""
    box = QMessageBox(parent)
    box.setWindowTitle("About memplan")
    box.setText(f"memplan {__version__}")
    box.setIconPixmap(pixmap("memplan", theme.colour("text"), 64, parent.devicePixelRatioF()))
    box.setInformativeText(
        "Plans the GPU memory of training a large language model, before anyone pays for the GPUs.\n\n"
        "It works offline: nothing leaves this computer."
    )
    box.exec()
    box.deleteLater()
