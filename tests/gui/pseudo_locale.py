"""A language that nobody speaks: every letter has an accent, every text is 40% longer, and what no translator is given
stays English, so that one sees it."""

from __future__ import annotations

import re
from functools import lru_cache

from babel.messages.pofile import read_po

from tools.make_translation_template import TEMPLATE

PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ACCENTED = "áƀçðéƒĝĥíĵķļɱñöþǫŕšţüṽŵẋýžÁƁÇÐÉƑĜĤÍĴĶĻṀÑÖÞǪŔŠŢÜṼŴẊÝŽ"
LONGER = 0.4
_ACCENTS = str.maketrans(PLAIN, ACCENTED)
_PLACEHOLDER = re.compile(r"(\{\w+\})")


def accented(text: str) -> str:
    """A text in that language, what is filled into it as it is.

    >>> accented("Undo {step}")
    '[Üñðö {step} ~~~~]'
    """
    parts = _PLACEHOLDER.split(text)
    words = "".join(part if _PLACEHOLDER.fullmatch(part) else part.translate(_ACCENTS) for part in parts)
    more = "~" * max(1, round(len(text) * LONGER))
    return f"[{words} {' '.join(re.findall('~{1,5}', more))}]"


class PseudoCatalog:
    """As a translator would make it of the template: complete, and of nothing else."""

    def __init__(self) -> None:
        with TEMPLATE.open("rb") as file:
            ids = [message.id for message in read_po(file) if message.id]
        self._known = {one for text in ids for one in (text if isinstance(text, tuple) else (text,))}

    def gettext(self, message: str) -> str:
        return accented(message) if message in self._known else message

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@lru_cache
def pseudo_catalog() -> PseudoCatalog:
    """One for all tests: reading the template takes its time."""
    return PseudoCatalog()
