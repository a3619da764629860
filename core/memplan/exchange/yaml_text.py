"""YAML from people's disks, as the trainers read it: YAML 1.1 by PyYAML's safe loader, nothing in it ever run.

The trainers' own reading decides what a value is (`no` is false, `2e-5` is text), so the same library reads it here.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

import yaml

from memplan.errors import MemplanError
from memplan.json_text import MAX_DEPTH, decoded
from memplan.number_style import number

_MOST_VALUES = 100_000
"""Values once every alias is written out; the longest trainer's file has a few hundred."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TwiceError(yaml.MarkedYAMLError):
    """A key that stands twice in one mapping."""


class _Loader(_LOADER):  # type: ignore[misc]  # one of two classes, by how PyYAML was built
    """Refuses what a person can not have meant: a key that stands twice, a tag that names code."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping whose keys are text."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    problem = f'the key "{key.value[:40]}" stands twice'
                    raise _TwiceError(problem=problem, problem_mark=key.start_mark)
                seen.add(key.value)
        self.flatten_mapping(node)
        return {
            key.value if isinstance(key, yaml.ScalarNode) else str(key.start_mark.line): self.construct_object(
                value, deep=True
            )
            for key, value in node.value
        }


def read_yaml(data: bytes, *, place: str, error: type[MemplanError] = MemplanError) -> Any:
    """Read one YAML document into plain values: mappings with text for keys, lists, text, numbers, booleans, None.

    Args:
        data: the file's bytes, UTF-8; a byte order mark is let pass.
        place: the file's name, for the message.
        error: which error to raise.

    Raises:
        MemplanError: why it cannot be read, with line and column where there are any.
    """
    text = decoded(data, place, error)
    try:
        _check_events(text, place, error)
        loader = _Loader(text)
        try:
            content = loader.get_single_data()
        finally:
            loader.dispose()
    except MemplanError:
        raise
    except yaml.MarkedYAMLError as problem:
        raise _in_words(problem, place, error) from None
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as problem:
        message = f"is not YAML that can be read: {str(problem).splitlines()[0][:120]}."
        raise error(message, place=place) from None
    return plain(content)


def _check_events(text: str, place: str, error: type[MemplanError]) -> None:
    """Walk the events before anything is built: depth, and the size that aliases would blow it up to."""
    sizes: dict[str, int] = {}
    counts: list[int] = [0]
    names: list[str | None] = [None]
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            if len(counts) > MAX_DEPTH:
                raise error(f"is nested more than {MAX_DEPTH} levels deep.", place=place)
            counts.append(1)
            names.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            size, name = counts.pop(), names.pop()
            if name:
                sizes[name] = size
            counts[-1] += size
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in names:
                raise error(f'the alias "{str(event.anchor)[:40]}" stands inside what it stands for.', place=place)
            counts[-1] += sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor:
                sizes[event.anchor] = 1
            counts[-1] += 1
        if counts[-1] > _MOST_VALUES:
            words = f"holds more than {number(_MOST_VALUES)} values once its aliases are written out."
            raise error(words, place=place, remedy="Check that it is a trainer's configuration.")


def _in_words(problem: yaml.MarkedYAMLError, place: str, error: type[MemplanError]) -> MemplanError:
    mark = problem.problem_mark or problem.context_mark
    where = f"line {number(mark.line + 1)}, column {number(mark.column + 1)}: " if mark else ""
    what = (problem.problem or "it ends in the middle").strip().rstrip(".")
    if isinstance(problem, _TwiceError):
        return error(f"{where}{what} in one mapping.", place=place, remedy="Keep one of them.")
    if isinstance(problem, yaml.constructor.ConstructorError):
        return error(f"{where}{what[:160]}; only plain values are read.", place=place)
    return error(f"is not YAML: {where}{what[:160]}.", place=place)


def plain(value: Any) -> Any:
    """Values that JSON knows; dates and the like as the text that they are."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.date | bytes | set):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
