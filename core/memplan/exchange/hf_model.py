"""A model's own files: config.json, as published or as a fine-tune left it, and its safetensors files' headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memplan.chosen_model import chosen_model
from memplan.errors import MemplanError
from memplan.exchange.documents import Document
from memplan.exchange.model_settling import MODEL_CONFIG, STORED, dtype_word
from memplan.exchange.notes import ImportNote, Stated
from memplan.exchange.reading import Keys, Reading
from memplan.model_file import parse_config
from memplan.number_style import number
from memplan.plan.model_choice import ModelChoice
from memplan.units import format_count

_INNER = ("text_config", "llm_config", "language_config", "thinker_config")


def recognises(document: Document) -> bool:
    """Whether it is a model's configuration."""
    content = document.content
    if not {"peft_type", "memplan", "base_model"}.isdisjoint(content):  # axolotl's model_type is a class to load with
        return False
    return "model_type" in content or "architectures" in content or {"hidden_size", "num_hidden_layers"} <= set(content)


def read(keys: Keys, document: Document) -> None:
    """Read config.json: the model, the dtype it is stored in, how it is packed."""
    content = parse_config(json.dumps(document.content).encode(), document.file)
    reading = keys.reading
    name = Path(document.file).absolute().parent.name
    reading.state(MODEL_CONFIG, Stated(content, document.file, str(content.get("_name_or_path") or name)))
    _state_stored(reading, content, document.file)
    _state_packing(keys, content)
    _tell_count(reading, content)
    keys.content = {}  # A model's keys are its architecture's business.


def _state_stored(reading: Reading, content: dict[str, Any], file: str) -> None:
    parts: list[tuple[str, Any]] = [("", content), *((f"{name}.", content.get(name)) for name in _INNER)]
    for under, part in parts:
        for name in ("dtype", "torch_dtype"):
            value = part.get(name) if isinstance(part, dict) else None
            word = dtype_word(value) if isinstance(value, str) else None
            if word:
                reading.state(STORED, Stated(word, file, under + name), weak=True)
                return


def _state_packing(keys: Keys, content: dict[str, Any]) -> None:
    reading = keys.reading
    under, found = next(
        (
            (f"{name}.{key}" if name else key, part[key])
            for name in ("", *_INNER)
            if isinstance(part := content.get(name) if name else content, dict)
            for key in ("quantization_config", "compression_config", "quantization")
            if isinstance(part.get(key), dict)
        ),
        ("", None),
    )
    if found is None:
        return
    stated = Stated(found, reading.file, under)
    packed = _packed(found, mlx=under.endswith("quantization"))
    if packed:
        reading.state("given.quantized", stated, value=packed)
        if packed in ("nf4", "fp4"):
            double = bool(found.get("bnb_4bit_use_double_quant", False))
            reading.state("training.quantization.double_quant", stated, value=double)
    else:
        method = found.get("quant_method", "its quantisation")
        reading.leave_out(stated, f"{method} weights are counted in 16 bit, as trainers unpack them")


def _packed(found: dict[str, Any], *, mlx: bool) -> str | None:
    """The plan's word for how weights are packed; None for what trainers unpack or memplan does not know."""
    method, bits = str(found.get("quant_method", "")).lower(), found.get("bits")
    if mlx and not method:
        return "mlx_int4" if bits == 4 else None
    if found.get("load_in_4bit") or found.get("_load_in_4bit"):
        return "fp4" if found.get("bnb_4bit_quant_type") == "fp4" else "nf4"
    if found.get("load_in_8bit") or found.get("_load_in_8bit"):
        return "int8"
    return "gptq_int4" if method in ("gptq", "awq", "auto-round") and bits in (4, None) else None


def _tell_count(reading: Reading, content: dict[str, Any]) -> None:
    try:
        count = chosen_model(ModelChoice(config=content)).parameters
    except MemplanError as problem:
        raise MemplanError(problem.message, place=f"{reading.file}: {problem.place}", remedy=problem.remedy) from None
    source = Stated(None, reading.file, "").source
    words = f"{number(count)} ({format_count(count)}), counted from its shapes"
    reading.notes.append(ImportNote("understood", "Parameters", words, source))


def are_weights(document: Document) -> bool:
    """Whether it stands for safetensors files."""
    return "safetensors" in document.content


_STORED_NAMES = {"BF16": "bf16", "F16": "fp16", "F32": "fp32"}


def read_weights(keys: Keys, document: Document) -> None:
    """Read what the headers say: how many values of which dtype."""
    reading = keys.reading
    facts = keys.any("safetensors")
    assert facts is not None, "recognised by it"
    values: dict[str, int] = facts.value["values"]
    total = sum(values.values())
    files = facts.value["files"]
    parts = ", ".join(f"{format_count(count)} in {name}" for name, count in sorted(values.items()))
    where = "1 file" if files == 1 else f"{number(files)} files"
    reading.notes.append(
        ImportNote("understood", "Stored values", f"{number(total)} in {where}: {parts}", document.name)
    )
    plain = {word: values.get(name, 0) for name, word in _STORED_NAMES.items() if values.get(name)}
    if plain:
        largest = max(plain, key=lambda word: plain[word])
        reading.state(STORED, Stated(largest, document.file, "safetensors headers"))
    if values.get("U8", 0) + values.get("I8", 0) > sum(plain.values()):
        words = "packed weights: how they are packed stands in config.json"
        reading.notes.append(ImportNote("assumed", "Stored values", words))
