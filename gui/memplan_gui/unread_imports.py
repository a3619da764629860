"""Imports without PySide's look into the source of each module."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unread_imports() -> Iterator[None]:
    """Import with Python's own `__import__`, which PySide keeps beside the one that it puts in its place.

    PySide's reads the source of every module for a mention of PySide6, so that those which ask for `__feature__` (other
    spellings of Qt's names) get it. None of memplan's does, and the reading takes a tenth of the start. Where PySide
    keeps no other, nothing changes. Source: PySide6 6.11, shibokensupport/signature/loader.py and feature.py.
    """
    hooked = builtins.__import__
    builtins.__import__ = getattr(builtins, "__orig_import__", hooked)
    try:
        yield
    finally:
        builtins.__import__ = hooked
