"""A person's word about the model, as a plan's file has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memplan.catalog import model as catalog_model
from memplan.disk import is_folder, is_missing
from memplan.errors import MemplanError, UnknownEntryError
from memplan.model_file import read_config
from memplan.units import parse_count


def model_answer(text: str, place: str = "") -> dict[str, Any]:
    """Take what a person typed for a model: its config.json (or folder), a name of the catalog, or a size like 7B.

    Args:
        text: what was typed.
        place: what to call the field in messages.

    Raises:
        MemplanError: it is none of them.
    """
    if not text.strip():
        raise MemplanError("is empty.", place=place, remedy="Give a model's config.json, its name, or a size like 7B.")
    path = Path(text)
    if not is_missing(path):
        folder = path if is_folder(path) else path.absolute().parent
        return {"config": read_config(path), "name": folder.name}
    try:
        return {"catalog": catalog_model(text).id}
    except UnknownEntryError as error:
        try:
            return {"parameters": parse_count(text), "name": text}
        except ValueError:
            words = f"{error.message.rstrip('.')}, no such file, and no size such as 7B."
            raise MemplanError(words, place=place, remedy=error.remedy) from None
