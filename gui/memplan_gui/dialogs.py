"""Questions and messages that need an answer. Everything else is said in the window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLabel, QMessageBox, QWidget

from memplan import Scenario, __version__, facts_at, tr, tr_later, translated
from memplan_gui.icons import pixmap
from memplan_gui.pieces import limit_lines, window_size
from memplan_gui.theme import Theme

NAME_SIZE = QSize(440, 110)
"""Of the question for a name: the longest automatic one is seen whole."""
Kinds = tuple[tuple[str, str], ...]
"""Kinds of files for a file dialog: what each is called, and the names that it has."""
_ALL = (tr_later("All files"), "*")
_SVG, _PDF = (tr_later("SVG picture"), "*.svg"), ("PDF", "*.pdf")
PLAN_KINDS: Kinds = ((tr_later("Plans"), "*.memplan"),)
OPEN_KINDS: Kinds = ((tr_later("Plans and model configurations"), "*.memplan *.json"), _ALL)
CONFIG_KINDS: Kinds = ((tr_later("Model configurations"), "*.json"), _ALL)
IMPORT_KINDS: Kinds = ((tr_later("Trainer configurations"), "*.yaml *.yml *.json *.toml *.safetensors"), _ALL)
LOG_KINDS: Kinds = ((tr_later("Logs"), "*.log *.txt *.out *.err"), _ALL)
SHEET_KINDS: Kinds = (_PDF, (tr_later("PNG picture"), "*.png"), _SVG)
FINEST_PNG = (tr_later("PNG picture, four times as fine"), "*.png")
TABLE_KINDS: Kinds = ((tr_later("Table as CSV"), "*.csv"), (tr_later("Table as Markdown"), "*.md"))
CHART_KINDS: Kinds = ((tr_later("PNG picture, twice as fine"), "*.png"), FINEST_PNG, _SVG, _PDF, *TABLE_KINDS)

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
        "save": (tr("Save"), _Role.AcceptRole),
        "discard": (tr("Do not save"), _Role.DestructiveRole),
        "cancel": (tr("Cancel"), _Role.RejectRole),
    }
    return _ask(
        parent,
        tr("Save the changes to “{name}”?").format(name=name),
        tr("Without saving they are lost."),
        answers,
        usual="save",
    )


def ask_about_recovery(parent: QWidget, name: str) -> RecoveryWish:
    """Ask what becomes of work that was not saved when memplan last ended."""
    answers: dict[RecoveryWish, Button] = {
        "open": (tr("Open it"), _Role.AcceptRole),
        "discard": (tr("Throw it away"), _Role.DestructiveRole),
        "later": (tr("Ask again later"), _Role.RejectRole),
    }
    text = tr("memplan ended before “{name}” was saved.").format(name=name)
    return _ask(parent, text, tr("What it held at the end was kept."), answers, usual="open")


def ask_name(parent: QWidget, name: str) -> str | None:
    """Ask what to call a scenario; None when the person thinks better of it."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle(tr("Rename scenario"))
    dialog.setLabelText(tr("Name"))
    dialog.setTextValue(name)
    dialog.resize(window_size(NAME_SIZE))
    limit_lines(dialog, facts_at(Scenario, "name").max_length)
    taken, text = dialog.exec(), dialog.textValue().strip()
    dialog.deleteLater()  # its parent would keep it
    return text if taken and text else None


def filter_of(kind: tuple[str, str]) -> str:
    """A kind of file as Qt's dialogs take it, and as the person reads it."""
    name, patterns = kind
    return f"{translated(name)} ({patterns})"


def ask_open(parent: QWidget | None, title: str, kinds: Kinds, folder: str) -> Path | None:
    """Ask for a file to open."""
    name, _ = QFileDialog.getOpenFileName(parent, title, folder, ";;".join(map(filter_of, kinds)))
    return Path(name) if name else None


def ask_open_several(parent: QWidget, title: str, kinds: Kinds, folder: str) -> list[Path]:
    """Ask for files to open together; none when the person thinks better of it."""
    names, _ = QFileDialog.getOpenFileNames(parent, title, folder, ";;".join(map(filter_of, kinds)))
    return [Path(name) for name in names]


def ask_save(parent: QWidget, title: str, kinds: Kinds, suggested: str) -> Path | None:
    """Ask for a file to write; a name without one of the endings on offer gets that of the chosen kind."""
    return ask_save_as_kind(parent, title, kinds, suggested)[0]


