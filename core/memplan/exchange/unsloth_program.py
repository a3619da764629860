"""The arguments of Unsloth's calls, flat in one file: from_pretrained, get_peft_model and the trainer's.

Defaults: unsloth 2026.10.9, models/loader.py (FastLanguageModel), models/llama.py (get_peft_model), models/rl.py (what
it puts in place of the trainer's own defaults).
"""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.layer_settling import ADAPTED_LAYERS, LAST_LAYERS
from memplan.exchange.model_settling import dtype_word
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import state_adapter, state_optimizer, state_targets
from memplan.exchange.unsloth import TARGETS, state_checkpointing, state_kernels

OWN_KEYS = (
    *("use_gradient_checkpointing", "full_finetuning", "load_in_16bit", "max_lora_rank", "fast_inference"),
    *("finetune_last_n_layers", "finetune_language_layers", "finetune_vision_layers", "unsloth_tiled_mlp"),
)
"""Arguments that no other library has."""
_OF_LOADING = ("max_seq_length", "load_in_4bit")
"""Together and beside an adapter's they are Unsloth's; where bitsandbytes' own stand there too, a program's."""


def recognises(document: Document) -> bool:
    """Whether arguments stand there that only Unsloth's calls have, at the top and beside no section of theirs."""
    content = document.content
    if "peft_type" in content or isinstance(content.get("training"), dict):
        return False
    if any(key in content for key in OWN_KEYS):
        return "base_model" not in content and "stage" not in content
    adapter = "r" in content and ("lora_alpha" in content or "target_modules" in content)
    own = any(str(key).startswith("bnb_") for key in content)
    return adapter and not own and all(key in content for key in _OF_LOADING)


def read(keys: Keys, document: Document) -> None:
    """Read the arguments of all three calls."""
    reading = keys.reading
    reading.state("given.trainer", Stated("unsloth", document.file, ""))
    reading.state("given.model_name", keys.text("model_name", "model", "model_name_or_path"))
    whole, rank, targets = keys.switch("full_finetuning"), keys.whole("r", "lora_r"), keys.any("target_modules")
    bits = {name: keys.switch(f"load_in_{name}") for name in ("4bit", "8bit", "16bit")}
    if whole and whole.value:
        reading.state("training.method", whole, value="full")
        reading.ignore(rank, "full_finetuning is on")
        keys.number("lora_dropout")
    else:
        _read_adapter(keys, rank, targets, bits)
    dtype = keys.text("dtype", "torch_dtype")
    if dtype is not None and (word := dtype_word(dtype.value)):
        reading.state("training.weights_dtype", dtype, value=word)
    reading.default("training.weights_dtype", "bf16", "Unsloth's default where the device has bf16")
    reading.state("training.sequence_length", keys.whole("max_seq_length", "max_length"))
    reading.default("training.sequence_length", 2048, "Unsloth's default")
    reading.state("training.micro_batch", keys.whole("per_device_train_batch_size", "batch_size"))
    reading.default("training.micro_batch", 4, "Unsloth's default")
    reading.state("training.gradient_accumulation", keys.whole("gradient_accumulation_steps"))
    reading.default("training.gradient_accumulation", 2, "Unsloth's default")
    state_checkpointing(keys, "use_gradient_checkpointing", "gradient_checkpointing")
    state_optimizer(reading, keys.text("optim"))
    reading.default("training.optimizer", "adamw_8bit", "Unsloth's default")
    _read_autocast(keys)
    if (engine := keys.switch("fast_inference")) and engine.value:
        share = keys.number("gpu_memory_utilization")
        reading.leave_out(share or engine, "what vLLM holds on the same device is not counted: hardware.used_by_others")
    state_kernels(reading)
    reading.default("hardware.devices", 1, "no file says more")


def _read_adapter(keys: Keys, rank: Stated | None, targets: Stated | None, bits: dict[str, Stated | None]) -> None:
    reading = keys.reading
    reading.state("training.method", rank, value="lora")
    reading.default("training.method", "lora", "Unsloth's default")
    wide = next((one for name in ("8bit", "16bit") if (one := bits[name]) and one.value), None)
    four = bits["4bit"]
    if four is not None and four.value:
        reading.state("given.quantized", four, value="nf4")
    elif wide is not None and wide is bits["8bit"]:
        reading.state("given.quantized", wide, value="int8")
    elif four is None and wide is None:
        reading.default("given.quantized", "nf4", "Unsloth's default (load_in_4bit)")
    reading.default("training.quantization.double_quant", True, "Unsloth's default")
    reading.default("training.quantization.fp32_unquantized", False, "Unsloth leaves the rest as loaded")
    state_adapter(keys, rank)
    _state_last_layers(keys)
    reading.default("training.lora.rank", 16, "Unsloth's default")
    state_targets(reading, targets)
    reading.default("training.lora.targets", TARGETS, "Unsloth's default")
    reading.state("training.lora.modules_to_save", keys.names("modules_to_save"))
    reading.default("training.lora.adapter_dtype", "fp32", "Unsloth trains adapters in fp32")


def _state_last_layers(keys: Keys) -> None:
    """Take finetune_last_n_layers: one at least, and only where no layers are named.

    Source: unsloth 2026.10.9, models/llama.py (get_peft_model).
    """
    reading, last = keys.reading, keys.whole("finetune_last_n_layers", least=0)
    if ADAPTED_LAYERS in reading.stated:
        reading.ignore(last, "layers_to_transform counts")
    elif last is not None:
        reading.state(LAST_LAYERS, last, value=max(1, last.value))
        if not last.value:
            reading.assume(last.key, "Unsloth takes one layer at least: 0 is 1")


def _read_autocast(keys: Keys) -> None:
    half = keys.switch("fp16")
    keys.switch("bf16")
    if half and half.value:
        keys.reading.state("training.autocast", half, value="fp16")
    keys.reading.default("training.autocast", "bf16", "its Trainer runs under bf16 autocast")
