"""What the choices of a plan's fields are called: the same words in forms, sentences and reports."""

from __future__ import annotations

CHOICE_TITLES: dict[str, str] = {
    # method
    "full": "Full fine-tune",
    "lora": "LoRA",
    "qlora": "QLoRA (4-bit base)",
    "freeze": "Last layers only",
    "inference": "Inference",
    # number formats
    "fp32": "fp32",
    "bf16": "bf16",
    "fp16": "fp16",
    "weights": "As the weights",
    "none": "None",
    # optimizers
    "adamw": "AdamW",
    "sgd": "SGD",
    "sgd_momentum": "SGD with momentum",
    "adafactor": "Adafactor",
    "adagrad": "Adagrad",
    "rmsprop": "RMSprop",
    "lion": "Lion",
    "muon": "Muon",
    "adamw_8bit": "AdamW 8-bit",
    "adamw_4bit": "AdamW 4-bit",
    "lion_8bit": "Lion 8-bit",
    "paged_adamw_8bit": "Paged AdamW 8-bit",
    "paged_adamw_32bit": "Paged AdamW 32-bit",
    "galore": "GaLore",
    "apollo": "APOLLO",
    "adamw_fp8": "AdamW fp8",
    "ademamix": "AdEMAMix",
    "ademamix_8bit": "AdEMAMix 8-bit",
    "schedule_free_adamw": "Schedule-free AdamW",
    "foreach": "Foreach",
    "fused": "Fused",
    "for_loop": "For loop",
    # checkpointing, attention, loss
    "selective": "Selective",
    "offload": "Offloaded",
    "eager": "Eager",
    "sdpa": "SDPA",
    "flash": "Flash",
    "plain": "Plain",
    "chunked": "Chunked",
    # kernels and trainers
    "transformers": "Transformers",
    "liger": "Liger",
    "torchtune": "torchtune",
    "torchtitan": "torchtitan",
    "litgpt": "LitGPT",
    "megatron": "Megatron",
    "unsloth": "Unsloth",
    "mlx": "MLX",
    "accelerate": "Accelerate",
    "trl": "TRL",
    # quantisation
    "nf4": "NF4",
    "fp4": "FP4",
    "int8": "INT8",
    "gptq_int4": "GPTQ int4",
    "mlx_int4": "MLX int4",
    # sharding
    "ddp": "DDP",
    "zero1": "ZeRO-1",
    "zero2": "ZeRO-2",
    "zero3": "ZeRO-3",
    "fsdp1": "FSDP1",
    "fsdp2": "FSDP2",
}
TITLES_IN_FIELD: dict[str, dict[str, str]] = {
    "checkpointing": {"full": "Whole layers"},
    "strategy": {"megatron": "Megatron optimizer"},
}
"""Titles of a choice whose word means something else in that field."""

_PLAIN = frozenset(
    {"full", "freeze", "inference", "weights", "none", "foreach", "fused", "for_loop", "selective", "offload"}
    | {"eager", "flash", "plain", "chunked"}
)
"""Choices whose titles are common words, not names."""


def choice_title(field: str, choice: str) -> str:
    """What a form calls a choice.

    >>> choice_title("strategy", "zero3"), choice_title("checkpointing", "full"), choice_title("kernels", "own")
    ('ZeRO-3', 'Whole layers', 'own')
    """
    return TITLES_IN_FIELD.get(field, {}).get(choice) or CHOICE_TITLES.get(choice, choice)


def choice_words(field: str, choice: str) -> str:
    """The same inside a sentence: names keep their capitals, common words have none.

    >>> choice_words("optimizer", "adamw_8bit"), choice_words("optimizer_impl", "for_loop")
    ('AdamW 8-bit', 'for loop')
    """
    title = choice_title(field, choice)
    return title[:1].lower() + title[1:] if choice in _PLAIN else title
