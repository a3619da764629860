"""From what several files say to one scenario: what counts where they differ, what follows, what is still open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memplan.catalog import device as catalog_device
from memplan.errors import MemplanError
from memplan.exchange.also_read import also_read
from memplan.exchange.batches import settle_accumulation, settle_groups, settle_processes
from memplan.exchange.desk import Desk
from memplan.exchange.layer_settling import settle_layers
from memplan.exchange.model_settling import SettledModel, settle_model
from memplan.exchange.notes import AUTO, NOTE_TITLES, ImportNote, Stated
from memplan.exchange.peft_defaults import default_targets
from memplan.exchange.precision import DEEPSPEED, FSDP, precision_in_force
from memplan.exchange.reading import Reading
from memplan.number_style import number
from memplan.plan.edit import facts_at
from memplan.plan.field_facts import joined
from memplan.plan.problems import InvalidPlanError, invalid_plan, shown
from memplan.plan.scenario import Scenario

GIVEN = "given."
"""Marks what is no field of the plan, but decides fields: "given.mixed_precision"."""

OPTIONS = {
    "model": "--model",
    "hardware.devices": "--devices",
    "hardware.device": "--device",
    "training.sequence_length": "--sequence",
    "training.micro_batch": "--batch",
    "training.method": "--method",
    "training.weights_dtype": "--weights",
    "training.checkpointing": "--checkpointing",
}
"""The option that answers for a field, where there is one."""

_OPEN = {
    "training.micro_batch": "How many sequences does one device take at once?",
    "training.sequence_length": "How many tokens has the longest row?",
    "hardware.devices": "How many devices run it?",
    "hardware.device": "Which device runs it?",
}
_DIVIDES = (*DEEPSPEED, *FSDP)
_HOSTED_BY_TRAINER = ("transformers", "trl", "axolotl", "llama_factory")
"""Trainers on transformers' Trainer: launchers and DeepSpeed decide dtypes with them."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The scenario, where nothing is open, and the list of how it came about."""

    scenario: Scenario | None
    notes: tuple[ImportNote, ...]


def settle(readings: Sequence[Reading], answers: Mapping[str, Any], name: str) -> Settled:
    """Put what files say together.

    Args:
        readings: what each file says.
        answers: the person's own word, by the scenario's path ("hardware.devices"): it counts before any file.
        name: what to call the scenario.

    Raises:
        MemplanError: files contradict each other, or a value is out of range.
    """
    model = settle_model(readings, answers.get("model"))
    desk = Desk(_merged(readings, answers), _defaults(readings), answers)
    desk.notes += [note for reading in readings for note in reading.notes] + list(model.notes)
    trains = any(reading.trains for reading in readings)
    if all(reading.keys_of != "deepspeed" for reading in readings):
        _settle_named_engine(desk)
    _settle_engine_checkpointing(desk)
    _settle_method(desk, model, trains=trains)
    _settle_targets(desk, model)
    settle_layers(desk, model.choice)
    settle_processes(desk)
    _settle_devices(desk, trains=trains)
    _settle_precision(desk, model)
    settle_accumulation(desk)
    settle_groups(desk)
    questions = list(_questions(desk, model, trains=trains))
    method, strategy = desk.get("training.method") or "full", desk.get("hardware.sharding.strategy") or "none"
    values = {path: desk.get(path) for path in _paths(desk) if field_applies(path, method, strategy)}
    desk.notes += _value_notes(desk, values)
    desk.notes += also_read(readings, [*desk.notes, *questions])
    scenario = None if questions else _scenario(name, model, values, desk)
    return Settled(scenario, tuple(_in_order([*desk.notes, *questions])))


def _merged(readings: Sequence[Reading], answers: Mapping[str, Any]) -> dict[str, Stated]:
    merged: dict[str, Stated] = {}
    rows = max((one.stated["given.rows"].value for one in readings if "given.rows" in one.stated), default=1)
    for reading in readings:
        for path, stated in reading.stated.items():
            if path == "training.micro_batch" and reading.keys_of == "deepspeed":
                stated = replace(stated, value=stated.value * rows)  # it counts rows, whatever a row is
            other = merged.get(path)
            if path == "training.checkpointing" and other is not None:
                stated, other = _either_checkpoints(stated, other)
            if other is not None and path not in answers and _refused_by_trainer(path, other, stated):
                raise _contradiction(path, other, stated)
            if other is None or (other.weak and not stated.weak):
                merged[path] = stated
            elif not stated.weak and other.value != stated.value and path not in answers:
                raise _contradiction(path, other, stated)
    return merged


