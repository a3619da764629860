"""Titles of choices, and values as people type and read them. Plain Python."""

from __future__ import annotations

import re

from memplan import UNIT_BYTES, UNIT_NAMES, Unit, format_bytes
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.typed import plain_number

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
    "checkpointing": {"full": "Every layer"},
    "strategy": {"megatron": "Megatron optimizer"},
}
"""Titles of a choice whose word means something else in that field."""

_BYTES = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([gGmM])?(i)?[bB]?\s*$")
_FRACTION = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)\s*$")


def step_name(title: str) -> str:
    """What a step is called after the word "Undo": a title as it stands inside a sentence; names stay as they are.

    >>> [step_name(title) for title in ("Sequence length", "LoRA rank", "Adafactor on", "fp32 master weights")]
    ['sequence length', 'LoRA rank', 'Adafactor on', 'fp32 master weights']
    """
    first = title.partition(" ")[0]
    is_plain = first[1:].islower() and CHOICE_TITLES.get(first.lower()) != first
    return first[:1].lower() + title[1:] if is_plain else title


def choice_title(field: str, choice: str) -> str:
    """What a form calls a choice."""
    return TITLES_IN_FIELD.get(field, {}).get(choice) or CHOICE_TITLES.get(choice, choice)


def parse_bytes(text: str, unit: Unit) -> int:
    """Read an amount of memory: "1.5 GiB", "800 MB"; a bare number is in the unit that the window shows.

    >>> parse_bytes("1.5", "gib") == parse_bytes("1.5 GiB", "gb") == parse_bytes("1,5 GiB", "gb") == 3 * 2**29
    True

    Raises:
        ValueError: what was found and what can be read.
    """
    found = _BYTES.match(plain_number(text))
    if not found:
        raise ValueError(f"{text.strip()!r} is not an amount of memory; write 1.5 {UNIT_NAMES[unit]} or 800 MiB.")
    number, letter, binary = found.groups()
    if letter is None:
        return round(float(number) * UNIT_BYTES[unit])
    size = {("g", True): 2**30, ("g", False): 10**9, ("m", True): 2**20, ("m", False): 10**6}
    return round(float(number) * size[letter.lower(), binary is not None])


def parse_fraction(text: str) -> float:
    """Read per cent, as they are written: "5%", "5 %" and "5" are the same, and "0.5" is half of one per cent.

    >>> parse_fraction("5%"), parse_fraction("5"), parse_fraction("0.5"), parse_fraction("7,5 %")
    (0.05, 0.05, 0.005, 0.075)

    Raises:
        ValueError: what was found and what can be read.
    """
    found = _FRACTION.match(plain_number(text))
    if not found:
        raise ValueError(f"{text.strip()!r} is not a share in per cent; write 5 or 7.5 %.")
    return round(float(found[1]) / 100, 12)


def fraction_text(value: float) -> str:
    """Write a fraction as per cent.

    >>> fraction_text(0.05), fraction_text(0.001)
    ('5 %', '0.1 %')
    """
    return f"{value * 100:.6g} %"


def bytes_text(value: int, unit: Unit) -> str:
    """Write an amount of memory so that reading it gives the same figure again, where that is short."""
    short = f"{value / UNIT_BYTES[unit]:.6g} {UNIT_NAMES[unit]}"
    return short if value else f"0 {UNIT_NAMES[unit]}"


def count_text(value: int) -> str:
    """Write a count in full, short enough for a field: 2048, 128,256; commas from five digits on."""
    return grouped(value) if value >= 10_000 else str(value)


def both_units(num_bytes: int) -> str:
    """The figure in GiB and in GB, and every digit: for a tooltip."""
    return f"{format_bytes(num_bytes, 'gib')} = {format_bytes(num_bytes, 'gb')} ({grouped(num_bytes)} bytes)"
