"""What an import tells a person: each thing that was understood, assumed, left out, ignored, or must be asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

NoteKind = Literal["misspelt", "understood", "assumed", "left_out", "ignored", "asked"]

AUTO = "auto"
"""What a field that may be empty is stated to be where the trainer works it out: the plan's null."""

NOTE_TITLES: dict[NoteKind, str] = {
    "misspelt": "Perhaps misspelt, and not read",
    "understood": "Understood",
    "assumed": "Assumed",
    "left_out": "Decides memory, but is not counted",
    "ignored": "Ignored",
    "asked": "Asked",
}


@dataclass(frozen=True, slots=True)
class ImportNote:
    """One line of the list."""

    kind: NoteKind
    title: str
    """The field of the plan, or the key of the file."""
    words: str
    """The value that was taken, or why it was not."""
    source: str = ""
    """Where it stands: "micro_batch_size in lora.yaml"; empty for what no file says."""
    path: str = ""
    """The field of the scenario, where there is one."""
    option: str = ""
    """The command line's option that answers what is asked, or says otherwise than was assumed."""
    value: Any = None
    """The field's value, where it has one."""
    why: str = ""
    """Why that was assumed: what `words` says behind the value."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A value that a file states."""

    value: Any
    file: str
    key: str
    weak: bool = False
    """Whether another file's word counts more, as a trainer's does over its launcher's."""

    @property
    def source(self) -> str:
        """Where it stands, short: "lora.r in config.yaml"."""
        return f"{self.key} in {Path(self.file).name}" if self.key else Path(self.file).name
