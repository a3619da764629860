"""What the application remembers between runs: theme, unit, window, recent files. Read before anything is painted."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

from PySide6.QtCore import QByteArray, QSettings

from memplan_gui.theme import THEME_CHOICES, ThemeChoice

UnitChoice = Literal["gib", "gb"]
MOST_RECENT = 10


class Forgotten:
    """Takes the place of what is remembered where nothing is to be read or written: for pictures of the window."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}

    def value(self, name: str, default: object = None) -> object:
        """What was set in this run."""
        return self._values.get(name, default)

    def setValue(self, name: str, value: object) -> None:  # noqa: N802  # as QSettings has it
        """Keep it for this run."""
        self._values[name] = value

    def sync(self) -> None:
        """Nothing is written."""


class Settings:
    """Remembered values; what is damaged or missing is the default."""

    def __init__(self, file: Path | None = None, *, forgotten: bool = False) -> None:
        self._store: QSettings | Forgotten
        ini = QSettings.Format.IniFormat
        if forgotten:
            self._store = Forgotten()
        elif file is not None:
            self._store = QSettings(str(file), ini)
        else:
            self._store = QSettings(ini, QSettings.Scope.UserScope, "memplan", "memplan")

    @property
    def theme(self) -> ThemeChoice:
        """Light, dark, or the system's."""
        return cast(ThemeChoice, self._one_of("theme", THEME_CHOICES))

    @theme.setter
    def theme(self, choice: ThemeChoice) -> None:
        self._store.setValue("theme", choice)

    @property
    def unit(self) -> UnitChoice:
        """GiB or GB."""
        return cast(UnitChoice, self._one_of("unit", ("gib", "gb")))

    @unit.setter
    def unit(self, unit: UnitChoice) -> None:
        self._store.setValue("unit", unit)

    @property
    def knows_the_window(self) -> bool:
        """Whether the person closed the line that says what to do first."""
        return str(self._store.value("knows_the_window", "no")) == "yes"

    @knows_the_window.setter
    def knows_the_window(self, known: bool) -> None:
        self._store.setValue("knows_the_window", "yes" if known else "no")

    @property
    def recent(self) -> list[Path]:
        """Plans opened or saved lately, latest first."""
        found = self._store.value("recent", [])
        names = found if isinstance(found, list) else [found]
        return [Path(name) for name in names if isinstance(name, str) and name][:MOST_RECENT]

    def add_recent(self, path: Path) -> None:
        """Remember a plan's file as the latest."""
        latest = path.absolute()
        names = [latest, *(other for other in self.recent if other != latest)]
        self._store.setValue("recent", [str(name) for name in names[:MOST_RECENT]])

    def forget_recent(self, path: Path | None = None) -> None:
        """Forget one file, or all of them."""
        left = [str(other) for other in self.recent if path is not None and other != path]
        self._store.setValue("recent", left)

    @property
    def favourites(self) -> list[str]:
        """Ids of the devices that the person marked."""
        found = self._store.value("favourites", [])
        names = found if isinstance(found, list) else [found]
        return [name for name in names if isinstance(name, str) and name]

    @favourites.setter
    def favourites(self, devices: list[str]) -> None:
        self._store.setValue("favourites", devices)

    def kept(self, usual: frozenset[str]) -> list[str]:
        """What must stay as it is while a plan is made to fit; the usual where nobody chose."""
        found = self._store.value("kept", None)
        names = found if isinstance(found, list) else [found]
        return list(usual) if found is None else [name for name in names if isinstance(name, str) and name]

    def set_kept(self, names: frozenset[str]) -> None:
        """Remember what must stay."""
        self._store.setValue("kept", sorted(names))

    def state(self, name: str) -> QByteArray:
        """The state of the window, or of a splitter in it; empty when unknown."""
        value = self._store.value(f"window/{name}")
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_state(self, name: str, state: QByteArray) -> None:
        """Remember the state of the window, or of a splitter in it."""
        self._store.setValue(f"window/{name}", state)

    def save(self) -> None:
        """Write everything down now."""
        self._store.sync()

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        value = str(self._store.value(name, allowed[0]))
        return value if value in allowed else allowed[0]
