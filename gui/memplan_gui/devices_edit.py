"""The count of devices, which is also written as nodes times devices of each."""

from __future__ import annotations

import re
from typing import Any

from PySide6.QtCore import Signal

from memplan_gui.fields import IntegerEdit
from memplan_gui.presenters.typed import typed_count

_NODES = re.compile(r"^\s*([^x×*]*[^x×*\s])\s*[x×*]\s*([^x×*]+?)\s*$", re.IGNORECASE)


class DevicesEdit(IntegerEdit):
    """Reads "16", and "2x8" as 16 in nodes of 8."""

    shaped = Signal(int)
    """How many devices a node has, once a count was given as so many nodes of them."""

    def __init__(self, *, optional: bool = False, unit: str = "") -> None:
        super().__init__(doubling=True, optional=optional, unit=unit)

    def _value_of(self, text: str) -> Any:
        found = _NODES.match(text)
        if found is None:
            return super()._value_of(text)
        return typed_count(found[1], self._unit) * typed_count(found[2], self._unit)

    def _done(self) -> None:
        found = _NODES.match(self.text()) if self.isModified() else None
        super()._done()
        if found is not None and not self.is_refused:
            self.shaped.emit(typed_count(found[2], self._unit))
