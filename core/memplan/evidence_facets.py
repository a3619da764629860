"""What of a set-up decides which tensors there are: in what cases are compared, what each counts, how it is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memplan.architecture.parts import Architecture
from memplan.choice_titles import choice_words
from memplan.memory.optimizers import RULES
from memplan.memory.sharding import CASTS_WEIGHTS, SHARDS_STATES, data_parallel_devices
from memplan.memory.stack import stack_of
from memplan.memory.states import trained_dtype
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.units import counted

NOT_THERE, THERE, SENSELESS = "none", "yes", ""
"""Values of a facet: the set-up has none of it; it has it, and there is no more to say; it could not have it."""
_ALIKE = {"flash": "sdpa"}
"""Attention that keeps the same tensors under either name."""


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing in which set-ups differ."""

    cost: float
    """How far apart two cases are that differ in it: about how much it changes which tensors there are."""
    value: Callable[[Scenario], str]
    words: str
    absent: str = ""
    """How it is said that a case has none of it."""
    field: str = ""
    """The field whose choices name its values, where they are choices."""
    divides: bool = False
    """Whether it takes several devices: of a case with one there is no more to say."""

    def said(self, value: str) -> str:
        """What is said of a case that has this value."""
        if value == NOT_THERE and self.absent:
            return self.absent
        return self.words.format(choice_words(self.field, value) if self.field else value)


def same_tensors(value: str) -> str:
    """One name for all values that make the same tensors."""
    return _ALIKE.get(value, value)


def differs(one: str, other: str) -> bool:
    """Whether two values of a facet make other tensors; what one of them cannot have is another facet's matter."""
    return SENSELESS not in (one, other) and same_tensors(one) != same_tensors(other)


def facets_of(scenario: Scenario, architecture: Architecture) -> dict[str, str]:
    """Every facet's value."""
    values = {name: facet.value(scenario) for name, facet in FACETS.items()}
    if values["targets"]:
        values["targets"] = _targets(scenario.training, architecture)
    return values


def _targets(training: Training, architecture: Architecture) -> str:
    """Which modules have adapters; those named are all of them where the layers have no others."""
    targets = training.lora.targets
    if isinstance(targets, str):
        return targets
    linears = [linear for layer in architecture.kinds for linear in layer.linears()]
    modules = list(dict.fromkeys(name for one in linears for name in ([part for part, _ in one.parts] or [one.name])))
    named = [name for name in modules if name in targets] + sorted(set(targets).difference(modules))
    return "all-linear" if named == modules else _listed(named)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def _where(applies: Callable[[Scenario], bool], value: Callable[[Scenario], str]) -> Callable[[Scenario], str]:
    return lambda scenario: value(scenario) if applies(scenario) else SENSELESS


def _switch(given: object) -> str:
    return THERE if given else NOT_THERE


def _size(devices: int) -> str:
    return str(devices) if devices > 1 else NOT_THERE


def _is_adapted(scenario: Scenario) -> bool:
    return scenario.training.method in ("lora", "qlora")


def _is_packed(scenario: Scenario) -> bool:
    return scenario.training.method == "qlora"


def _trains(scenario: Scenario) -> bool:
    return scenario.training.method != "inference"


def _strategy(scenario: Scenario) -> str:
    hardware = scenario.hardware
    return hardware.sharding.strategy if hardware.devices > 1 else NOT_THERE


def _is_fsdp(scenario: Scenario) -> bool:
    return _strategy(scenario) in CASTS_WEIGHTS


def _has_master(scenario: Scenario) -> bool:
    return scenario.training.master_weights and trained_dtype(scenario.training) != "fp32"


def _gradients(scenario: Scenario) -> str:
    chosen = scenario.training.gradients_dtype
    return NOT_THERE if chosen in ("weights", trained_dtype(scenario.training)) else chosen


def _states(scenario: Scenario) -> str:
    """What states are held in, where it is not what they follow: the master weights, or what trains."""
    training = scenario.training
    followed = "fp32" if _has_master(scenario) else trained_dtype(training)
    return NOT_THERE if training.optimizer_state_dtype in ("weights", followed) else training.optimizer_state_dtype


def _choose_states(scenario: Scenario) -> bool:
    return _trains(scenario) and RULES[scenario.training.optimizer].format == "dtype"


def _freeze(scenario: Scenario) -> str:
    freeze = scenario.training.freeze
    layers = f"last {counted(freeze.trainable_layers, 'layer')}"
    parts = {layers: freeze.trainable_layers, "embeddings": freeze.embeddings, "head": freeze.head}
    return _listed([name for name, trains in parts.items() if trains]) or "nothing"


def _offload(scenario: Scenario) -> str:
    offload = scenario.hardware.offload
    parts = {"optimizer": offload.optimizer, "weights": offload.parameters, "activations": offload.activations}
    return _listed([name for name, moved in parts.items() if moved]) or NOT_THERE


def _checkpoint_every(scenario: Scenario) -> str:
    return _size(scenario.training.checkpoint_every)


