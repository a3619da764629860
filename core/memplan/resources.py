"""Finds the data files that come with memplan: in a checkout, in an installed wheel and in a frozen application."""

from __future__ import annotations

import sys
from pathlib import Path

from memplan.errors import MemplanError

_PACKAGE = Path(__file__).parent


def resource(*parts: str) -> Path:
    """Returns the path of a file or folder under `resources`, as `resource("catalog", "models.json")`.

    Raises:
        MemplanError: it is not there; the installation is incomplete.
    """
    roots = _roots()
    for root in roots:
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise MemplanError(
        "this file of memplan's own is missing.",
        place=str(roots[0].joinpath(*parts)),
        remedy="The installation is incomplete: install memplan again.",
    )


def _roots() -> tuple[Path, ...]:
    """Where resources can stand, most certain first. One answer is right in each kind of installation."""
    # PyInstaller unpacks data files beside its own; the package inside the bundle has no folder to look into.
    bundle: str | None = getattr(sys, "_MEIPASS", None)
    if bundle is not None:
        return (Path(bundle) / "resources",)
    return _PACKAGE / "resources", _PACKAGE.parent.parent / "resources"
