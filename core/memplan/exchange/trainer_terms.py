"""What trainers on transformers have in common: names of optimizers, attention, adapters' targets, shards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

from memplan.errors import MemplanError
from memplan.exchange.layer_settling import state_layers
from memplan.exchange.model_settling import dtype_word
from memplan.exchange.notes import AUTO, Stated
from memplan.exchange.reading import Keys, Reading
from memplan.plan.problems import shown

OPTIMIZERS: dict[str, tuple[str, str | None]] = {
    "adamw_torch": ("adamw", "foreach"),
    "adamw_torch_fused": ("adamw", "fused"),
    "adamw_torch_xla": ("adamw", "foreach"),
    "adamw_torch_npu_fused": ("adamw", "fused"),
    "adamw_apex_fused": ("adamw", "fused"),
    "adamw_hf": ("adamw", "for_loop"),
    "adamw_bnb_8bit": ("adamw_8bit", None),
    "adamw_8bit": ("adamw_8bit", None),
    "adamw_torch_8bit": ("adamw_8bit", None),
    "adamw_torch_4bit": ("adamw_4bit", None),
    "ao_adamw_4bit": ("adamw_4bit", None),
    "ao_adamw_8bit": ("adamw_8bit", None),
    "ao_adamw_fp8": ("adamw_fp8", None),
    "paged_adamw_8bit": ("paged_adamw_8bit", None),
    "paged_adamw_32bit": ("paged_adamw_32bit", None),
    "paged_adamw": ("paged_adamw_32bit", None),
    "adafactor": ("adafactor", None),
    "sgd": ("sgd", "foreach"),
    "adagrad": ("adagrad", "foreach"),
    "rmsprop": ("rmsprop", "foreach"),
    "lion_32bit": ("lion", None),
    "paged_lion_32bit": ("lion", None),
    "lion_8bit": ("lion_8bit", None),
    "paged_lion_8bit": ("lion_8bit", None),
    "lion": ("lion", None),
    "lion_pytorch": ("lion", None),
    "muon": ("muon", None),
    "galore_adamw": ("galore", None),
    "galore_adamw_layerwise": ("galore", None),
    "apollo_adamw": ("apollo", None),
    "apollo_adamw_layerwise": ("apollo", None),
    "ademamix": ("ademamix", None),
    "ademamix_8bit": ("ademamix_8bit", None),
    "paged_ademamix_32bit": ("ademamix", None),
    "paged_ademamix_8bit": ("ademamix_8bit", None),
    "schedule_free_adamw": ("schedule_free_adamw", None),
    "schedule_free_radam": ("schedule_free_adamw", None),
}
"""transformers' names (OptimizerNames, 5.24 and 4.x) and axolotl's own: the plan's optimizer, and its
implementation where torch's."""

ATTENTION = {
    "flash_attention_2": "flash",
    "flash_attention_3": "flash",
    "kernels-community/flash-attn2": "flash",
    "kernels-community/flash-attn3": "flash",
    "kernels-community/vllm-flash-attn3": "flash",
    "flash_attn": "flash",
    "fa2": "flash",
    "fa3": "flash",
    "flex_attention": "flash",
    "xformers": "flash",
    "sdpa": "sdpa",
    "eager": "eager",
}

_EXPRESSION = re.compile(r"[\\^$*+?()|\[\]]")
_ALTERNATIVES = re.compile(r"\((?:\?:)?([A-Za-z0-9_|]+)\)(_[A-Za-z0-9]+)")
"""Alternatives with a common end, as in (q|k|v)_proj."""
_MODULE_NAME = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*_proj|c_attn|qkv|fc[0-9]|query_key_value|dense(?:_\w+)?")


def state_optimizer(reading: Reading, found: Stated | None) -> None:
    """Take an optimizer by transformers' name."""
    if found is None:
        return
    name = str(found.value).lower().removeprefix("optimizernames.")
    if name not in OPTIMIZERS:
        words = f"{found.value} is not counted; AdamW is: its states are likely larger"
        reading.default("training.optimizer", "adamw", words)
        reading.leave_out(found, "no optimizer that memplan counts")
        return
    optimizer, implementation = OPTIMIZERS[name]
    reading.state("training.optimizer", found, value=optimizer)
    if implementation:
        reading.state("training.optimizer_impl", found, value=implementation)
    if name.endswith("_layerwise"):
        reading.leave_out(found, "gradients that are freed layer by layer are counted whole")
    if name.startswith(("paged_lion", "paged_ademamix")):
        reading.leave_out(found, "paging is not counted: its states are counted on the device")


