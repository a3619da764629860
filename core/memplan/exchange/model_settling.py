"""Which model the files speak of: a config.json among them, or a name that the catalog knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memplan.catalog import CatalogModel
from memplan.errors import MemplanError
from memplan.exchange.named_models import NamedModel, named_model
from memplan.exchange.notes import ImportNote, Stated
from memplan.exchange.reading import Reading
from memplan.number_style import number

MODEL_NAME, MODEL_CONFIG, STORED = "given.model_name", "given.model_config", "given.stored_dtype"

DTYPES = {
    "float32": "fp32", "fp32": "fp32", "float": "fp32", "f32": "fp32",
    "bfloat16": "bf16", "bf16": "bf16",
    "float16": "fp16", "fp16": "fp16", "half": "fp16", "f16": "fp16",
}  # fmt: skip
"""The plan's word for a dtype, under the names that files use."""

_SHAPE = ("hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size")


@dataclass(frozen=True, slots=True)
class SettledModel:
    """The scenario's model, as a plan's file has it; None where it must be asked for."""

    choice: Mapping[str, Any] | None
    question: str = ""
    stored_dtype: str | None = None
    model_type: str | None = None
    packed: str | None = None
    packed_why: str = ""
    notes: tuple[ImportNote, ...] = ()


def dtype_word(text: str) -> str | None:
    """The plan's word for a dtype.

    >>> dtype_word("torch.bfloat16"), dtype_word("float8_e4m3fn")
    ('bf16', None)
    """
    return DTYPES.get(text.strip().lower().removeprefix("torch."))


def settle_model(readings: Sequence[Reading], answer: Mapping[str, Any] | None) -> SettledModel:
    """Decide the model.

    Args:
        readings: what each file says.
        answer: the person's own word, as a plan's file has it: it counts before any file.

    Raises:
        MemplanError: files name different models, or a name and a config.json differ in shape.
    """
    named = [stated for reading in readings if (stated := reading.stated.pop(MODEL_NAME, None))]
    configs = [stated for reading in readings if (stated := reading.stated.pop(MODEL_CONFIG, None))]
    stored = next((reading.stated[STORED].value for reading in readings if STORED in reading.stated), None)
    found = [(stated, model) for stated in named if (model := named_model(stated.value))]
    packed = next((model.packed for _, model in found if model.packed), None)
    why = "as the model's name says"
    if answer is not None:
        note = ImportNote("understood", "Model", _answer_words(answer), "your answer", "model")
        return SettledModel(answer, "", stored or _published(answer), _type_of(answer), packed, why, (note,))
    if len(configs) > 1:
        raise _two(configs[0], configs[1])
    for stated, model in found[1:]:
        if model.entry.id != found[0][1].entry.id:
            raise _two(found[0][0], stated, found[0][0].value, stated.value)
    if configs:
        return _of_config(configs[0], found, stored, packed, why)
    if found:
        return _of_catalog(*found[0], stored, packed, why)
    return SettledModel(None, _question(named), stored, None, packed, why)


def _of_config(
    config: Stated, found: Sequence[tuple[Stated, NamedModel]], stored: str | None, packed: str | None, why: str
) -> SettledModel:
    content: dict[str, Any] = config.value
    for stated, model in found:
        differing = [name for name in _SHAPE if _differ(content.get(name), model.entry.config.get(name))]
        if differing:
            name = differing[0]
            words = (
                f"{stated.key} is {stated.value}, whose {name} is {number(model.entry.config[name])}, and "
                f"{config.file} has {number(content[name])}: the files contradict each other (model)."
            )
            raise MemplanError(words, place=stated.file, remedy="Give the config.json of the model that is trained.")
    name = str(found[0][0].value if found else content.get("_name_or_path") or config.key)[:200]
    note = ImportNote("understood", "Model", name, Stated(None, config.file, "").source, "model")
    return SettledModel({"config": content, "name": name}, "", stored, content.get("model_type"), packed, why, (note,))


def _of_catalog(stated: Stated, model: NamedModel, stored: str | None, packed: str | None, why: str) -> SettledModel:
    entry = model.entry
    choice = {"catalog": entry.id}
    kind, words = "understood", entry.id
    if not model.exact:
        kind, words = "assumed", f"{entry.id}: its shape is taken for {stated.value}"
    note = ImportNote(kind, "Model", words, stated.source, "model")  # type: ignore[arg-type]
    return SettledModel(choice, "", stored or _dtype_of(entry), entry.model_type, packed, why, (note,))


def _question(named: Sequence[Stated]) -> str:
    if not named:
        return "Which model is trained? Give its config.json with the other files, or its name."
    first = named[0]
    return (
        f"Which model is {first.value} ({first.source})? The catalog has none of that name: give its config.json "
        "with the other files, or the name of one of the same shape."
    )


def _two(one: Stated, other: Stated, first: str = "one model", second: str = "another") -> MemplanError:
    words = (
        f"{one.key} is {first}, and {other.key} in {other.file} is {second}: the files contradict each other (model)."
    )
    return MemplanError(words, place=one.file, remedy="Say which counts with --model, or give one of them alone.")


def _differ(one: Any, other: Any) -> bool:
    return type(one) is int and type(other) is int and one != other


def _answer_words(answer: Mapping[str, Any]) -> str:
    if name := answer.get("catalog") or answer.get("name"):
        return str(name)
    return f"{number(answer['parameters'])} parameters" if "parameters" in answer else "its own config.json"


def _published(answer: Mapping[str, Any]) -> str | None:
    model = named_model(str(answer.get("catalog", "")))
    return _dtype_of(model.entry) if model else None


def _type_of(answer: Mapping[str, Any]) -> str | None:
    if "config" in answer:
        return str(answer["config"].get("model_type"))
    model = named_model(str(answer.get("catalog", "")))
    return model.entry.model_type if model else None


def _dtype_of(entry: CatalogModel) -> str | None:
    return dtype_word((entry.dtype_published or "").partition(" ")[0])
