"""A scenario's set-up in the words of a document: what is trained, how, on what."""

from __future__ import annotations

from memplan.calibration import measured_words
from memplan.choice_titles import choice_title, choice_words
from memplan.memory.sharding import (
    CASTS_WEIGHTS,
    SHARDS_GRADIENTS,
    SHARDS_STATES,
    SHARDS_WEIGHTS,
    data_parallel_devices,
)
from memplan.number_style import number
from memplan.plan.edit import facts_at
from memplan.plan.field_facts import facts
from memplan.plan.hardware import Hardware, Sharding
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Estimate
from memplan.sentences import host_sentence, model_sentence, pinned_sentence, stage_sentence, usable_words
from memplan.units import Unit, counted

_METHODS = {
    "full": "full fine-tuning",
    "lora": "LoRA",
    "qlora": "QLoRA",
    "freeze": "fine-tuning of the last layers",
    "inference": "inference",
}
_CHECKPOINTING = {
    "none": "no checkpointing",
    "full": "checkpointing of every layer",
    "selective": "selective checkpointing",
    "offload": "checkpointing with offload",
}


def set_up_lines(scenario: Scenario, estimate: Estimate, unit: Unit) -> list[tuple[str, str]]:
    """Return the set-up as label and text, in the order of the plan panel."""
    one_pass = all(instant.name != "decode" for instant in estimate.instants)  # encoders, whatever was asked for
    training = training_words(scenario.training, one_pass=one_pass)
    lines = [("Model", model_sentence(estimate)), ("Training", training)]
    lines.append(("Batch", batch_words(scenario)))
    lines.append(("Hardware", hardware_words(scenario.hardware, estimate, unit)))
    if sharding := sharding_words(scenario.hardware):
        lines.append(("Sharding", sharding))
    lines.append(("Recipe", recipe_words(estimate)))
    if measured := measured_words(estimate, unit):
        lines.append(("Measured", measured))
    if stage := stage_sentence(estimate, unit):
        lines.append(("Fullest", stage))
    if host := host_sentence(estimate, unit):
        lines.append(("Host", " ".join(part for part in (f"{host}.", pinned_sentence(estimate, unit)) if part)))
    return lines


def warning_lines(estimate: Estimate) -> list[tuple[str, str]]:
    """Return the warnings as the field's title and text: a path is for files, a title is what the window shows."""
    return [(facts_at(Scenario, advice.path).title, advice.message) for advice in estimate.warnings]


def training_words(training: Training, *, one_pass: bool = False) -> str:
    """Say how it is trained: "full fine-tuning, AdamW (foreach), no checkpointing, SDPA attention"."""
    words, generates = [_METHODS[training.method]], training.caches_keys and not one_pass
    if training.method in ("lora", "qlora"):
        targets = training.lora.targets
        words[0] += f" of rank {training.lora.rank} on {targets if isinstance(targets, str) else ', '.join(targets)}"
        if training.lora.last_layers is not None:
            words[0] += f" of the last {counted(training.lora.last_layers, 'layer')}"
    if training.method == "freeze":
        words[0] += f" ({training.freeze.trainable_layers})"
    if training.method == "inference":
        words[0] = "inference with a KV cache" if generates else "inference in one pass"
    else:
        variant = f" ({choice_words('optimizer_impl', training.optimizer_impl)})" if training.has_variants else ""
        words.append(f"{choice_words('optimizer', training.optimizer)}{variant}")
        every = training.checkpoint_every if training.checkpointing == "full" else 1
        one = f"checkpointing of one layer in {number(every)}"
        words.append(one if every > 1 else _CHECKPOINTING[training.checkpointing])
    words.append(f"{choice_words('attention', training.attention)} attention")
    if training.loss != "plain" and not generates:
        words.append(f"{choice_words('loss', training.loss)} loss")
    version = f" {training.kernels_version}" if training.kernels_version else ""
    words.append(f"{choice_words('kernels', training.kernels)}{version} kernels")
    return ", ".join(words)


