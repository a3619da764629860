"""litgpt's YAML: one precision for everything (bf16-true) or autocast (bf16-mixed), a switch for each adapted matrix.

Defaults and meanings: litgpt 0.5.13, finetune/lora.py, finetune/full.py, args.py.
"""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys

_SIGNS = ("checkpoint_dir", "lora_query", "quantize", "out_dir", "precision")


def recognises(document: Document) -> bool:
    """Whether a checkpoint's folder names the model, with a block for training beside it."""
    content = document.content
    named = "checkpoint_dir" in content or ("model_name" in content and "out_dir" in content)
    return named and isinstance(content.get("train", {}), dict) and any(sign in content for sign in _SIGNS)


def read(keys: Keys, document: Document) -> None:
    """Read a recipe."""
    reading = keys.reading
    reading.state("given.trainer", Stated("litgpt", document.file, ""))
    folder = keys.text("checkpoint_dir") or keys.text("model_name")
    if folder is not None:
        parts = folder.value.rstrip("/").split("/")
        reading.state("given.model_name", folder, value="/".join(parts[-2:]))
    adapted = any(name.startswith("lora_") for name in document.content)
    _read_precision(keys, adapted=adapted)
    if adapted:
        _read_adapter(keys)
    else:
        reading.default("training.method", "full", "no adapter is named")
    train = keys.section("train")
    reading.state("training.micro_batch", train.whole("micro_batch_size"))
    reading.default("training.micro_batch", 1, "litgpt's default")
    reading.state("training.sequence_length", train.whole("max_seq_length"))
    reading.state("given.global_batch", train.whole("global_batch_size"))
    reading.default("given.global_batch", 16, "litgpt's default")
    _read_devices(keys)
    _read_optimizer(keys)
    reading.default("training.kernels", "litgpt", "its own modules")
    reading.default("training.loss", "chunked" if adapted else "plain", "litgpt's own loss")
    reading.default("training.attention", "sdpa", "litgpt calls PyTorch's own attention")
    for name in ("data", "eval", "log"):  # a class's name alone, or a mapping
        keys.section(name) if isinstance(keys.content.get(name), dict) else keys.any(name)


_PRECISION = {
    "bf16-true": ("bf16", "none"), "bf16-mixed": ("fp32", "bf16"), "16-true": ("fp16", "none"),
    "16-mixed": ("fp32", "fp16"), "32-true": ("fp32", "none"), "32": ("fp32", "none"),
}  # fmt: skip


def _read_precision(keys: Keys, *, adapted: bool) -> None:
    reading, precision = keys.reading, keys.text("precision")
    word = precision.value.lower() if precision else "bf16-mixed"
    if word in ("none", "auto"):
        precision, word = None, "bf16-mixed"
    if word not in _PRECISION:
        raise keys.refused(precision or Stated(None, "", ""), "bf16-true, bf16-mixed, 16-true, 16-mixed or 32-true")
    weights, autocast = _PRECISION[word]
    for path, value in (
        ("training.weights_dtype", weights),
        ("training.autocast", autocast),
        ("training.lora.adapter_dtype", weights),
    ):
        if "lora" in path and not adapted:
            continue
        reading.state(path, precision, value=value)
        reading.default(path, value, "litgpt's default (bf16-mixed)")


def _read_adapter(keys: Keys) -> None:
    reading = keys.reading
    rank = keys.whole("lora_r")
    anchor = rank or Stated(8, reading.file, "lora_r")
    reading.state("training.method", anchor, value="lora")
    reading.state("training.lora.rank", rank)
    reading.default("training.lora.rank", 8, "litgpt's default")
    reading.state("training.lora.dropout", keys.number("lora_dropout"))
    reading.default("training.lora.dropout", 0.05, "litgpt's default")
    targets: list[str] = []
    for name, default, modules in _TARGETS:
        found = keys.switch(name)
        if found.value if found else default:
            targets += modules
    reading.state("training.lora.targets", Stated(tuple(targets), reading.file, "lora_query … lora_head"))
    packed = keys.text("quantize")
    if packed is None or packed.value.lower() in ("none", "null"):
        return
    words = packed.value.lower().removeprefix("bnb.")
    formats = {"nf4": "nf4", "fp4": "fp4", "int8": "int8"}
    kind = next((formats[start] for start in formats if words.startswith(start)), None)
    if kind is None:
        raise keys.refused(packed, "bnb.nf4, bnb.nf4-dq, bnb.fp4, bnb.fp4-dq or bnb.int8-training")
    reading.state("given.quantized", packed, value=kind)
    reading.state("training.quantization.double_quant", packed, value=words.endswith("-dq"))
    reading.default("training.quantization.fp32_unquantized", False, "litgpt holds the rest in its one dtype")


_TARGETS = (
    ("lora_query", True, ("q_proj",)),
    ("lora_key", False, ("k_proj",)),
    ("lora_value", True, ("v_proj",)),
    ("lora_projection", False, ("o_proj",)),
    ("lora_mlp", False, ("gate_proj", "up_proj", "down_proj")),
    ("lora_head", False, ("lm_head",)),
)
"""litgpt's switch for a matrix, its default, and transformers' names."""


def _read_devices(keys: Keys) -> None:
    reading = keys.reading
    devices, nodes = keys.whole("devices"), keys.whole("num_nodes")
    count = (devices.value if devices else 1) * (nodes.value if nodes else 1)
    if devices is not None:
        reading.state("hardware.devices", devices, value=count)
        if nodes and nodes.value > 1:
            reading.state("hardware.devices_per_node", devices)
    elif not keys.has("devices"):
        reading.default("hardware.devices", 1, "litgpt's default")
    if count > 1:
        reading.default("hardware.sharding.strategy", "fsdp1", "litgpt divides by FSDP over several devices")
        reading.default("hardware.sharding.mixed_precision", False, "precision is the trainer's own")
        reading.default("training.checkpointing", "full", "litgpt checkpoints each block over several devices")
    else:
        reading.default("training.checkpointing", "none", "litgpt keeps activations on one device")


_OPTIMIZERS = {
    "AdamW": "adamw", "Adam": "adamw", "SGD": "sgd", "Adagrad": "adagrad", "RMSprop": "rmsprop",
    "PagedAdamW": "paged_adamw_32bit", "PagedAdamW8bit": "paged_adamw_8bit", "AdamW8bit": "adamw_8bit",
    "GaLoreAdamW": "galore",
}  # fmt: skip


def _read_optimizer(keys: Keys) -> None:
    reading, found = keys.reading, keys.any("optimizer")
    if isinstance(found.value if found else None, dict):
        section = keys.section("optimizer")
        name = section.text("class_path")
        if (fused := section.section("init_args").switch("fused")) and fused.value:
            reading.state("training.optimizer_impl", fused, value="fused")
    else:
        name = keys.text("optimizer")
    if name is None:
        reading.default("training.optimizer", "adamw", "litgpt's default (AdamW)")
        return
    word = name.value.rpartition(".")[2]
    if word not in _OPTIMIZERS:
        reading.leave_out(name, "no optimizer that memplan counts; AdamW is counted")
    reading.state("training.optimizer", name, value=_OPTIMIZERS.get(word, "adamw"))
