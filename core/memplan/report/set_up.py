"""A scenario's set-up in the words of a document: what is trained, how, on what."""

from __future__ import annotations

from memplan.calibration import measured_words
from memplan.plan.edit import facts_at
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Estimate
from memplan.sentences import host_sentence, model_sentence, pinned_sentence, stage_sentence
from memplan.units import Unit, format_bytes

_METHODS = {
    "full": "full fine-tuning",
    "lora": "LoRA",
    "qlora": "QLoRA",
    "freeze": "fine-tuning of the last layers",
    "inference": "inference",
}


def set_up_lines(scenario: Scenario, estimate: Estimate, unit: Unit) -> list[tuple[str, str]]:
    """Return the set-up as label and text, in the order of the plan panel."""
    lines = [("Model", model_sentence(estimate)), ("Training", training_words(scenario.training))]
    lines.append(("Hardware", hardware_words(scenario.hardware, estimate, unit)))
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


def training_words(training: Training) -> str:
    """Say how it is trained: "full fine-tuning, adamw (foreach), batch 1 × 2,048 tokens"."""
    words = [_METHODS[training.method]]
    if training.method in ("lora", "qlora"):
        targets = training.lora.targets
        words[0] += f" of rank {training.lora.rank} on {targets if isinstance(targets, str) else ', '.join(targets)}"
    if training.method == "freeze":
        words[0] += f" ({training.freeze.trainable_layers})"
    if training.method == "inference":
        words[0] = "inference with a KV cache" if training.caches_keys else "inference in one pass"
    else:
        words.append(f"{training.optimizer} ({training.optimizer_impl})")
    batch = f"batch {training.micro_batch:,} × {training.sequence_length:,} tokens"
    if training.gradient_accumulation > 1:
        batch += f", accumulated {training.gradient_accumulation:,} times"
    words.append(batch)
    if training.checkpointing != "none":
        words.append(f"{training.checkpointing} checkpointing")
    words.append(f"{training.attention} attention")
    if training.loss != "plain" and not training.caches_keys:
        words.append(f"{training.loss} loss")
    version = f" {training.kernels_version}" if training.kernels_version else ""
    words.append(f"{training.kernels}{version} kernels")
    return ", ".join(words)


def hardware_words(hardware: Hardware, estimate: Estimate, unit: Unit) -> str:
    """Say what it is trained on: "8 × A100 80 GB SXM, fsdp2, 75.1 GiB usable of each"."""
    words = [f"{hardware.devices:,} × {estimate.device_name}"]
    if hardware.sharding.strategy != "none":
        words.append(hardware.sharding.strategy)
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
    if hardware.used_by_others_bytes:
        words.append(f"{format_bytes(hardware.used_by_others_bytes, unit)} used by others")
    words.append(f"headroom {hardware.headroom:.0%}")
    return ", ".join(words)


def recipe_words(estimate: Estimate) -> str:
    """Say which dtypes there are, and what a parameter takes."""
    per_parameter = f"{estimate.recipe.bytes_per_parameter:.3g} bytes per parameter"
    return (
        estimate.recipe.text if per_parameter in estimate.recipe.text else f"{estimate.recipe.text} = {per_parameter}"
    )
