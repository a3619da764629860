"""Reading trainers' files: several at once, which complete one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memplan.errors import MemplanError
from memplan.exchange.documents import Document, read_documents
from memplan.exchange.formats import read_all
from memplan.exchange.notes import ImportNote
from memplan.exchange.settling import settle
from memplan.number_style import number
from memplan.plan.scenario import Plan, Scenario

_MOST_FILES = 20


@dataclass(frozen=True, slots=True)
class Imported:
    """What files say together."""

    scenario: Scenario | None
    """None while something is asked."""
    files: tuple[tuple[str, str], ...]
    """Each file, and the format that it is in."""
    notes: tuple[ImportNote, ...]
    """What was understood, assumed, left out, ignored and is asked, in this order."""

    @property
    def questions(self) -> tuple[ImportNote, ...]:
        """What no file says and a person must."""
        return tuple(note for note in self.notes if note.kind == "asked")

    @property
    def plan(self) -> Plan | None:
        """A plan of the one scenario; None while something is asked."""
        if self.scenario is None:
            return None
        return Plan(title=self.scenario.name, notes=f"Imported from {self._names}.", scenarios=(self.scenario,))

    @property
    def _names(self) -> str:
        return ", ".join(dict.fromkeys(Path(file).name for file, _ in self.files))


def import_files(paths: Sequence[str | Path], answers: Mapping[str, Any] | None = None) -> Imported:
    """Read trainers' configurations, models' and adapters' files into one scenario.

    Args:
        paths: files, or folders of a model or adapter; each once. They are read as data: nothing in them is run.
        answers: the person's own word by the scenario's path, such as {"hardware.devices": 8, "model": {"catalog":
            "Qwen/Qwen3-8B"}}: it answers what is asked and counts before any file.

    Raises:
        MemplanError: a file cannot be read or is in no known format, a value in it cannot be taken, or two files
            contradict each other.
    """
    if not paths:
        raise MemplanError(
            "there is no file to read.", remedy="Give a trainer's configuration, or a model's config.json."
        )
    if not all(str(path).strip() for path in paths):
        raise MemplanError("the name of a file is empty.", remedy="Give a trainer's configuration.")
    if len(paths) > _MOST_FILES:
        raise MemplanError(f"{number(len(paths))} files are more than one run has; at most {_MOST_FILES} are read.")
    documents = [document for path in dict.fromkeys(map(Path, paths)) for document in read_documents(path)]
    return import_documents(documents, answers)


def import_documents(documents: Sequence[Document], answers: Mapping[str, Any] | None = None) -> Imported:
    """Put together what files say that were read already.

    Raises:
        MemplanError: as import_files.
    """
    readings = [reading for document in documents for reading in read_all(document)]
    main = next((reading for reading in readings if reading.trains), readings[0])
    settled = settle(readings, answers or {}, _name(main.file))
    files = tuple((reading.file, reading.title) for reading in readings)
    return Imported(settled.scenario, files, settled.notes)


def _name(file: str) -> str:
    """What to call the scenario: the file's name, or its folder's where files of that kind all have one name."""
    path = Path(file).absolute()
    return path.parent.name if path.stem in ("config", "adapter_config", "training_args") else path.stem
