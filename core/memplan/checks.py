"""Advice about a scenario: what is unwise, what contradicts itself, what will not run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Architecture, Linear
from memplan.catalog import Device
from memplan.memory.optimizers import RULES
from memplan.memory.setup import Setup
from memplan.memory.sharding import CASTS_WEIGHTS
from memplan.memory.stack import NEWEST, OLDEST, is_version, version_of
from memplan.memory.states import linears, module_linears
from memplan.number_style import number
from memplan.parallel_checks import keeps_masters, parallel_advice
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.printable import printable
from memplan.result import Advice
from memplan.translation import tr
from memplan.units import format_count

_BEFORE_AMPERE = ("Pascal", "Volta", "Turing")
"""Generations for which flash-attn has no kernels."""


def advice(scenario: Scenario, setup: Setup, architecture: Architecture, device: Device) -> Iterator[Advice]:
    """What a person who knows would say before starting this run."""
    yield from _about_precision(scenario)
    yield from _about_stored_weights(scenario)
    yield from _about_what_trains(scenario, setup, architecture)
    yield from _about_checkpoints(scenario, setup, architecture)
    yield from _about_state_spaces(setup, architecture)
    yield from _about_experts(scenario, setup, architecture)
    yield from device_advice(scenario, device)
    yield from parallel_advice(scenario, architecture)
    training = scenario.training
    yield from _about_version(training)
    if training.caches_keys and not architecture.generates:
        words = tr("{model_type} generates no text: it is walked in one pass, which caches no keys.").format(
            model_type=architecture.model_type
        )
        yield Advice("training.inference", words)
    if training.optimizer_in_backward and training.gradient_accumulation > 1:
        words = tr("Gradients that are applied as they come can not be accumulated.")
        yield Advice("training.gradient_accumulation", words)
    if architecture.positions is not None and training.sequence_length > architecture.positions.usable_rows:
        words = tr("The model has {usable_rows} learned positions; longer sequences fail.").format(
            usable_rows=architecture.positions.usable_rows
        )
        yield Advice("training.sequence_length", words)
    if training.attention != "eager" and any(layer.attention.softcap for layer in architecture.kinds):
        yield Advice(
            "training.attention", tr("This model caps its scores, which only eager attention does: eager runs.")
        )


def _about_precision(scenario: Scenario) -> Iterator[Advice]:
    training, hardware = scenario.training, scenario.hardware
    casts = hardware.sharding.strategy in CASTS_WEIGHTS and hardware.sharding.mixed_precision and hardware.devices > 1
    if training.method == "full" and training.weights_dtype == "fp32" and training.autocast == "none" and not casts:
        words = tr(
            "Everything runs in fp32. bf16 autocast halves the inputs of products; bf16 weights halve the states."
        )
        yield Advice("training.weights_dtype", words)
    bare = training.weights_dtype != "fp32" and not training.master_weights
    if training.method == "full" and bare and not keeps_masters(scenario):
        words = tr(
            "Weights and states are {weights_dtype} alone: small updates can be lost to rounding. fp32 weights "
            "under autocast, or master weights, avoid that for 12 or 16 bytes a parameter."
        ).format(weights_dtype=training.weights_dtype)
        yield Advice("training.master_weights", words)
    if training.weights_dtype == "fp16" and training.method == "full":
        yield Advice("training.weights_dtype", tr("PyTorch's gradient scaler refuses fp16 weights; load fp32 or bf16."))
    if training.master_weights and training.weights_dtype == "fp32":
        yield Advice("training.master_weights", tr("Weights are fp32 already; there is no second copy to keep."))
    if training.autocast == training.weights_dtype and training.method != "qlora":
        yield Advice(
            "training.autocast", tr("Weights are in that dtype already; autocast adds fp32 copies at norms and loss.")
        )


def _about_stored_weights(scenario: Scenario) -> Iterator[Advice]:
    """A config may say that weights are stored packed (transformers, quantization_config); adapters keep them so."""
    stored = (scenario.model.config or {}).get("quantization_config")
    if isinstance(stored, dict) and scenario.training.method != "qlora":
        words = tr("The config says that weights are stored packed ({method}). They are counted unpacked, in {dtype}.")
        method = printable(str(stored.get("quant_method", "quantization_config")))[:40]
        yield Advice("model", words.format(method=method, dtype=scenario.training.weights_dtype))


def _about_what_trains(scenario: Scenario, setup: Setup, architecture: Architecture) -> Iterator[Advice]:
    training = scenario.training
    freeze, lora = training.freeze, training.lora
    if training.method == "freeze" and not (freeze.trainable_layers or freeze.embeddings or freeze.head):
        words = tr("Nothing trains: no layer, no embeddings, no head.")
        yield Advice("training.freeze.trainable_layers", words)
    if training.trainable_fraction is not None and scenario.model.parameters is None:
        words = tr("The model's modules are known, so rank and targets count, not this.")
        yield Advice("training.trainable_fraction", words)
    if training.method == "full" and architecture.tower_values:
        words = tr(
            "What reads images or sound ({count} parameters) is counted as loaded and not as trained: a step over text "
            "gives it no gradients. Training on images or sound takes more than this."
        )
        yield Advice("training.method", words.format(count=format_count(architecture.tower_values)))
    if not setup.adapted:
        return
    adapted = [linear for linear in _adaptable(setup, architecture) if setup.adapts(linear)]
    if setup.targets == ():
        yield Advice("training.lora.targets", tr("No module is named, so there are no adapters and nothing trains."))
    elif setup.targets is not None and (unmatched := _unmatched(setup, architecture)):
        names = ", ".join(sorted(_names_of(_adaptable(setup, architecture))))
        named = " or ".join(unmatched)
        words = tr("No module is called {named}. This model's are {names}.")
        if not adapted:
            words = tr("No module is called {named}: PEFT refuses such a set-up. This model's are {names}.")
        yield Advice("training.lora.targets", words.format(named=named, names=names))
    if (last := lora.last_layers) is not None and last > architecture.num_layers:
        words = tr("The model has {layers} layers, and all of them get adapters.")
        if scenario.training.kernels == "mlx":
            words = tr("The model has {layers} layers. MLX-LM refuses to train more than there are.")
        yield Advice("training.lora.last_layers", words.format(layers=number(architecture.num_layers)))
    narrowest = min((min(linear.inputs, linear.outputs) for linear in adapted), default=0)
    if 0 < narrowest < lora.rank:
        words = tr(
            "An adapter of rank {rank} is larger than the narrowest matrix it stands beside ({narrowest})."
        ).format(rank=lora.rank, narrowest=narrowest)
        yield Advice("training.lora.rank", words)


def _about_checkpoints(scenario: Scenario, setup: Setup, architecture: Architecture) -> Iterator[Advice]:
    training, layers = scenario.training, architecture.num_layers
    every, last = training.checkpoint_every, training.lora.last_layers
    if training.checkpointing in ("selective", "offload") and every > 1:
        words = tr("Full checkpointing alone leaves layers out: selective and offloaded ones treat all alike.")
        yield Advice("training.checkpoint_every", words)
    if training.checkpointing == "full" and every > layers:
        words = tr("The model has {layers} layers, so none is recomputed.").format(layers=number(layers))
        yield Advice("training.checkpoint_every", words)
    trained = last if setup.adapted else training.freeze.trainable_layers if training.method == "freeze" else None
    reached = not setup.makes_inputs_need_gradients or setup.table_trains(architecture.tied)
    if trained is not None and trained < layers and not reached:
        words = tr(
            "With checkpoints {library} makes the embeddings need gradients, so that layers before the first that "
            "trains take part in backward. Without checkpoints they keep nothing."
        )
        library = "PEFT" if setup.adapted else tr("transformers 5")
        yield Advice("training.checkpointing", words.format(library=library))


def _names_of(linears: Iterable[Linear]) -> set[str]:
    """What targets may be called; of several matrices in one, each by its own name."""
    return {name for linear in linears for name in (part for part, _ in linear.parts or ((linear.name, 1),))}


def _adaptable(setup: Setup, architecture: Architecture) -> Iterator[Linear]:
    yield from (linear for linear, _ in linears(architecture))
    for mixture in _mixtures(architecture):
        yield from (linear for linear, _ in module_linears(mixture, setup))


def _unmatched(setup: Setup, architecture: Architecture) -> list[str]:
    """Targets that no linear module has for a name, nor a router or experts that PEFT adapts under it."""
    adapted = [linear for linear in _adaptable(setup, architecture) if setup.adapts(linear)]
    known = _names_of(adapted)
    if any(setup.adapts_parameter(one, weight.name) for one in _mixtures(architecture) for weight in one.weights()):
        return []
    return [name for name in setup.targets or () if name not in known]


def _mixtures(architecture: Architecture) -> list[Experts]:
    return [layer.mlp for layer in architecture.kinds if isinstance(layer.mlp, Experts)]


_REFUSES_OUT_PROJ = ("falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h")
"""Model types of which PEFT 0.21 refuses adapters on out_proj, which fused kernels read past its module."""


def _about_state_spaces(setup: Setup, architecture: Architecture) -> Iterator[Advice]:
    if architecture.model_type not in _REFUSES_OUT_PROJ:
        return
    if any(linear.name == "out_proj" and setup.adapts(linear) for linear, _ in linears(architecture)):
        words = tr("PEFT refuses adapters on out_proj of such a model: name the targets without it.")
        yield Advice("training.lora.targets", words)


def _about_experts(scenario: Scenario, setup: Setup, architecture: Architecture) -> Iterator[Advice]:
    mixtures = _mixtures(architecture)
    adapted = any(setup.adapts_parameter(one, "experts.down_proj") for one in mixtures)
    if scenario.training.lora.last_layers is not None and adapted:
        words = tr("PEFT puts adapters on the experts of every layer, whatever layers it is told of.")
        yield Advice("training.lora.last_layers", words)
    if scenario.training.lora.dropout > 0 and adapted:
        yield Advice("training.lora.dropout", tr("PEFT takes no dropout on experts; it refuses this set-up."))
    if setup.packed and any(not setup.expert_modules(one) for one in mixtures):
        training = scenario.training
        wide = training.quantization.fp32_unquantized or training.weights_dtype == "fp32"
        words = tr(
            "4-bit packs linear modules only: with transformers 5 the experts, most of this model, are held in {dtype}."
        ).format(dtype="fp32" if wide else tr("16 bit"))
        yield Advice("training.quantization.format", words)


def _about_version(training: Training) -> Iterator[Advice]:
    text = training.kernels_version
    if text is None or training.kernels != "transformers":
        return
    newest = ".".join(map(str, NEWEST))
    version = version_of(text)
    if not is_version(text):
        yield Advice(
            "training.kernels_version",
            tr('"{text}" is not a version such as 4.48; {newest} is counted.').format(text=text, newest=newest),
        )
    elif version > NEWEST:
        yield Advice(
            "training.kernels_version", tr("Newer than what is known: {newest} is counted.").format(newest=newest)
        )
    elif version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield Advice(
            "training.kernels_version", tr("Older than what is known: {oldest} is counted.").format(oldest=oldest)
        )


def runs_alone(hardware: Hardware, device: Device) -> bool:
    """Whether the run is divided over several devices, and those of this kind cannot share one."""
    return hardware.devices > 1 and not device.joins_others


def device_advice(scenario: Scenario, device: Device) -> Iterator[Advice]:
    """What speaks against this device in particular: arithmetic, kernels or communication that it lacks."""
    training = scenario.training
    if runs_alone(scenario.hardware, device):
        words = tr("PyTorch has no communication between Apple's GPUs: a run cannot be divided over several.")
        if device.vendor != "Apple":
            words = tr("{name} is not made to be linked to others: a run cannot be divided over several.").format(
                name=device.name
            )
        yield Advice("hardware.devices", words)
    if device.vendor == "Apple" and RULES[training.optimizer].source.startswith("bitsandbytes"):
        words = tr("bitsandbytes' optimizers need a platform that it supports; Apple's GPUs are not among them.")
        yield Advice("training.optimizer", words)
    if device.vendor == "Apple" and training.method == "qlora" and training.quantization.format != "mlx_int4":
        words = tr("bitsandbytes' 4-bit weights do not run on Apple's GPUs; MLX has 4-bit weights of its own.")
        yield Advice("training.quantization.format", words)
    if training.attention == "flash" and device.architecture in _BEFORE_AMPERE:
        words = tr("flash-attn has no kernels for {architecture}; sdpa keeps as little.").format(
            architecture=device.architecture
        )
        yield Advice("training.attention", words)
    if not device.bf16_supported and "bf16" in (training.weights_dtype, training.autocast):
        path = "training.weights_dtype" if training.weights_dtype == "bf16" else "training.autocast"
        yield Advice(
            path, tr("{name} has no bf16 arithmetic of its own; fp16 takes as much memory.").format(name=device.name)
        )
