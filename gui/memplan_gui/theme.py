"""Light, dark or the system's: colour roles turned into Qt's palette, fonts and style sheet, and told to who paints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

# `Qt`, the namespace, takes longer to load than all of this module: it is brought in after the first paint.
from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtGui import QColor, QFont, QFontInfo, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from memplan_gui.colours import ROLES, Roles, Scheme, high_contrast
from memplan_gui.screen_room import within_screen

if TYPE_CHECKING:
    from memplan_gui.charts.look import ChartLook

ThemeChoice = Literal["system", "light", "dark"]
THEME_CHOICES: tuple[ThemeChoice, ...] = ("system", "light", "dark")
TextSize = Literal["heading", "body", "caption"]
LEAST_BODY_PIXELS = 13
HALF_LIGHT = 128
MOST_LARGER = 1.4


class Theme(QObject):
    """The look of the application. One lives as long as the application does."""

    changed = Signal()

    def __init__(self, app: QApplication, choice: ThemeChoice = "system") -> None:
        super().__init__(app)
        self._app = app
        self._choice: ThemeChoice = choice
        self._has_style = self._is_dressed = False
        self._fonts: dict[tuple[TextSize, bool], QFont] = {}
        self._colours: dict[str, QColor] = {}
        self._chart_look: ChartLook | None = None
        self.body_pixels = max(LEAST_BODY_PIXELS, QFontInfo(app.font()).pixelSize())
        self.caption_pixels = self.body_pixels - 2
        self.heading_pixels = round(self.body_pixels * 1.6)
        font = app.font()
        font.setPixelSize(self.body_pixels)
        app.setFont(font)
        system_is_dark = app.palette().color(QPalette.ColorRole.Window).lightness() < HALF_LIGHT
        scheme: Scheme = "dark" if choice == "dark" or (choice == "system" and system_is_dark) else "light"
        self.roles: Roles = ROLES[scheme]
        app.setPalette(palette(self.roles))

    @property
    def zoom(self) -> float:
        """How much larger the text is than widths and heights are meant for."""
        return self.body_pixels / LEAST_BODY_PIXELS

    @property
    def choice(self) -> ThemeChoice:
        """What the person chose."""
        return self._choice

    def choose(self, choice: ThemeChoice) -> None:
        """Follow the system, or stay light or dark."""
        self._choice = choice
        self.apply()

    def take_style(self) -> None:
        """Decide on style, icon and colours, before anything is made in them. The first paint does not wait for it."""
        if not self._has_style:
            from memplan_gui.icons import icon_file

            self._has_style = True
            self._app.setStyle("Fusion")
            self._app.setWindowIcon(QIcon(str(icon_file("memplan"))))
            self._app.styleHints().colorSchemeChanged.connect(self._follow_system)
            self._take(self._wanted_roles())

    def dress(self) -> None:
        """Put the style sheet on what stands in its window.

        Under a sheet Qt styles a widget anew with each parent that it is given, so that the first window, made under
        one, took a tenth longer to come up; what is shown is the same.
        """
        self.take_style()
        if not self._is_dressed:
            self._is_dressed = True
            self._put_sheet_on()

    def apply(self) -> None:
        """Give the application its colours, where they are not already those."""
        roles = self._wanted_roles()
        if roles != self.roles:
            self._take(roles)
            self._put_sheet_on()
            self.changed.emit()

    def least_size(self, usual: QSize) -> QSize:
        """How small a window may become: larger text needs more room, as far as the screen has it."""
        return within_screen(usual * min(self.zoom, MOST_LARGER))

    def font(self, size: TextSize = "body", *, bold: bool = False) -> QFont:
        """One of the three text sizes, with digits of equal width."""
        known = self._fonts.get((size, bold))
        if known is None:
            pixels = {"heading": self.heading_pixels, "body": self.body_pixels, "caption": self.caption_pixels}[size]
            known = self._fonts[size, bold] = tabular(self._app.font(), pixels, bold=bold)
        return known

    def colour(self, role: str) -> QColor:
        """The colour of a role by its name in `Roles`."""
        known = self._colours.get(role)
        if known is None:
            known = self._colours[role] = QColor(getattr(self.roles, role))
        return known

    @property
    def chart_look(self) -> ChartLook:
        """What charts on screen are painted with: one look for all of them, which knows how wide their texts are."""
        if self._chart_look is None:
            from memplan_gui.charts.look import ChartLook

            fonts = self.font("body"), self.font("body", bold=True), self.font("caption")
            self._chart_look = ChartLook(self.roles, *fonts)
        return self._chart_look

    def _wanted_roles(self) -> Roles:
        from PySide6.QtCore import Qt

        hints = self._app.styleHints()
        wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark, "system": Qt.ColorScheme.Unknown}
        hints.setColorScheme(wanted[self._choice])  # native title bars follow; the offscreen platform ignores it
        is_dark = self._choice == "dark" or (self._choice == "system" and hints.colorScheme() == Qt.ColorScheme.Dark)
        roles = ROLES["dark" if is_dark else "light"]
        accessibility = hints.accessibility()
        asks_for_more = accessibility.contrastPreference() == Qt.ContrastPreference.HighContrast
        return high_contrast(roles) if asks_for_more else roles

    def _take(self, roles: Roles) -> None:
        self.roles = roles
        self._colours.clear()
        self._chart_look = None
        self._app.setPalette(palette(roles))

    def _put_sheet_on(self) -> None:
        from memplan_gui.icons import STYLE_SHEET_ICONS, icon_file
        from memplan_gui.stylesheet import style_sheet

        scheme = self.roles.scheme
        icons = {key: icon_file(f"{name}-{scheme}").as_posix() for key, name in STYLE_SHEET_ICONS.items()}
        self._app.setStyleSheet(
            style_sheet(
                self.roles,
                heading_pixels=self.heading_pixels,
                caption_pixels=self.caption_pixels,
                icons=icons,
                zoom=self.zoom,
            )
        )

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
