"""Contrast, by WCAG 2.2's own formula: 4.5:1 for text, 3:1 for what else must be seen; in both themes, everywhere."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QColor, QFont, QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from memplan import TERM_LOOKS, memory_map, text_on
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.map_marks import LABEL_GROUND, MapMarks, heat
from memplan_gui.colours import CARD_COLOURS, OVER, ROLES, Scheme
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import example_plan
from memplan_gui.presenters.memory_map import map_chart
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window

TEXT, GRAPHICS = 4.5, 3.0
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
GROUNDS = ("window", "panel", "field", "hover", "accent_soft")
WORDS = ("text", "muted", "accent", "fits", "tight", "does_not_fit")
"""Roles that something is written in."""
VIEWS = ("Memory", "Timeline", "Fit", "Make it fit", "Map", "Compare", "Diagnose", "Evidence")


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    parts = [part / 255 for part in QColor(colour).getRgb()[:3]]  # type: ignore[index]  # the stub says object
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_gives_what_wcag_says() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_stands_out_from_every_ground(scheme: Scheme) -> None:
    roles = ROLES[scheme]
    for word in WORDS:
        for ground in GROUNDS:
            assert contrast(getattr(roles, word), getattr(roles, ground)) >= TEXT, (word, ground)
    assert contrast(roles.faint, roles.field) >= TEXT  # what an empty field says
    assert contrast(roles.faint, roles.window) >= TEXT
    assert contrast(roles.on_accent, roles.accent) >= TEXT
    assert contrast(roles.window, roles.text) >= TEXT  # what was done is said so


@pytest.mark.parametrize("scheme", SCHEMES)
def test_frames_and_signs_stand_out(scheme: Scheme) -> None:
    roles = ROLES[scheme]
    for role in ("border", "accent", "fits", "tight", "does_not_fit", "muted"):
        for ground in ("window", "panel", "field"):
            assert contrast(getattr(roles, role), getattr(roles, ground)) >= GRAPHICS, (role, ground)
    assert contrast(roles.accent, roles.accent_soft) >= GRAPHICS
    assert contrast(OVER, roles.window) >= GRAPHICS


def test_text_on_segments_stands_out() -> None:
    for term, look in TERM_LOOKS.items():
        assert contrast(text_on(look.colour), look.colour) >= TEXT, term


@pytest.mark.parametrize("scheme", SCHEMES)
def test_edges_of_segments_stand_out(scheme: Scheme) -> None:
    """Where two meet, one of them or both stand out from the line between them; each stands out from the ground."""
    roles = ROLES[scheme]
    colours = {**{term: look.colour for term, look in TERM_LOOKS.items()}, **CARD_COLOURS}
    for (one, here), (other, there) in combinations(colours.items(), 2):
        assert max(contrast(roles.outline, here), contrast(roles.outline, there)) >= GRAPHICS, (one, other)
    for term, colour in colours.items():
        assert max(contrast(colour, roles.window), contrast(roles.outline, roles.window)) >= GRAPHICS, term


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lines_and_labels_of_the_map_stand_out_from_its_colours(scheme: Scheme) -> None:
    roles, scenario = ROLES[scheme], example_plan().scenarios[0]
    found = memory_map(scenario, tuple(range(1, 65)), tuple(2**power for power in range(8, 18)))
    look = ChartLook(roles, QFont(), QFont(), QFont())
    image = heat(MapMarks(map_chart(found, scenario, "gib"), QRectF(0, 0, 200, 200), look))
    colours = {QColor(image.pixel(x, y)).name() for x in range(0, 200, 5) for y in range(0, 200, 5)}
    assert len(colours) > 30
    for colour in colours:
        assert contrast(roles.text, colour) >= GRAPHICS, colour
        assert contrast(roles.text, mixed(roles.window, colour, LABEL_GROUND)) >= TEXT, colour


def mixed(over: str, under: str, share: float) -> str:
    """A colour laid over another."""
    pairs = zip(QColor(over).getRgb()[:3], QColor(under).getRgb()[:3], strict=True)  # type: ignore[index]  # the stub says object
    return QColor(*(round(a * share + b * (1 - share)) for a, b in pairs)).name()


def text_contrast(picture: QImage, place: QRect) -> float:
    """How far the darkest or lightest pixel is from what there is most of: text from its ground."""
    part = picture.copy(place).convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(part.constBits(), np.uint8).reshape(part.height(), part.bytesPerLine())
    values = rows[:, : part.width() * 4].reshape(part.height(), part.width(), 4)[..., :3] / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    luminances = (linear @ np.array([0.0722, 0.7152, 0.2126])).round(4).ravel()
    known, counts = np.unique(luminances, return_counts=True)
    ground = known[counts.argmax()]
    return float(max((max(one, ground) + 0.05) / (min(one, ground) + 0.05) for one in (known[0], known[-1])))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_word_on_screen_stands_out(qapp: QApplication, qtbot: QtBot, settings: Settings, scheme: Scheme) -> None:
    theme = Theme(qapp, scheme)
    window = Window(theme, settings)
    qtbot.addWidget(window, before_close_func=lambda opened: opened.document.undo_stack.setClean())
    window.show()
    window.fill(PlanDocument(example_plan()))
    window.load_chart()
    window.answers.finish()
    window.resize(1280, 900)
    window.answer_panel.notice.say("What to do first.", "hint")
    window.answer_panel.say("Written")
    faint: list[str] = []
    count = 0
    for title in VIEWS:
        window.answer_panel.views.show_view(title)
        view = window.answer_panel.views.view(title)
        if view is not None:
            view.finish()
        QApplication.processEvents()
        window.setFocus()
        picture = window.grab().toImage()
        for widget, place in written(window):
            count += 1
            if text_contrast(picture, place) < TEXT:
                faint.append(f"{title}: {told(widget)}: {text_contrast(picture, place):.2f}")
    theme.deleteLater()
    qapp.setStyleSheet("")
    assert not faint, "\n".join(faint)
    assert count > 300


def written(window: QWidget) -> list[tuple[QWidget, QRect]]:
    """Everything with words on it that works, and where it is seen."""
    kinds = (QLabel, QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QTabBar)
    found = []
    for kind in kinds:
        for widget in window.findChildren(kind):
            seen = widget.visibleRegion().boundingRect()
            if widget.isVisibleTo(window) and widget.isEnabled() and told(widget) and seen.height() > 12:
                found.append((widget, QRect(widget.mapTo(window, seen.topLeft()), seen.size())))
    return found


def told(widget: QWidget) -> str:
    """What stands on it."""
    if isinstance(widget, QLabel | QAbstractButton):
        return widget.text()
    if isinstance(widget, QLineEdit | QPlainTextEdit):
        return widget.placeholderText() or "text"
    return widget.currentText() if isinstance(widget, QComboBox) else widget.accessibleName()


def test_faint_words_are_found(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    faint, plain = QLabel("Hardly seen", owner), QLabel("Plainly seen", owner)
    plain.move(0, 40)
    owner.setStyleSheet("QWidget { background: white }")
    faint.setStyleSheet("color: #999999")
    plain.setStyleSheet("color: #444444")
    owner.resize(200, 80)
    owner.show()
    picture = owner.grab().toImage()
    assert text_contrast(picture, faint.geometry()) < TEXT <= text_contrast(picture, plain.geometry())
