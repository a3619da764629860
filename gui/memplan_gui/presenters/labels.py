"""Short labels of other parts: a scenario's tab, the window's title, a file to export to."""

from __future__ import annotations

import re

MOST_TAB_LETTERS = 28


def tab_text(name: str) -> str:
    """A scenario's name, short enough for a tab; the whole of it is the tab's tooltip."""
    name = name.strip() or "unnamed"
    return name if len(name) <= MOST_TAB_LETTERS else name[: MOST_TAB_LETTERS - 1].rstrip() + "…"


def file_stem(*names: str) -> str:
    """Names joined to one that every file system takes.

    >>> file_stem("Llama 3.1 8B, SFT", "a/b")
    'Llama-3.1-8B-SFT-a-b'
    """
    text = " ".join(name for name in names if name.strip())
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[:120] or "plan"