def batch_words(scenario: Scenario) -> str:
    """Say what one step sees: "micro-batch 1 × accumulation 4 × 16 data-parallel = 64 sequences of 8,192 tokens:
    524,288 tokens a step".

    Equation: sequences = micro-batch × accumulation × data-parallel devices; tokens = sequences × sequence length.
    """
    training, groups = scenario.training, data_parallel_devices(scenario.hardware)
    length = f"{number(training.sequence_length)} {'token' if training.sequence_length == 1 else 'tokens'}"
    if training.method == "inference":
        return f"{_sequences(training.micro_batch)} of {length}"
    sequences = training.micro_batch * training.gradient_accumulation * groups
    factors = [f"micro-batch {number(training.micro_batch)}"]
    if training.gradient_accumulation > 1:
        factors.append(f"accumulation {number(training.gradient_accumulation)}")
    if groups > 1:
        factors.append(f"{number(groups)} data-parallel")
    words = f"{' × '.join(factors)} = " if len(factors) > 1 else ""
    return f"{words}{_sequences(sequences)} of {length}: {number(sequences * training.sequence_length)} tokens a step"


def _sequences(count: int) -> str:
    return "1 sequence" if count == 1 else f"{number(count)} sequences"


def devices_words(hardware: Hardware, device_name: str) -> str:
    """Say how many devices there are, by node: "2 nodes × 8 H100 SXM5 80 GB", "8 × A100 SXM4 80 GB"."""
    count, per_node = hardware.devices, hardware.devices_per_node
    if count == 1:
        return device_name
    if count <= per_node:
        return f"{number(count)} × {device_name}"
    nodes, rest = divmod(count, per_node)
    if rest:
        return f"{number(count)} × {device_name} in {number(nodes + 1)} nodes of up to {number(per_node)}"
    return f"{number(nodes)} nodes × {number(per_node)} {device_name}"


def hardware_words(hardware: Hardware, estimate: Estimate, unit: Unit) -> str:
    """Say what it is trained on: "2 nodes × 8 H100 SXM5 80 GB (16 devices), tensor parallel 8, headroom 5%"."""
    name = devices_words(hardware, estimate.device_name)
    words = [f"{name} ({number(hardware.devices)} devices)" if hardware.devices > hardware.devices_per_node else name]
    parallel = {
        "tensor": hardware.tensor_parallel,
        "pipeline": hardware.pipeline_parallel,
        "context": hardware.context_parallel,
        "expert": hardware.expert_parallel,
    }
    words += [f"{name} parallel {size}" for name, size in parallel.items() if size > 1]
    offloaded = [name for name, is_on in hardware.offload if is_on]
    if offloaded:
        words.append(f"{' and '.join(offloaded)} offloaded")
    words.append(f"{usable_words(estimate, unit)}{' of each' if hardware.devices > 1 else ''}")
    return ", ".join(words)


def sharding_words(hardware: Hardware) -> str:
    """Say what data-parallel devices divide, and how; empty where nothing is said of it.

    "FSDP2: weights, gradients and optimizer states divided among 16; reshard after forward; mixed precision".
    """
    sharding, groups = hardware.sharding, data_parallel_devices(hardware)
    if sharding.strategy == "none" or groups == 1:
        return ""
    by_part = {"weights": SHARDS_WEIGHTS, "gradients": SHARDS_GRADIENTS, "optimizer states": SHARDS_STATES}
    divided = [part for part, strategies in by_part.items() if sharding.strategy in strategies]
    what = f"nothing divided, the same on each of {number(groups)}"
    if divided:
        parts = " and ".join(filter(None, (", ".join(divided[:-1]), divided[-1])))
        what = f"{parts} divided among {number(groups)}"
    words = [f"{choice_title('strategy', sharding.strategy)}: {what}"]
    if sharding.strategy in CASTS_WEIGHTS:
        words += [_switch("reshard_after_forward", sharding.reshard_after_forward)]
        words += [_switch("mixed_precision", sharding.mixed_precision)]
    return "; ".join(words)


def _switch(name: str, is_on: bool) -> str:
    title = facts(Sharding, name).title.lower()
    return title if is_on else f"no {title}"


def recipe_words(estimate: Estimate) -> str:
    """Say which dtypes there are, and what a parameter takes."""
    per_parameter = f"{number(estimate.recipe.bytes_per_parameter, '.3g')} bytes per parameter"
    return (
        estimate.recipe.text if per_parameter in estimate.recipe.text else f"{estimate.recipe.text} = {per_parameter}"
    )