def state_attention(reading: Reading, found: Stated | None) -> None:
    """Take an attention implementation by transformers' name."""
    if found is None:
        return
    kernel = ATTENTION.get(str(found.value).lower())
    if kernel is None:
        reading.default("training.attention", "sdpa", f"{found.value} is counted as sdpa")
    else:
        reading.state("training.attention", found, value=kernel)


def state_targets(reading: Reading, found: Stated | None, *, every: Iterable[str] = ("all-linear",)) -> None:
    """Take an adapter's targets: a word for all, a list of names, or a regular expression."""
    if found is None:
        return
    value = found.value
    if not isinstance(value, str | list | tuple) or any(isinstance(one, list | dict) for one in value):
        message = f"found {shown(value)}; allowed is a list of names, or one text."
        raise MemplanError(message, place=f"{found.file}: {found.key}")
    words = [value] if isinstance(value, str) else list(value)
    if len(words) == 1 and words[0] in every:
        reading.state("training.lora.targets", found, value="all-linear")
        return
    if any(_EXPRESSION.search(str(word)) for word in words):
        names = tuple(dict.fromkeys(name for word in words for name in _names_in(str(word))))
        if names:
            reading.default("training.lora.targets", names, f"the names in {found.key}'s regular expression")
        else:
            reading.default("training.lora.targets", "all-linear", f"{found.key} is a regular expression")
        return
    split = [name for word in words for name in str(word).split(",")]
    names = tuple(dict.fromkeys(name.strip().rpartition(".")[2] for name in split if name.strip()))
    if names:
        reading.state("training.lora.targets", found, value=names)


def _names_in(expression: str) -> Iterator[str]:
    """Module names that a regular expression spells out."""
    for choices, ending in _ALTERNATIVES.findall(expression):
        yield from (choice + ending for choice in choices.split("|") if choice)
    yield from _MODULE_NAME.findall(_ALTERNATIVES.sub("", expression))


def state_adapter(keys: Keys, rank: Stated | None) -> None:
    """Take what an adapter's keys have in common in every trainer."""
    reading = keys.reading
    reading.state("training.lora.rank", rank)
    dropout = keys.number("lora_dropout")
    reading.state("training.lora.dropout", dropout)
    state_layers(keys)
    for name, why in _ADAPTER_EXTRAS.items():
        found = keys.any(name)
        if found is not None and found.value not in (False, [], {}, "", "none", "false"):
            reading.leave_out(found, why)


_ADAPTER_EXTRAS = {
    "peft_use_dora": "DoRA's magnitudes and its copies of weights are not counted; LoRA is",
    "use_dora": "DoRA's magnitudes and its copies of weights are not counted; LoRA is",
    "lora_bias": "biases that train are not counted",
    "rank_pattern": "ranks of single modules are not counted; the common rank is",
    "layer_replication": "replicated layers are not counted",
    "exclude_modules": "adapters are counted on what it excludes too",
    "target_parameters": "adapters on plain parameters are not counted",
    "lora_target_parameters": "adapters on plain parameters are not counted",
    "trainable_token_indices": "rows of the embedding that train are not counted",
}


def state_load_dtype(reading: Reading, found: Stated | None) -> None:
    """Take the dtype that a model is loaded in: a name, or "auto" for the stored one."""
    if found is None:
        return
    word = "stored" if str(found.value).lower() in ("auto", "none") else dtype_word(str(found.value))
    if word is None:
        reading.leave_out(found, "no dtype that memplan counts; bf16 is counted")
        reading.default("given.load_dtype", "bf16", f"{found.value} is counted as bf16")
    else:
        reading.state("given.load_dtype", found, value=word)


def state_deepspeed_path(reading: Reading, found: Stated | None) -> None:
    """Take what a trainer says of DeepSpeed's own file: its name often tells the stage."""
    if found is None or str(found.value).lower() in ("false", "none"):
        return
    name = Path(str(found.value).replace("\\", "/")).name
    stage = re.search(r"(?:zero|z|stage)[-_]?([0-3])", name.lower())
    reading.state("given.engine", replace(found, weak=True), value="deepspeed", weak=True)
    if stage:
        strategy = STAGES[int(stage[1])]
        reading.state("given.named_strategy", replace(found, value=strategy))
        why = f"as the name {name} says; give that file too to be sure"
        reading.default("hardware.sharding.strategy", strategy, why)
        for bucket in ("reduce_bucket", "prefetch_bucket", "persistence_threshold"):
            reading.default(f"hardware.sharding.{bucket}", AUTO, "as nearly every such file has it")
        if "offload" in name.lower():
            alone = "param" in name.lower()
            reading.default("hardware.offload.optimizer", not alone, why)
            reading.default("hardware.offload.parameters", strategy == "zero3" and "opt" not in name.lower(), why)
    else:
        reading.default("hardware.sharding.strategy", "zero1", f"{name} was not given; give that file too")