_OF_METHOD: dict[str, Facet] = {
    "method": Facet(4.0, lambda one: one.training.method, "{}", field="method"),
    "last_layers": Facet(
        2.0,
        _where(_is_adapted, lambda one: _switch(one.training.lora.last_layers is not None)),
        "adapters on the last layers alone",
        "adapters on all layers",
    ),
    "targets": Facet(0.5, _where(_is_adapted, lambda one: "named"), "adapters on {}"),
    "rank": Facet(0.2, _where(_is_adapted, lambda one: str(one.training.lora.rank)), "rank {}"),
    "dropout": Facet(
        0.5, _where(_is_adapted, lambda one: _switch(one.training.lora.dropout)), "LoRA dropout", "no LoRA dropout"
    ),
    "adapters": Facet(0.5, _where(_is_adapted, lambda one: one.training.lora.adapter_dtype), "adapters in {}"),
    "saved": Facet(
        0.5,
        _where(_is_adapted, lambda one: _listed(sorted(one.training.lora.modules_to_save)) or NOT_THERE),
        "{} trained in full",
        "no modules trained in full",
    ),
    "quantization": Facet(
        1.0, _where(_is_packed, lambda one: one.training.quantization.format), "base in {}", field="format"
    ),
    "double_quant": Facet(
        0.3,
        _where(_is_packed, lambda one: _switch(one.training.quantization.double_quant)),
        "double quantisation",
        "no double quantisation",
    ),
    "upcast": Facet(
        1.0,
        _where(_is_packed, lambda one: _switch(one.training.quantization.fp32_unquantized)),
        "the rest upcast to fp32",
        "the rest not upcast",
    ),
    "freeze": Facet(0.5, _where(lambda one: one.training.method == "freeze", _freeze), "training {}"),
    "kv_cache": Facet(
        2.0,
        _where(lambda one: not _trains(one), lambda one: _switch(one.training.caches_keys)),
        "KV cache",
        "no KV cache",
    ),
}
_OF_STEP: dict[str, Facet] = {
    "checkpointing": Facet(
        3.0, lambda one: one.training.checkpointing, "checkpointing {}", "no checkpointing", "checkpointing"
    ),
    "checkpoint_every": Facet(
        1.0,
        _where(lambda one: one.training.checkpointing == "full", _checkpoint_every),
        "checkpoints on one of {} layers",
        "checkpoints on every layer",
    ),
    "autocast": Facet(2.0, lambda one: one.training.autocast, "autocast {}", "no autocast"),
    "attention": Facet(2.0, lambda one: one.training.attention, "attention {}", field="attention"),
    "loss": Facet(2.0, lambda one: one.training.loss, "loss {}", field="loss"),
    "kernels": Facet(3.0, lambda one: one.training.kernels, "kernels of {}", field="kernels"),
    "library": Facet(1.0, lambda one: str(stack_of(one.training).version[0]), "transformers {}"),
    "trainer": Facet(0.5, lambda one: one.training.trainer, "trainer {}", "no trainer", "trainer"),
}
_OF_RECIPE: dict[str, Facet] = {
    "weights": Facet(1.0, lambda one: one.training.weights_dtype, "weights in {}", field="weights_dtype"),
    "master": Facet(
        1.0, _where(_trains, lambda one: _switch(_has_master(one))), "fp32 master weights", "no fp32 master weights"
    ),
    "gradients": Facet(1.0, _where(_trains, _gradients), "gradients in {}", "gradients as the weights"),
    "states": Facet(1.0, _where(_choose_states, _states), "states in {}", "states as the weights"),
    "optimizer": Facet(1.0, _where(_trains, lambda one: one.training.optimizer), "optimizer {}", field="optimizer"),
    "implementation": Facet(
        1.0,
        _where(_trains, lambda one: one.training.optimizer_impl),
        "implementation {}",
        field="optimizer_impl",
    ),
    "in_backward": Facet(
        2.0,
        _where(_trains, lambda one: _switch(one.training.optimizer_in_backward)),
        "optimizer in backward",
        "no optimizer in backward",
    ),
    "accumulation": Facet(
        0.5,
        _where(_trains, lambda one: _switch(one.training.gradient_accumulation > 1)),
        "accumulation",
        "no accumulation",
    ),
}
_OF_HARDWARE: dict[str, Facet] = {
    "sharding": Facet(3.0, _strategy, "sharding {}", "no sharding", "strategy", divides=True),
    "mixed_precision": Facet(
        1.5,
        _where(_is_fsdp, lambda one: _switch(one.hardware.sharding.mixed_precision)),
        "FSDP's mixed precision",
        "no mixed precision of FSDP",
    ),
    "reshard": Facet(
        1.0,
        _where(_is_fsdp, lambda one: _switch(one.hardware.sharding.reshard_after_forward)),
        "resharding after forward",
        "no resharding after forward",
    ),
    "bucket_view": Facet(
        1.0,
        _where(
            lambda one: data_parallel_devices(one.hardware) > 1 and _strategy(one) not in SHARDS_STATES,
            lambda one: _switch(one.hardware.sharding.gradient_as_bucket_view),
        ),
        "gradients in buckets",
        "gradients beside buckets",
    ),
    "tensor_parallel": Facet(
        3.0,
        lambda one: _size(one.hardware.tensor_parallel),
        "tensor parallelism {}",
        "no tensor parallelism",
        divides=True,
    ),
    "sequence_parallel": Facet(
        1.0,
        _where(lambda one: one.hardware.tensor_parallel > 1, lambda one: _switch(one.hardware.sequence_parallel)),
        "sequence parallelism",
        "no sequence parallelism",
    ),
    "pipeline_parallel": Facet(
        3.0,
        lambda one: _size(one.hardware.pipeline_parallel),
        "pipeline parallelism {}",
        "no pipeline parallelism",
        divides=True,
    ),
    "context_parallel": Facet(
        3.0,
        lambda one: _size(one.hardware.context_parallel),
        "context parallelism {}",
        "no context parallelism",
        divides=True,
    ),
    "expert_parallel": Facet(
        2.0,
        lambda one: _size(one.hardware.expert_parallel),
        "expert parallelism {}",
        "no expert parallelism",
        divides=True,
    ),
    "offload": Facet(3.0, _offload, "offload of {}", "no offload"),
}
FACETS: Mapping[str, Facet] = {**_OF_METHOD, **_OF_STEP, **_OF_RECIPE, **_OF_HARDWARE}
"""All of them, in the order in which differences are said."""
