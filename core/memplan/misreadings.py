"""What people often take for granted and is not so, said where they would go wrong.

Each of these fills issue threads of trainers: LoRA that "did not help", ZeRO-2 that "does not shard", accumulation that
"saves nothing", logits that nobody counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.counts import total
from memplan.architecture.parts import Architecture
from memplan.memory.sharding import CASTS_WEIGHTS, SHARDS_STATES, SHARDS_WEIGHTS, data_parallel_devices
from memplan.number_formats import BYTES_PER_VALUE
from memplan.number_style import number
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.result import Advice
from memplan.translation import tr
from memplan.units import GIB, format_bytes

_KEPT_PER_VALUE = 34
"""Bytes that a layer keeps for a value of the residual stream (Korthikanti et al. 2022, arXiv:2205.05198, eq. 2)."""
_LARGE_LOGITS = 2 * GIB
_MUCH_COPIED = GIB
_LONG, _LONG_WITH_CHECKPOINTS = 4096, 16_384
"""Tokens at once from which fp32 activations weigh as much as packed weights save on models of 1B to 8B."""


def misreadings(
    scenario: Scenario, architecture: Architecture, held_weights: int, copied_bytes: int
) -> Iterator[Advice]:
    """What would be misread in this scenario.

    Args:
        scenario: the set-up.
        architecture: its model.
        held_weights: bytes of weights on its fullest device.
        copied_bytes: autocast's 16-bit copies of weights, alive until forward is over.
    """
    yield from _about_adapters(scenario, architecture)
    yield from _about_the_loss(scenario, architecture)
    yield from _about_sharding(scenario, held_weights)
    yield from _about_autocast(scenario, copied_bytes)
    yield from _about_batches(scenario)


def _about_adapters(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    training = scenario.training
    method, tokens = training.method, training.micro_batch * training.sequence_length
    held = total(architecture) * BYTES_PER_VALUE[training.weights_dtype]
    if method in ("lora", "freeze", "inference") and training.weights_dtype == "fp32":
        words = tr("Frozen weights are loaded in fp32: bf16 takes half of it, and nothing of them is updated.")
        yield Advice("training.weights_dtype", words)
    checkpoints = training.checkpointing in ("full", "offload")
    kept = _KEPT_PER_VALUE * tokens * architecture.hidden_size * architecture.num_layers
    if method in ("lora", "qlora") and not checkpoints and kept > held:
        words = tr(
            "Adapters spare gradients and states, not activations: at this many tokens those are the larger part, and "
            "checkpointing or fewer tokens make them smaller."
        )
        yield Advice("training.method", words)
    upcast = method == "qlora" and training.quantization.fp32_unquantized and training.weights_dtype != "fp32"
    if upcast and tokens >= (_LONG_WITH_CHECKPOINTS if checkpoints else _LONG):
        words = tr("Norms in fp32 make activations fp32: with this many tokens QLoRA can need more memory than LoRA.")
        yield Advice("training.quantization.fp32_unquantized", words)
    if method in ("lora", "qlora") and training.lora.modules_to_save:
        words = tr(
            "A module that trains whole takes gradients and states of its own; PEFT's trainable_token_indices trains "
            "the rows of new tokens alone."
        )
        yield Advice("training.lora.modules_to_save", words)


def _about_the_loss(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    training = scenario.training
    tokens = training.micro_batch * training.sequence_length
    logits = 4 * tokens * architecture.vocab_size
    if training.method == "inference" or training.loss != "plain" or training.kernels == "liger":
        return
    if logits >= _LARGE_LOGITS:
        words = tr(
            "{tokens} tokens × {vocab_size} words of the vocabulary are logits of {logits} in fp32, with a "
            "gradient as large; a fused or chunked loss never holds them whole."
        ).format(tokens=number(tokens), vocab_size=number(architecture.vocab_size), logits=format_bytes(logits))
        yield Advice("training.loss", words)


def _about_sharding(scenario: Scenario, held_weights: int) -> Iterator[Advice]:
    hardware, strategy = scenario.hardware, scenario.hardware.sharding.strategy
    if strategy not in SHARDS_STATES:
        return
    if data_parallel_devices(hardware) == 1:
        # Of several that other parallelism takes, and of ZeRO with its buckets, it is said elsewhere.
        if hardware.devices == 1 and not strategy.startswith("zero"):
            yield Advice("hardware.sharding.strategy", _nothing_to_divide(hardware))
    elif strategy not in SHARDS_WEIGHTS and scenario.training.method != "inference":
        what = "states and gradients" if strategy == "zero2" else "states"
        parts = hardware.tensor_parallel * hardware.pipeline_parallel * hardware.expert_parallel
        whose = "all weights" if parts == 1 else "all weights of its part of the model"
        words = tr("Divides {what}; every device holds {whose} ({held_weights}). ZeRO-3 and FSDP divide them.").format(
            what=what, whose=whose, held_weights=format_bytes(held_weights)
        )
        yield Advice("hardware.sharding.strategy", words)


def _about_autocast(scenario: Scenario, copied_bytes: int) -> Iterator[Advice]:
    """Copies that devices do not divide (PyTorch 2.13, autocast_mode.cpp: cached until autocast is left)."""
    hardware, strategy = scenario.hardware, scenario.hardware.sharding.strategy
    if data_parallel_devices(hardware) == 1 or strategy not in SHARDS_STATES or copied_bytes < _MUCH_COPIED:
        return
    remedy = (
        "with FSDP's own mixed precision instead of autocast"
        if strategy in CASTS_WEIGHTS
        else "with bf16 weights beside master weights, DeepSpeed's own mixed precision instead of autocast,"
    )
    words = tr(
        "Autocast keeps 16-bit copies of weights until forward is over, {copied_bytes} that no device shares; "
        "{remedy} there are none."
    ).format(copied_bytes=format_bytes(copied_bytes), remedy=remedy)
    yield Advice("training.autocast", words)


def _nothing_to_divide(hardware: Hardware) -> str:
    offloads = hardware.offload.optimizer or hardware.offload.parameters
    rest = " that is not offloaded" if offloads else ""
    return f"One device has nothing to divide with: it holds everything{rest}."


def _about_batches(scenario: Scenario) -> Iterator[Advice]:
    training, devices = scenario.training, data_parallel_devices(scenario.hardware)
    seers = "devices" if devices == scenario.hardware.devices else "replicas of the model"
    batch, pieces = training.micro_batch, training.gradient_accumulation
    if training.method == "inference" or pieces == 1:
        return
    factors = [number(batch), number(pieces), *([f"{number(devices)} {seers}"] if devices > 1 else [])]
    words = tr("One update sees {factors} = {batch} sequences").format(
        factors=" × ".join(factors), batch=number(batch * pieces * devices)
    )
    if batch > 1:
        words += f"; activations follow the micro-batch of {number(batch)}, whatever the accumulation"
    yield Advice("training.gradient_accumulation", tr("{words}.").format(words=words))