def _either_checkpoints(one: Stated, other: Stated) -> tuple[Stated, Stated]:
    """FSDP's own switch beside the Trainer's: a run checkpoints where either is on (both on, the Trainer refuses).

    Source: transformers 5.24, trainer.py (activation_checkpointing beside gradient_checkpointing).
    """
    for stated, beside in ((one, other), (other, one)):
        if stated.key.endswith("activation_checkpointing") and beside.value == "none":
            return stated, replace(stated, weak=True)
    return one, other


def _refused_by_trainer(path: str, one: Stated, other: Stated) -> bool:
    """Whether the Trainer's switch is off where DeepSpeed's own file has it on: the Trainer then refuses to start.

    Source: transformers 5.24, integrations/deepspeed.py (fill_match of bf16.enabled and fp16.enabled).
    """
    if path != "given.mixed_precision" or one.value == other.value:
        return False
    return {one.key, other.key} & {"bf16.enabled", "fp16.enabled"} != set() and {one.key, other.key} & {
        "bf16",
        "fp16",
    } != set()


def _contradiction(path: str, one: Stated, other: Stated) -> MemplanError:
    if path == "given.trainer":
        words = f"{other.file} is a recipe of another trainer ({other.value} beside {one.value})."
        return MemplanError(words, place=one.file, remedy="Give one recipe alone.")
    what = _title(path)
    option = OPTIONS.get(path)
    remedy = f"Say which counts with {option}, or give one of them alone." if option else "Give one of them alone."
    words = (
        f"{one.key} is {value_words(one.value)}, and {other.key} in {other.file} is {value_words(other.value)}: "
        f"the files contradict each other ({what.lower()})."
    )
    return MemplanError(words, place=one.file, remedy=remedy)


def _defaults(readings: Sequence[Reading]) -> dict[str, tuple[Any, str]]:
    merged: dict[str, tuple[Any, str]] = {}
    for reading in sorted(readings, key=lambda reading: not reading.trains):
        for path, default in reading.defaults.items():
            merged.setdefault(path, default)
    return merged


def _settle_named_engine(desk: Desk) -> None:
    """Hold the stage in the name of DeepSpeed's file, which was not given, against what a launcher says.

    Raises:
        MemplanError: the launcher divides the model otherwise.
    """
    path = "hardware.sharding.strategy"
    named, stated = desk.stated.get("given.named_strategy"), desk.stated.get(path)
    if named is None or stated is None or named.value == stated.value or path in desk.answers:
        return
    if stated.weak:  # how processes are started; the trainer's own word turns DeepSpeed on
        del desk.stated[path]
        return
    words = (
        f"{named.key} names a file of {named.value}, and {stated.key} in {stated.file} is {stated.value}: "
        "the files contradict each other (strategy)."
    )
    raise MemplanError(words, place=named.file, remedy="Give DeepSpeed's own file too, or one of them alone.")


def _settle_engine_checkpointing(desk: Desk) -> None:
    """DeepSpeed's own checkpoints run where a model calls them; those under transformers' Trainer do not.

    Source: transformers 5.24 and accelerate 1.15, which read no activation_checkpointing of DeepSpeed's.
    """
    own = desk.stated.get("given.engine_checkpointing")
    if own is None:
        return
    if desk.get("given.trainer") in _HOSTED_BY_TRAINER:
        words = "transformers' models call no checkpoints of DeepSpeed's: gradient_checkpointing decides"
        desk.notes.append(ImportNote("ignored", own.key, words, Path(own.file).name))
    else:
        desk.stated.setdefault("training.checkpointing", own)


def _settle_method(desk: Desk, model: SettledModel, *, trains: bool) -> None:
    method, packed = desk.get("training.method"), desk.get("given.quantized") or model.packed
    if method is None and trains:
        desk.assume("training.method", "full", "no adapter is named")
        method = "full"
    if packed and method in ("lora", "qlora"):
        source = desk.stated.get("given.quantized")
        for path, value in (("training.method", "qlora"), ("training.quantization.format", packed)):
            if source is None:
                desk.assume(path, value, model.packed_why)
            elif path not in desk.answers:
                desk.stated[path] = replace(source, value=value)
    elif packed and method in ("full", None):
        words = f"the base is packed in {packed}, which trains no weights: counted in 16 or 32 bit"
        desk.notes.append(ImportNote("assumed", "Quantisation", words))


def _settle_targets(desk: Desk, model: SettledModel) -> None:
    if desk.get("training.method") in ("lora", "qlora") and desk.get("training.lora.targets") is None:
        desk.assume("training.lora.targets", default_targets(model.model_type), "PEFT's own choice for this model")


def _settle_devices(desk: Desk, *, trains: bool) -> None:
    devices = desk.get("hardware.devices")
    if devices is None and not trains and desk.get("hardware.sharding.strategy") not in _DIVIDES:
        desk.assume("hardware.devices", 1, "no trainer's file says more")
        devices = 1
    if not trains:
        words = "no file is a trainer's recipe: what is not listed here has the plan's defaults"
        desk.notes.append(ImportNote("assumed", "Training", words))
    if desk.get("hardware.sharding.strategy") is None and isinstance(devices, int) and devices > 1:
        desk.assume("hardware.sharding.strategy", "ddp", "nothing says how devices divide the model")
    if devices == 1 and desk.get("hardware.sharding.strategy") == "ddp":
        desk.assume("hardware.sharding.strategy", "none", "one device holds everything")
    if devices == 1 and "hardware.sharding.strategy" in desk.defaults.keys() - desk.stated.keys():
        desk.assume("hardware.sharding.strategy", "none", "one device has nothing to share")
        if compute := desk.get("given.compute_dtype"):
            desk.assume("training.autocast", compute, "without FSDP the trainer computes under autocast")


def _settle_precision(desk: Desk, model: SettledModel) -> None:
    trainer = desk.get("given.trainer") or "transformers"
    if trainer == "mlx" and model.stored_dtype:
        desk.assume("training.weights_dtype", model.stored_dtype, "the dtype that the checkpoint is stored in")
    if trainer not in _HOSTED_BY_TRAINER:
        return
    given = {path.removeprefix(GIVEN): desk.get(path) for path in _known(desk) if path.startswith(GIVEN)}
    given.setdefault("stored_dtype", model.stored_dtype)
    strategy = desk.get("hardware.sharding.strategy") or "none"
    for one in precision_in_force(given, desk.get("training.method") or "full", strategy):
        desk.assume(one.path, one.value, one.why)


def _questions(desk: Desk, model: SettledModel, *, trains: bool) -> Iterator[ImportNote]:
    if model.choice is None:
        yield ImportNote("asked", "Model", model.question, path="model", option="--model")
    for path, words in _OPEN.items():
        asked = trains and path != "hardware.device"
        if path == "hardware.devices":
            asked = trains or desk.get("hardware.sharding.strategy") in _DIVIDES
        if path == "hardware.device":
            asked = desk.get("given.trainer") == "mlx"
        if asked and desk.get(path) is None:
            yield ImportNote("asked", _title(path), words, path=path, option=OPTIONS[path])


def _known(desk: Desk) -> list[str]:
    return list({**desk.defaults, **desk.stated, **dict.fromkeys(desk.answers)})


def _paths(desk: Desk) -> list[str]:
    return [
        path for path in _known(desk) if not path.startswith(GIVEN) and path != "model" and desk.get(path) is not None
    ]


def field_applies(path: str, method: str, strategy: str) -> bool:
    """Whether the field means anything beside the method and the strategy."""
    if path.startswith("training.lora."):
        return method in ("lora", "qlora")
    if path.startswith("training.quantization."):
        return method == "qlora"
    if path.startswith("training.freeze."):
        return method == "freeze"
    if path.startswith("hardware.sharding."):
        return strategy in _STRATEGIES_OF.get(path.rpartition(".")[2], (strategy,))
    return True


_STRATEGIES_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mixed_precision", "reshard_after_forward"), FSDP),
    "reduce_bucket": DEEPSPEED,
    "overlap_comm": ("zero1", "zero2"),
    **dict.fromkeys(("prefetch_bucket", "persistence_threshold", "reuse_distance"), ("zero3",)),
    "gradient_as_bucket_view": ("none", "ddp"),
}
"""The strategies that a field of sharding means anything under."""


def _value_notes(desk: Desk, values: Mapping[str, Any]) -> Iterator[ImportNote]:
    for path, value in values.items():
        kept = tuple(value) if isinstance(value, list) else value
        if path in desk.answers:
            yield ImportNote("understood", _title(path), value_words(value), "your answer", path, value=kept)
        elif path in desk.stated:
            source = desk.stated[path].source
            yield ImportNote("understood", _title(path), value_words(value), source, path, value=kept)
        else:
            yield _assumed(path, kept, value_words(value), desk.defaults[path][1])
    yield from _mixed_note(desk)
    if "hardware.device" not in values:
        default = facts_at(Scenario, "hardware.device").default
        yield _assumed("hardware.device", default, default, "no file names the device", "--device")


def _assumed(path: str, value: Any, words: str, why: str, option: str = "") -> ImportNote:
    return ImportNote("assumed", _title(path), f"{words}: {why}", "", path, option, value, why)


def _mixed_note(desk: Desk) -> Iterator[ImportNote]:
    """What was said of mixed precision: the dtypes in force follow from it."""
    path = "given.mixed_precision"
    if path in desk.stated:
        yield ImportNote("understood", _title(path), value_words(desk.get(path)), desk.stated[path].source)
    elif path in desk.defaults:
        yield ImportNote("assumed", _title(path), f"{value_words(desk.get(path))}: {desk.defaults[path][1]}")


def _scenario(name: str, model: SettledModel, values: Mapping[str, Any], desk: Desk) -> Scenario:
    content: dict[str, Any] = {"name": name[:200], "model": model.choice}
    for path, value in values.items():
        *sections, last = path.split(".")
        inner = content
        for section in sections:
            inner = inner.setdefault(section, {})
        is_auto = value == AUTO and facts_at(Scenario, path).optional
        inner[last] = None if is_auto else list(value) if isinstance(value, tuple) else value
    if "hardware" in content and "device" in content["hardware"]:
        content["hardware"]["device"] = _device(content["hardware"]["device"])
    try:
        return Scenario.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as problem:
        raise _out_of_range(invalid_plan(problem, Scenario), desk) from None


def _device(name: str) -> str:
    try:
        return catalog_device(name).id
    except MemplanError as error:
        raise MemplanError(error.message, place="--device", remedy=error.remedy) from None


def _out_of_range(found: InvalidPlanError, desk: Desk) -> MemplanError:
    """The plan's own words about a value, at the place in the file that it came from."""
    first = found.problems[0]
    stated = desk.stated.get(first.path)
    place = f"{stated.file}: {stated.key}" if stated else OPTIONS.get(first.path, first.path)
    return MemplanError(first.message, place=place)


def _title(path: str) -> str:
    if path == "model":
        return "Model"
    if path == "given.mixed_precision":
        return "Precision of the run"
    if path.startswith(GIVEN):
        return path.removeprefix(GIVEN).replace("_", " ").capitalize()
    return facts_at(Scenario, path).title


def value_words(value: Any) -> str:
    """A value as the list shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return joined(value).replace(" or ", " and ") if value else "none"
    if isinstance(value, int):
        return number(value)
    return value if isinstance(value, str) else shown(value)


def _in_order(notes: Sequence[ImportNote]) -> list[ImportNote]:
    """By kind, and what concerns the plan's fields in the plan's order."""
    kinds = tuple(NOTE_TITLES)
    paths = ["model", *field_paths()]

    def key(note: ImportNote) -> tuple[int, int]:
        return kinds.index(note.kind), paths.index(note.path) if note.path in paths else len(paths)

    return sorted(dict.fromkeys(notes), key=key)


def field_paths() -> list[str]:
    """Every field of training and hardware, in the plan's order."""
    found = []
    for part in ("training", "hardware"):
        section = facts_at(Scenario, part).section
        assert section is not None, "training and hardware are sections"
        for name in section.model_fields:
            inner = facts_at(Scenario, f"{part}.{name}").section
            found += [f"{part}.{name}.{leaf}" for leaf in inner.model_fields] if inner else [f"{part}.{name}"]
    return found
