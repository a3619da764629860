"""The cases of `files`: an input, and beside it `NAME.expect.json` with the exact scenario that it means.

with      other files that complete it, from its own folder
answers   the person's own word, by the scenario's path
scenario  every field that differs from a new scenario's, name and model's config left out
model     the catalog's id, or the config's model_type
asked     the options of what is asked, where there is no scenario
left_out, ignored   keys that the list names under these kinds (other than those that decide no memory or are empty)
error     words of the message, where it is refused
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memplan.errors import MemplanError
from memplan.exchange import Imported, import_files

FILES = Path(__file__).parent / "files"
CASES = sorted(FILES.rglob("*.expect.json"))
END = ".expect.json"
_PLAIN = ("Other keys", "Empty keys")


def name_of(case: Path) -> str:
    return case.relative_to(FILES).as_posix().removesuffix(END)


def expected(case: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(case.read_text(encoding="utf-8"))
    return content


def inputs(case: Path) -> list[Path]:
    """The case's input (a file or a folder) and those that go with it."""
    stem = case.name.removesuffix(END)
    own = [path for path in case.parent.glob(f"{stem}*") if path != case and path.name.partition(".")[0] == stem]
    assert len(own) == 1, own
    return [own[0], *(case.parent / other for other in expected(case).get("with", []))]


def outcome(case: Path) -> dict[str, Any]:
    """What an import of the case comes to, in the form of its expectation."""
    wanted = expected(case)
    found: dict[str, Any] = {name: wanted[name] for name in ("why", "with", "answers") if name in wanted}
    try:
        answers = {
            path: tuple(value) if isinstance(value, list) else value
            for path, value in wanted.get("answers", {}).items()
        }
        imported = import_files(inputs(case), answers)
    except MemplanError as problem:
        return {**found, "error": str(problem).replace(str(case.parent), "").replace("\\", "/").lstrip("/")}
    return {**found, **_told(imported)}


def _told(imported: Imported) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if imported.scenario is None:
        found["asked"] = [note.option for note in imported.questions]
    else:
        content = imported.scenario.model_dump(mode="json", exclude_defaults=True)
        model = content.pop("model")
        content.pop("name", None)
        found["model"] = (
            model.get("catalog") or model.get("name") if "config" not in model else model["config"]["model_type"]
        )
        found["scenario"] = content
    for kind in ("misspelt", "left_out", "ignored"):
        titles = sorted(note.title for note in imported.notes if note.kind == kind and note.title not in _PLAIN)
        if titles:
            found[kind] = titles
    return found
