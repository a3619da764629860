"""What people read, in their language: a catalog of gettext's, and the text as it stands here where there is none.

Nothing is translated before somebody installs a catalog; the window does at its start. So texts that stand in modules
and classes are marked there (`tr_later`) and translated where they are shown (`translated`).

    tr("Undo {step}").format(step=step)
    tr_n("{count} place", "{count} places", count).format(count=count)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Catalog(Hashable, Protocol):
    """What knows the texts of a language; `gettext.GNUTranslations` is one."""

    def gettext(self, message: str, /) -> str:
        """The text in the language; as it is where the catalog lacks it."""

    def ngettext(self, msgid1: str, msgid2: str, n: int, /) -> str:
        """The form of the text that goes with the count."""


_installed: Catalog | None = None
_english: ContextVar[bool] = ContextVar("_english", default=False)


def install_catalog(catalog: Catalog | None) -> None:
    """Translate everything that is shown from now on; None brings back the texts as they stand in the code."""
    global _installed
    _installed = catalog


@contextmanager
def in_english() -> Iterator[None]:
    """What is made within is in the language of the code: for files that other programs and persons read."""
    token = _english.set(True)
    try:
        yield
    finally:
        _english.reset(token)


def current_catalog() -> Catalog | None:
    """What translates here; None where texts stay as they are."""
    return None if _english.get() else _installed


def tr(text: str) -> str:
    """Translate a text of the code; what is filled into it is filled in afterwards.

    >>> tr("Undo {step}").format(step="sequence length")
    'Undo sequence length'
    """
    return text if _installed is None or _english.get() else _installed.gettext(text)


def tr_n(one: str, many: str, count: int) -> str:
    """Translate a text that depends on a count: languages have from one to six forms of it.

    >>> tr_n("{count} place", "{count} places", 2).format(count=2)
    '2 places'
    """
    if _installed is None or _english.get():
        return one if count == 1 else many
    return _installed.ngettext(one, many, count)


def tr_later(text: str) -> str:
    """Mark a text that is made before a catalog is there; `translated` translates it where it is shown."""
    return text


def translated(text: str) -> str:
    """Translate a text that is marked, or that the plan's model, a lever or a term has for itself."""
    return text if _installed is None or _english.get() or not text else _installed.gettext(text)
