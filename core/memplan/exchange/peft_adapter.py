"""PEFT's adapter_config.json. Older files lack half of the keys; the base's precision is never in it."""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import state_adapter, state_targets

_LORA_LIKE = ("LORA", "ADALORA")


def recognises(document: Document) -> bool:
    """Whether it is an adapter's configuration: by PEFT's own key, or by the keys that every LoRA has."""
    content = document.content
    return "peft_type" in content or ("r" in content and "lora_alpha" in content and "target_modules" in content)


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
    state_targets(reading, keys.any("target_modules"))
    reading.state("training.lora.modules_to_save", keys.names("modules_to_save"))
    bias = keys.text("bias")
    if bias and bias.value != "none":
        reading.leave_out(bias, "biases that train are not counted")
