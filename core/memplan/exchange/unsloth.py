"""Unsloth Studio's YAML: blocks for training and adapter; a filled block that does not apply is ignored.

Defaults: unsloth 2026.10.9, unsloth_cli/config.py; unsloth_zoo, training_utils.py (prepare_model_for_training).
"""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys, Reading
from memplan.exchange.trainer_terms import state_adapter, state_targets


def recognises(document: Document) -> bool:
    """Whether it has Studio's blocks."""
    training = document.content.get("training")
    return isinstance(training, dict) and ("training_type" in training or "load_in_4bit" in training)


TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def read(keys: Keys, document: Document) -> None:
    """Read a recipe."""
    reading = keys.reading
    reading.state("given.trainer", Stated("unsloth", document.file, ""))
    reading.state("given.model_name", keys.text("model"))
    training, adapter = keys.section("training"), keys.section("lora")
    keys.section("data"), keys.section("logging")
    kind = training.text("training_type")
    word = kind.value.lower() if kind else "lora"
    if word not in ("lora", "full"):
        raise training.refused(kind or Stated(None, "", ""), "lora or full")
    four = training.switch("load_in_4bit")
    if word == "full":
        _read_full(reading_keys=adapter, kind=kind, four=four)
    else:
        _read_adapter(adapter, kind, four)
    reading.default("training.weights_dtype", "bf16", "Unsloth's default where the device has bf16")
    reading.state("training.sequence_length", training.whole("max_seq_length"))
    reading.default("training.sequence_length", 2048, "Unsloth's default")
    reading.state("training.micro_batch", training.whole("batch_size", "per_device_train_batch_size"))
    reading.default("training.micro_batch", 2, "Unsloth's default")
    reading.state("training.gradient_accumulation", training.whole("gradient_accumulation_steps"))
    reading.default("training.gradient_accumulation", 4, "Unsloth's default")
    state_checkpointing(training, "gradient_checkpointing")
    reading.default("training.optimizer", "adamw_8bit", "Unsloth Studio's default (adamw_8bit)")
    reading.default("training.autocast", "bf16", "its Trainer runs under bf16 autocast")
    state_kernels(reading)
    reading.default("hardware.devices", 1, "Unsloth Studio trains on one device")


def state_kernels(reading: Reading) -> None:
    """Take down what Unsloth runs whatever a file says."""
    reading.default("training.trainer", "accelerate", "transformers' Trainer runs it")
    reading.default("training.kernels", "unsloth", "its own kernels")
    reading.default("training.loss", "fused", "Unsloth's own loss makes no whole logits")
    reading.default("training.attention", "sdpa", "flash attention or sdpa, whichever is there; they keep as much")


def _read_full(reading_keys: Keys, kind: Stated | None, four: Stated | None) -> None:
    reading = reading_keys.reading
    reading.state("training.method", kind, value="full")
    if four and four.value:
        reading.ignore(four, "training_type is full")
    if reading_keys.content:
        reading.ignore(Stated(None, reading.file, "lora"), "training_type is full")
        reading_keys.content = {}


def _read_adapter(adapter: Keys, kind: Stated | None, four: Stated | None) -> None:
    reading = adapter.reading
    reading.state("training.method", kind, value="lora")
    reading.default("training.method", "lora", "Unsloth's default (training_type)")
    if four and four.value:
        reading.state("given.quantized", four, value="nf4")
    elif four is None:
        reading.default("given.quantized", "nf4", "Unsloth's default (load_in_4bit)")
    reading.default("training.quantization.double_quant", True, "Unsloth's default")
    reading.default("training.quantization.fp32_unquantized", False, "Unsloth leaves the rest as loaded")
    state_adapter(adapter, adapter.whole("lora_r"))
    reading.default("training.lora.rank", 64, "Unsloth Studio's default")
    state_targets(reading, adapter.text("target_modules"))
    every = adapter.switch("vision_all_linear")
    if every and every.value and "training.lora.targets" not in reading.stated:
        reading.state("training.lora.targets", every, value="all-linear")
    reading.default("training.lora.targets", TARGETS, "Unsloth's default")
    reading.default("training.lora.adapter_dtype", "fp32", "Unsloth trains adapters in fp32")


def state_checkpointing(training: Keys, *names: str) -> None:
    """Take what is kept of activations: "unsloth" moves it to the host."""
    reading, kept = training.reading, training.text(*names)
    word = kept.value.lower() if kept else "unsloth"
    values = {"unsloth": "offload", "true": "full", "1": "full", "yes": "full"}
    off = ("none", "false", "0", "no", "off")
    if word not in (*values, *off):
        raise training.refused(kept or Stated(None, "", ""), "unsloth, true or none")
    reading.state("training.checkpointing", kept, value=values.get(word, "none"))
    reading.default("training.checkpointing", "offload", 'Unsloth\'s default ("unsloth")')
