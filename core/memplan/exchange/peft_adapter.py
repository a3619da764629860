"""PEFT's adapter_config.json. Older files lack half of the keys; the base's precision is never in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memplan.exchange.documents import Document
from memplan.exchange.hf_trainer import TRAINER_SIGNS, state_bits
from memplan.exchange.layer_settling import ADAPTED_LAYERS
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import state_adapter, state_targets

BESIDE_OTHERS = (
    *("lora_alpha", "lora_dropout", "use_dora", "use_rslora", "load_in_4bit", "load_in_8bit"),
    *("bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype"),
)
"""What belongs to an adapter and its base where the Trainer's arguments stand in the same file: bitsandbytes' too."""

_LORA_LIKE = ("LORA", "ADALORA")


def recognises(document: Document) -> bool:
    """Whether it is an adapter's configuration: by PEFT's own key, or by the keys that every LoRA has.

    Beside a trainer's own keys they are that trainer's file, which holds an adapter's arguments as well.
    """
    content = document.content
    if "peft_type" in content:
        return True
    return has_adapter(content) and "target_modules" in content and not any(key in content for key in TRAINER_SIGNS)


def has_adapter(content: Mapping[str, Any]) -> bool:
    """Whether an adapter's arguments stand among others."""
    return "r" in content and "lora_alpha" in content


def read(keys: Keys, document: Document) -> None:
    """Read rank, targets, dropout and what trains whole."""
    reading = keys.reading
    kind = keys.text("peft_type")
    name = kind.value.upper() if kind else "LORA"
    anchor = kind or Stated("LORA", document.file, "r")
    reading.state("training.method", anchor, value="lora")
    reading.state("given.adapter", anchor, value=True)
    reading.state("given.model_name", keys.text("base_model_name_or_path"))
    starts, common = keys.whole("init_r"), keys.whole("r")
    rank = starts or common if name == "ADALORA" else common
    if name not in _LORA_LIKE:
        reading.leave_out(anchor, "no method that memplan counts; LoRA of the same rank is counted")
    state_adapter(keys, rank)
    if rank is None:
        reading.default("training.lora.rank", 8, "PEFT's default")
    state_targets(reading, targets := keys.any("target_modules"))
    if targets is not None and isinstance(targets.value, str):
        listed = reading.stated.pop(ADAPTED_LAYERS, None)
        reading.leave_out(listed, "PEFT takes it beside a list of names alone; adapters are counted on every layer")
    reading.state("training.lora.modules_to_save", keys.names("modules_to_save"))
    state_bits(keys, keys.switch("load_in_4bit"), keys.switch("load_in_8bit"))
    keys.text("bnb_4bit_compute_dtype")
    bias = keys.text("bias")
    if bias and bias.value != "none":
        reading.leave_out(bias, "biases that train are not counted")
