"""Light, dark or the system's: colour roles turned into Qt's palette, fonts and style sheet, and told to who paints."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication

from memplan_gui.colours import ROLES, Roles, Scheme, high_contrast
from memplan_gui.icons import icon_file
from memplan_gui.stylesheet import style_sheet

ThemeChoice = Literal["system", "light", "dark"]
THEME_CHOICES: tuple[ThemeChoice, ...] = ("system", "light", "dark")
LEAST_BODY_PIXELS = 13


class Theme(QObject):
    """The look of the application. One lives as long as the application does."""

    changed = Signal()

    def __init__(self, app: QApplication, choice: ThemeChoice = "system") -> None:
        super().__init__(app)
        self._app = app
        self._choice: ThemeChoice = choice
        app.setStyle("Fusion")
        self.body_pixels = max(LEAST_BODY_PIXELS, QFontInfo(app.font()).pixelSize())
        self.caption_pixels = self.body_pixels - 2
        self.heading_pixels = round(self.body_pixels * 1.6)
        font = app.font()
        font.setPixelSize(self.body_pixels)
        app.setFont(font)
        self.roles: Roles = ROLES["light"]
        self._applied: Roles | None = None
        self.apply()
        app.styleHints().colorSchemeChanged.connect(self._follow_system)

    @property
    def choice(self) -> ThemeChoice:
        """What the person chose."""
        return self._choice

    def choose(self, choice: ThemeChoice) -> None:
        """Follow the system, or stay light or dark."""
        self._choice = choice
        self.apply()

    def apply(self) -> None:
        """Give the application its colours, where they are not already those."""
        hints = self._app.styleHints()
        wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark, "system": Qt.ColorScheme.Unknown}
        hints.setColorScheme(wanted[self._choice])  # native title bars follow; the offscreen platform ignores it
        roles = ROLES[self._scheme()]
        if _wants_high_contrast(self._app):
            roles = high_contrast(roles)
        if roles == self._applied:
            return
        self.roles = self._applied = roles
        self._app.setPalette(palette(roles))
        self._app.setStyleSheet(
            style_sheet(
                roles,
                heading_pixels=self.heading_pixels,
                caption_pixels=self.caption_pixels,
                chevron=icon_file(f"chevron-down-{roles.scheme}").as_posix(),
                close=icon_file(f"close-{roles.scheme}").as_posix(),
            )
        )
        self.changed.emit()

    def font(self, size: Literal["heading", "body", "caption"] = "body", *, bold: bool = False) -> QFont:
        """One of the three text sizes, with digits of equal width."""
        pixels = {"heading": self.heading_pixels, "body": self.body_pixels, "caption": self.caption_pixels}[size]
        return tabular(self._app.font(), pixels, bold=bold)

    def colour(self, role: str) -> QColor:
        """The colour of a role by its name in `Roles`."""
        return QColor(getattr(self.roles, role))

    def _scheme(self) -> Scheme:
        if self._choice != "system":
            return self._choice
        return "dark" if self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"

    def _follow_system(self) -> None:
        self.apply()


def tabular(font: QFont, pixels: int, *, bold: bool = False) -> QFont:
    """The font at a size, with digits of equal width so that columns of numbers line up."""
    sized = QFont(font)
    sized.setPixelSize(pixels)
    sized.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    sized.setFeature(QFont.Tag("tnum"), 1)
    return sized


def palette(roles: Roles) -> QPalette:
    """Qt's palette for what the style sheet leaves to the style: check boxes, dialogs, placeholder text."""
    result = QPalette()
    role = QPalette.ColorRole
    colours = {
        role.Window: roles.window,
        role.WindowText: roles.text,
        role.Base: roles.field,
        role.AlternateBase: roles.panel,
        role.Text: roles.text,
        role.PlaceholderText: roles.faint,
        role.Button: roles.field,
        role.ButtonText: roles.text,
        role.BrightText: roles.on_accent,
        role.Highlight: roles.accent,
        role.HighlightedText: roles.on_accent,
        role.Accent: roles.accent,
        role.Link: roles.accent,
        role.LinkVisited: roles.accent,
        role.ToolTipBase: roles.field,
        role.ToolTipText: roles.text,
        role.Light: roles.field,
        role.Midlight: roles.hover,
        role.Mid: roles.hairline,
        role.Dark: roles.border,
        role.Shadow: roles.border,
    }
    for name, colour in colours.items():
        result.setColor(name, QColor(colour))
    for name in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, name, QColor(roles.faint))
    return result


def _wants_high_contrast(app: QApplication) -> bool:
    return app.styleHints().accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast
