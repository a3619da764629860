"""Which fields the plan panel shows, in which order, and when each applies. What a field is, the field itself says."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from operator import attrgetter
from typing import NamedTuple

from memplan import Scenario, facts_at, generates_text

Applies = Callable[[Scenario], bool]


def always(_: Scenario) -> bool:
    """Every scenario has it."""
    return True


def trains(scenario: Scenario) -> bool:
    """Something is trained."""
    return scenario.training.method != "inference"


def generates(scenario: Scenario) -> bool:
    """Text is made, token by token: an encoder has no cache of keys to keep."""
    return scenario.training.method == "inference" and generates_text(scenario.model)


def recomputes_layers(scenario: Scenario) -> bool:
    """Whole layers are run again in backward."""
    return trains(scenario) and scenario.training.checkpointing == "full"


def has_adapters(scenario: Scenario) -> bool:
    """LoRA, on whatever base."""
    return scenario.training.method in ("lora", "qlora")


def is_size_alone(scenario: Scenario) -> bool:
    """The model is a number of parameters."""
    return scenario.model.kind == "size"


def has_many_devices(scenario: Scenario) -> bool:
    """The run is split."""
    return scenario.hardware.devices > 1


def divides(scenario: Scenario) -> bool:
    """The run is split, or says how it would be: what counts is shown."""
    return has_many_devices(scenario) or scenario.hardware.sharding.strategy != "none"


def is_fsdp(scenario: Scenario) -> bool:
    """Sharded by FSDP."""
    return has_many_devices(scenario) and scenario.hardware.sharding.strategy in ("fsdp1", "fsdp2")


def _sharded_by(*strategies: str) -> Applies:
    return lambda scenario: divides(scenario) and scenario.hardware.sharding.strategy in strategies


class FieldSpec(NamedTuple):
    """One field: its path inside the scenario, and when it is shown."""

    path: str
    applies: Applies = always
    doubling: bool = False
    """Whether arrows double and halve it."""


class FoldSpec(NamedTuple):
    """Fields that few people change, folded away under one name."""

    title: str
    fields: tuple[FieldSpec, ...]
    applies: Applies = always


class SectionSpec(NamedTuple):
    """One part of the panel: what most people change first on top and open, the rest in folds."""

    title: str
    fields: tuple[FieldSpec, ...]
    folds: tuple[FoldSpec, ...] = ()


MODEL = SectionSpec(
    "Model",
    (
        FieldSpec("model.catalog", lambda scenario: scenario.model.kind == "catalog"),
        FieldSpec("model.name", lambda scenario: scenario.model.kind != "catalog"),
        FieldSpec("model.parameters", is_size_alone),
        FieldSpec("model.layers", is_size_alone),
        FieldSpec("model.hidden_size", is_size_alone),
        FieldSpec("model.vocab_size", is_size_alone),
    ),
)

TRAINING = SectionSpec(
    "Training",
    (
        FieldSpec("training.method"),
        FieldSpec("training.lora.rank", has_adapters, doubling=True),
        FieldSpec("training.freeze.trainable_layers", lambda scenario: scenario.training.method == "freeze"),
        FieldSpec("training.inference.kv_cache", generates),
        FieldSpec("training.optimizer", trains),
        FieldSpec("training.micro_batch"),
        FieldSpec("training.sequence_length", doubling=True),
        FieldSpec("training.gradient_accumulation", trains),
        FieldSpec("training.checkpointing", trains),
    ),
    (
        FoldSpec(
            "Precision",
            (
                FieldSpec("training.weights_dtype"),
                FieldSpec("training.autocast"),
                FieldSpec("training.gradients_dtype", trains),
                FieldSpec("training.optimizer_state_dtype", trains),
                FieldSpec(
                    "training.master_weights",
                    lambda scenario: trains(scenario) and scenario.training.weights_dtype != "fp32",
                ),
            ),
        ),
        FoldSpec(
            "Adapters",
            (
                FieldSpec("training.lora.targets"),
                FieldSpec("training.lora.last_layers"),
                FieldSpec("training.lora.adapter_dtype"),
                FieldSpec("training.lora.dropout"),
                FieldSpec("training.lora.modules_to_save"),
                FieldSpec("training.trainable_fraction", is_size_alone),
            ),
            has_adapters,
        ),
        FoldSpec(
            "Quantised base",
            (
                FieldSpec("training.quantization.format"),
                FieldSpec("training.quantization.double_quant"),
                FieldSpec("training.quantization.fp32_unquantized"),
            ),
            lambda scenario: scenario.training.method == "qlora",
        ),
        FoldSpec(
            "What is frozen",
            (FieldSpec("training.freeze.embeddings"), FieldSpec("training.freeze.head")),
            lambda scenario: scenario.training.method == "freeze",
        ),
        FoldSpec(
            "Implementation",
            (
                FieldSpec("training.attention"),
                FieldSpec("training.checkpoint_every", recomputes_layers),
                FieldSpec("training.loss", trains),
                FieldSpec(
                    "training.optimizer_impl",
                    lambda scenario: trains(scenario) and scenario.training.has_variants,
                ),
                FieldSpec("training.optimizer_in_backward", trains),
                FieldSpec("training.kernels"),
                FieldSpec("training.kernels_version"),
                FieldSpec("training.trainer", trains),
            ),
        ),
    ),
)

HARDWARE = SectionSpec(
    "Hardware",
    (
        FieldSpec("hardware.device"),
        FieldSpec("hardware.devices", doubling=True),
        FieldSpec("hardware.devices_per_node", has_many_devices, doubling=True),
        FieldSpec("hardware.sharding.strategy", divides),
        FieldSpec("hardware.sharding.mixed_precision", is_fsdp),
        FieldSpec("hardware.sharding.reshard_after_forward", is_fsdp),
    ),
    (
        FoldSpec(
            "Buckets",
            (
                FieldSpec("hardware.sharding.gradient_as_bucket_view", _sharded_by("none", "ddp")),
                FieldSpec("hardware.sharding.reduce_bucket", _sharded_by("zero1", "zero2", "zero3")),
                FieldSpec("hardware.sharding.overlap_comm", _sharded_by("zero1", "zero2")),
                FieldSpec("hardware.sharding.prefetch_bucket", _sharded_by("zero3")),
                FieldSpec("hardware.sharding.persistence_threshold", _sharded_by("zero3")),
                FieldSpec("hardware.sharding.reuse_distance", _sharded_by("zero3")),
            ),
            lambda scenario: trains(scenario) and _sharded_by("none", "ddp", "zero1", "zero2", "zero3")(scenario),
        ),
        FoldSpec(
            "Parallelism",
            (
                FieldSpec("hardware.tensor_parallel", doubling=True),
                FieldSpec(
                    "hardware.sequence_parallel",
                    lambda scenario: has_many_devices(scenario) and scenario.hardware.tensor_parallel > 1,
                ),
                FieldSpec("hardware.pipeline_parallel", doubling=True),
                FieldSpec(
                    "hardware.virtual_stages",
                    lambda scenario: has_many_devices(scenario) and scenario.hardware.pipeline_parallel > 1,
                ),
                FieldSpec("hardware.context_parallel", doubling=True),
                FieldSpec("hardware.expert_parallel", doubling=True),
            ),
            has_many_devices,
        ),
        FoldSpec(
            "Offload and headroom",
            (
                FieldSpec("hardware.offload.optimizer", trains),
                FieldSpec("hardware.offload.parameters"),
                FieldSpec("hardware.offload.activations", trains),
                FieldSpec("hardware.used_by_others_bytes"),
                FieldSpec("hardware.headroom"),
            ),
        ),
        FoldSpec(
            "Measured",
            (
                FieldSpec("measured.allocated_bytes"),
                FieldSpec("measured.reserved_bytes"),
                FieldSpec("measured.process_bytes"),
            ),
        ),
    ),
)

SECTIONS = (MODEL, TRAINING, HARDWARE)


@cache
def all_fields() -> dict[str, FieldSpec]:
    """Every field that the panel can show, by its path inside the scenario."""
    specs = [spec for section in SECTIONS for spec in section.fields]
    specs += [spec for section in SECTIONS for fold in section.folds for spec in fold.fields]
    return {spec.path: spec for spec in specs}


@cache
def _when(path: str) -> tuple[Applies, ...]:
    folds = [fold for section in SECTIONS for fold in section.folds]
    inside = [fold.applies for fold in folds if any(spec.path == path for spec in fold.fields)]
    known = all_fields().get(path)
    return (known.applies, *inside) if known else ()


def means_something(path: str, scenario: Scenario) -> bool:
    """Whether a field does anything to a scenario; one that the panel never shows always does."""
    return all(applies(scenario) for applies in _when(path))


def num_changed(fold: FoldSpec, scenario: Scenario, present: Collection[str]) -> int:
    """How many of a fold's fields differ from their defaults, of those whose paths are present."""
    found = 0
    for field in fold.fields:
        read, default = _reader(field.path)
        found += field.path in present and read(scenario) != default
    return found


@cache
def _reader(path: str) -> tuple[Callable[[Scenario], object], object]:
    """What reads a field of a scenario, and the field's default."""
    return attrgetter(path), facts_at(Scenario, path).default
