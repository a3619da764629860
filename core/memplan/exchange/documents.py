"""Files that people drop on memplan: what each holds, as plain values, before anybody asks what it means."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memplan.disk import is_folder, read_file
from memplan.errors import MemplanError
from memplan.exchange.weight_files import weights_facts
from memplan.exchange.yaml_text import plain, read_yaml
from memplan.json_text import MAX_DEPTH, decoded, is_deeper_than, read_loose_json
from memplan.plan.file import load_plan
from memplan.plan.problems import shown

_MOST_BYTES = {"json": 10_000_000, "yaml": 1_000_000, "toml": 200_000}
"""A model's config.json can be long; what people write by hand is short, and its readers are slower."""

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Document:
    """One file's content."""

    file: str
    """What to call it in messages."""
    content: dict[str, Any]
    text: str = ""
    """The text where it was text: some trainers say in a comment how they are started."""
    remark: str = ""
    """What is odd about the file, for the list that a person sees."""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.file).name


def read_documents(path: Path) -> list[Document]:
    """Read a file, or the files of a model's or adapter's folder that are known.

    Raises:
        MemplanError: why it cannot be read, or what it is instead of a configuration.
    """
    if not is_folder(path):
        return [_read(path)]
    found = [_read(path / name) for name in _IN_FOLDER if (path / name).is_file()]
    weights = sorted(path.glob("*.safetensors"))
    if weights and (path / "config.json").is_file():
        found.append(Document(str(path), {"safetensors": weights_facts(weights, str(path))}))
    if not found:
        raise MemplanError(
            f"the folder holds none of {', '.join(_IN_FOLDER)}.",
            place=str(path),
            remedy="Give the folder of a Hugging Face model or adapter, or the files themselves.",
        )
    return found


_IN_FOLDER = ("config.json", "adapter_config.json", "training_args.json")


def _read(path: Path) -> Document:
    suffix = path.suffix.lower()
    if suffix == ".safetensors":
        return Document(str(path), {"safetensors": weights_facts([path], str(path))})
    if suffix == ".memplan":
        load_plan(path)  # which says why it is none, where it is none
    if suffix in _REFUSED:
        message, remedy = _REFUSED[suffix]
        raise MemplanError(message, place=str(path), remedy=remedy)
    syntax = _SYNTAX.get(suffix)
    data = read_file(path, limit_bytes=_MOST_BYTES[syntax or "yaml"], what="such a file")
    return parse_document(data, str(path), syntax)


def parse_document(data: bytes, file: str, syntax: str | None = None) -> Document:
    """Read what a file holds.

    Args:
        data: its bytes.
        file: its name, for messages.
        syntax: json, yaml or toml; None where its name does not say.

    Raises:
        MemplanError: why it cannot be read.
    """
    if syntax is None:
        syntax = "json" if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") else "yaml"
    remark = ""
    if syntax == "json":
        content, remark = _json(data, file)
    else:
        content = _READERS[syntax](data, file)
    if not isinstance(content, dict):
        message = f"a trainer's configuration is a mapping of keys to values; this file holds {shown(content)}."
        raise MemplanError(message, place=file, remedy="Check that it is the right file.")
    return Document(file, content, decoded(data, file, MemplanError) if syntax != "json" else "", remark)


def _json(data: bytes, file: str) -> tuple[Any, str]:
    try:
        return read_loose_json(data, place=file, error=MemplanError), ""
    except MemplanError as problem:
        text = decoded(data, file, MemplanError)
        bare = _TRAILING_COMMA.sub(lambda found: found[1] or "", _COMMENT.sub(lambda found: found[1] or "", text))
        if bare == text:
            raise
        try:
            content = read_loose_json(bare.encode(), place=file, error=MemplanError)
        except MemplanError:
            raise problem from None
    return content, "JSON takes neither comments nor commas at an end: they are passed over here; the trainer may not."


def _yaml(data: bytes, file: str) -> Any:
    return read_yaml(data, place=file)


def _toml(data: bytes, file: str) -> Any:
    text = decoded(data, file, MemplanError)
    try:
        content = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as problem:
        what = str(problem)[:200]
        raise MemplanError(f"is not TOML: {what[0].lower()}{what[1:]}.", place=file) from None
    except (RecursionError, ValueError):
        raise MemplanError(f"is nested more than {MAX_DEPTH} levels deep.", place=file) from None
    if is_deeper_than(content, MAX_DEPTH):
        raise MemplanError(f"is nested more than {MAX_DEPTH} levels deep.", place=file)
    return plain(content)


_READERS: dict[str, Callable[[bytes, str], Any]] = {"yaml": _yaml, "toml": _toml}
_SYNTAX = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}

_PICKLE = ("is a pickle, which runs code when it is opened; memplan opens none.", "Give the configuration as JSON.")
_REFUSED = {
    ".bin": _PICKLE,
    ".pt": _PICKLE,
    ".pth": _PICKLE,
    ".pkl": _PICKLE,
    ".ckpt": _PICKLE,
    ".py": ("is a program; memplan runs none.", "Write its arguments as YAML or JSON, under the trainer's own names."),
    ".ipynb": ("is a notebook; memplan runs none.", "Write its arguments as YAML or JSON, under their own names."),
    ".gguf": ("is a GGUF file: weights for inference, not a configuration.", "Give the model's config.json."),
    ".memplan": ("is a plan already.", "Open it as it is: memplan estimate PLAN."),
}