def ask_save_as_kind(parent: QWidget, title: str, kinds: Kinds, suggested: str) -> tuple[Path | None, tuple[str, str]]:
    """Ask for a file to write and which of the kinds it is of, where an ending does not say that.

    The file dialog asks about a file of the name that was typed. Where that is not the file that will be written, the
    same is asked here.
    """
    filters = {filter_of(kind): kind for kind in kinds}
    while True:
        name, chosen = QFileDialog.getSaveFileName(parent, title, suggested, ";;".join(filters))
        kind = filters.get(chosen, kinds[0])
        if not name:
            return None, kind
        path = with_ending(Path(name), kinds, kind)
        if path == Path(name) or not path.exists() or ask_replace(parent, path):
            return path, kind
        suggested = str(path)


def with_ending(path: Path, kinds: Kinds, chosen: tuple[str, str]) -> Path:
    """The path with the chosen kind's ending, unless it has one of those on offer: `plan.v2` has none of them."""
    endings = [pattern.removeprefix("*") for _, patterns in kinds for pattern in patterns.split()]
    if path.suffix.lower() in endings:
        return path
    return path.with_name(path.name.rstrip(".") + chosen[1].split()[0].removeprefix("*"))


def ask_replace(parent: QWidget, path: Path) -> bool:
    """Ask whether a file may be written over."""
    answers = {True: (tr("Replace"), _Role.DestructiveRole), False: (tr("Another name…"), _Role.RejectRole)}
    more = tr("A file of that name is in {folder} already. What it holds is lost.").format(folder=path.parent)
    return _ask(parent, tr("Replace “{name}”?").format(name=path.name), more, answers, usual=False)


def ask_about_other_version(parent: QWidget, path: Path) -> OtherVersionWish:
    """Ask what becomes of a file that somebody else wrote since it was read."""
    answers: dict[OtherVersionWish, Button] = {
        "overwrite": (tr("Overwrite"), _Role.DestructiveRole),
        "save_as": (tr("Save as…"), _Role.AcceptRole),
        "cancel": (tr("Cancel"), _Role.RejectRole),
    }
    text = tr("“{name}” was changed by another window or program since it was read here.").format(name=path.name)
    return _ask(parent, text, tr("Overwriting it loses those changes."), answers, usual="save_as")


def _ask(parent: QWidget, text: str, more: str, answers: Mapping[Answer, Button], *, usual: Answer) -> Answer:
    """Ask one question; Return gives the usual answer, Escape the one whose button rejects."""
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setText(text)
    box.setInformativeText(more)
    _show_plainly(box)
    buttons = {answer: box.addButton(*button) for answer, button in answers.items()}
    rejecting = next(answer for answer, (_, role) in answers.items() if role == _Role.RejectRole)
    box.setDefaultButton(buttons[usual])
    box.setEscapeButton(buttons[rejecting])
    box.exec()
    clicked = box.clickedButton()
    box.deleteLater()  # its parent would keep it
    return next((answer for answer, button in buttons.items() if button is clicked), rejecting)


def _show_plainly(box: QMessageBox) -> None:
    """Names and messages are shown, never interpreted; the box's own switch leaves out its second text."""
    for text in box.findChildren(QLabel):
        text.setTextFormat(Qt.TextFormat.PlainText)


def show_problem(parent: QWidget | None, title: str, text: str) -> None:
    """Say what went wrong, where the person must know it before going on."""
    box = QMessageBox(QMessageBox.Icon.Warning, "memplan", title, QMessageBox.StandardButton.Close, parent)
    box.setInformativeText(text)
    _show_plainly(box)
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.exec()
    box.deleteLater()


def show_about(parent: QWidget, theme: Theme) -> None:
    """Say what this is."""
    box = QMessageBox(parent)
    box.setWindowTitle(tr("About memplan"))
    box.setText(f"memplan {__version__}")
    box.setIconPixmap(pixmap("memplan", theme.colour("text"), 64, parent.devicePixelRatioF()))
    box.setInformativeText(
        tr(
            "Plans the GPU memory of training a large language model, before anyone pays for the GPUs.\n\n"
            "It works offline: nothing leaves this computer."
        )
    )
    box.exec()
    box.deleteLater()