STAGES = {0: "ddp", 1: "zero1", 2: "zero2", 3: "zero3"}

_FSDP_WORDS = {
    "full_shard": True, "fullshard": True, "1": True, "hybrid_shard": True, "4": True, "true": True,
    "shard_grad_op": False, "2": False, "hybrid_shard_zero2": False, "_hybrid_shard_zero2": False, "5": False,
    "false": False,
}  # fmt: skip
"""FSDP1's strategies, by name and by number: whether a unit is freed after forward."""


def state_fsdp(keys: Keys, version: int, switch: Stated | None = None) -> None:
    """Take FSDP's keys, with or without their prefix; `fsdp_reshard_after_forward` is a switch in version 2 only.

    Where the section is empty, or not there, it is the `switch` beside it that says FSDP.
    """
    reading = keys.reading
    old = keys.any("fsdp_sharding_strategy", "sharding_strategy")
    new = keys.any("fsdp_reshard_after_forward", "reshard_after_forward")
    for found in (old, new):
        if found is None:
            continue
        word = str(found.value).lower()
        if word in ("no_shard", "3"):
            reading.state("hardware.sharding.strategy", found, value="ddp")
        elif word in _FSDP_WORDS:
            reading.state("hardware.sharding.reshard_after_forward", found, value=_FSDP_WORDS[word])
            if "hybrid" in word or word in ("4", "5"):
                reading.state("given.hybrid", found, value=True)
        else:
            raise keys.refused(found, "full_shard, shard_grad_op, hybrid_shard, no_shard, true or false")
    if "hardware.sharding.strategy" not in reading.stated:
        section = keys.under.rstrip(".") or "fsdp_config"
        named = switch.key if switch is not None and not keys.content else section
        reading.state("hardware.sharding.strategy", Stated(f"fsdp{version}", reading.file, named))
    reading.state("hardware.offload.parameters", offload := keys.switch("fsdp_offload_params", "offload_params"))
    reading.state("hardware.offload.optimizer", offload)
    host = keys.switch("fsdp_activation_checkpointing_offload", "activation_checkpointing_offload")
    if (kept := keys.switch("fsdp_activation_checkpointing", "activation_checkpointing")) and kept.value:
        reading.state("training.checkpointing", kept, value="offload" if host and host.value else "full")
    if (original := keys.switch("fsdp_use_orig_params", "use_orig_params")) and not original.value and version == 1:
        reading.leave_out(original, "with adapters, gradients of a whole unit are kept; they are not counted")


def state_parallelism(inner: Keys) -> None:
    """Take the sizes of accelerate's ParallelismConfig, with or without their prefix; together they are all processes.

    Source: accelerate 1.15, parallelism_config.py.
    """
    reading = inner.reading
    sizes = {
        word: inner.whole(f"parallelism_config_{word}_size", f"{word}_size", least=-1 if word == "dp_shard" else 1)
        for word in ("dp_replicate", "dp_shard", "tp", "cp", "sp")
    }
    for word, path in (("tp", "tensor_parallel"), ("cp", "context_parallel"), ("sp", "context_parallel")):
        size = sizes[word]
        if size is not None and size.value > 1:
            reading.state(f"hardware.{path}", size)
            if word == "sp":
                reading.assume(size.key, "Ulysses divides the sequence: counted as context parallelism")
    copies, parts = sizes["dp_replicate"], sizes["dp_shard"]
    if copies is not None and copies.value > 1:
        reading.state("given.copies", copies)
    if parts is None or parts.value < 1:
        return
    if parts.value > 1:
        reading.default("hardware.sharding.strategy", "fsdp2", f"{parts.key} divides the model by FSDP2")
    if sizes["sp"] is not None and sizes["sp"].value > 1:
        return  # DeepSpeed forms these groups itself
    given = [size for size in sizes.values() if size is not None]
    total = prod(size.value for size in given)
    words = " x ".join(f"{size.key.rpartition('.')[2]} {size.value}" for size in given)
    reading.state("given.processes", replace(parts, key=words), value=total)
