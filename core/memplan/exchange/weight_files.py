"""safetensors files: which dtypes they hold and how many values, from their headers alone. No weight is read."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.disk import refuse_pipe
from memplan.errors import MemplanError
from memplan.number_style import number

_MOST_HEADER_BYTES = 100_000_000
"""The format's own limit (huggingface/safetensors, MAX_HEADER_SIZE)."""
_MOST_FILES = 2_000


def weights_facts(files: Sequence[Path], place: str) -> dict[str, Any]:
    """Count a model's stored values by dtype.

    Args:
        files: the model's safetensors files.
        place: what to call them in messages.

    Returns:
        `values`: how many of each dtype, under safetensors' names (BF16, F32, U8); `files`: how many there are.

    Raises:
        MemplanError: a file is no safetensors file.
    """
    if len(files) > _MOST_FILES:
        raise MemplanError(f"the folder holds more than {number(_MOST_FILES)} safetensors files.", place=place)
    values: Counter[str] = Counter()
    for file in files:
        for dtype, count in _header(file):
            values[dtype] += count
    return {"values": dict(values), "files": len(files)}


def _header(file: Path) -> list[tuple[str, int]]:
    try:
        refuse_pipe(file)
        with file.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            if size > _MOST_HEADER_BYTES:
                raise _refused(file)
            text = stream.read(size)
    except OSError as problem:
        raise MemplanError(f"{(problem.strerror or 'cannot be read').lower()}.", place=str(file)) from None
    if len(text) < size:
        raise MemplanError("ends within its header: the file is truncated.", place=str(file))
    try:
        header = json.loads(text)
        return [_tensor(entry) for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _refused(file) from None


def _tensor(entry: dict[str, Any]) -> tuple[str, int]:
    shape = entry["shape"]
    if not all(type(size) is int and 0 <= size < 2**48 for size in shape) or len(shape) > 32:
        raise ValueError("shape")
    return str(entry["dtype"]), math.prod(shape)


def _refused(file: Path) -> MemplanError:
    return MemplanError("is no safetensors file: its header cannot be read.", place=str(file))
