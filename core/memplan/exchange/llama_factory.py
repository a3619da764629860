"""LLaMA-Factory's YAML (the argument names of its command line) and the key set of its version 1.

Checkpointing is on unless disabled, and what trains is upcast to fp32 under bf16 unless pure_bf16 is on. Defaults and
meanings: llamafactory 0.9.5, hparams, model/adapter.py (init_adapter), model/model_utils.
"""

from __future__ import annotations

from dataclasses import replace

from memplan.exchange.documents import Document
from memplan.exchange.hf_trainer import state_mixed_precision, state_shards
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import state_adapter, state_attention, state_optimizer, state_targets

_SIGNS = ("finetuning_type", "cutoff_len", "lora_target", "pure_bf16", "quantization_bit", "freeze_trainable_layers")
_NEW_SIGNS = ("dist_config", "peft_config", "quant_config", "batching_strategy", "init_config")


def recognises(document: Document) -> bool:
    """Whether it is LLaMA-Factory's."""
    content = document.content
    return any(sign in content for sign in _SIGNS) or ("stage" in content and "template" in content)


def recognises_v1(document: Document) -> bool:
    """Whether it has the key set of version 1."""
    return "model" in document.content and any(sign in document.content for sign in _NEW_SIGNS)


def read(keys: Keys, document: Document) -> None:
    """Read the arguments."""
    reading = keys.reading
    reading.state("given.trainer", Stated("llama_factory", document.file, ""))
    reading.state("given.model_name", keys.text("model_name_or_path"))
    _read_method(keys)
    _read_precision(keys)
    reading.state("training.sequence_length", keys.whole("cutoff_len"))
    reading.default("training.sequence_length", 2048, "LLaMA-Factory's default (cutoff_len)")
    packing, neat = keys.switch("packing"), keys.switch("neat_packing")
    if not any(switch and switch.value for switch in (packing, neat)):
        reading.assume("cutoff_len", "rows are not packed: the longest row counts, others take less")
    batch, rows = keys.whole("per_device_train_batch_size"), _rows(keys)
    reading.state("given.rows", Stated(rows, document.file, ""))
    reading.state("training.micro_batch", replace(batch, value=batch.value * rows) if batch else None)
    reading.default("training.micro_batch", 8 * rows, "the Trainer's default (per_device_train_batch_size)")
    reading.state("training.gradient_accumulation", keys.whole("gradient_accumulation_steps"))
    reading.default("training.gradient_accumulation", 1, "the Trainer's default")
    _read_checkpointing(keys)
    _read_kernels(keys)
    _read_optimizer(keys)
    state_shards(keys, fsdp=1)  # it runs on transformers up to 5.6


def _read_method(keys: Keys) -> None:
    reading = keys.reading
    kind = keys.text("finetuning_type")
    word = kind.value.lower() if kind else "lora"
    rank, targets, saved = keys.whole("lora_rank"), keys.any("lora_target"), keys.names("additional_target")
    layers, extra = (
        keys.whole("freeze_trainable_layers", "num_layer_trainable", least=-100_000),
        keys.names("freeze_extra_modules"),
    )
    bits = keys.whole("quantization_bit")
    if word == "freeze":
        _read_freeze(keys, kind, layers, extra)
        return
    if word == "full":
        reading.state("training.method", kind, value="full")
        reading.ignore(rank, "finetuning_type is full")
        reading.ignore(bits, "finetuning_type is full")
        keys.number("lora_dropout")
        return
    if kind is not None and word not in ("lora", "oft"):
        raise keys.refused(kind, "lora, oft, freeze or full")
    reading.state("training.method", kind, value="lora")
    if word == "oft":
        reading.leave_out(kind, "no adapter that memplan counts; LoRA is counted")
    if kind is None:
        reading.default("training.method", "lora", "LLaMA-Factory's default (finetuning_type)")
    state_adapter(keys, rank)
    reading.default("training.lora.rank", 8, "LLaMA-Factory's default")
    state_targets(reading, targets, every=("all", "all-linear"))
    reading.state("training.lora.modules_to_save", saved)
    _read_bits(keys, bits)


def _read_freeze(keys: Keys, kind: Stated | None, layers: Stated | None, extra: Stated | None) -> None:
    reading = keys.reading
    reading.state("training.method", kind, value="freeze")
    if layers is not None and layers.value < 0:
        reading.leave_out(layers, "the first layers train; as many of the last are counted")
    if layers is not None:
        reading.state("training.freeze.trainable_layers", layers, value=abs(layers.value))
    reading.default("training.freeze.trainable_layers", 2, "LLaMA-Factory's default")
    names = extra.value if extra else ()
    for part, module in (("embeddings", "embed_tokens"), ("head", "lm_head")):
        if module in names:
            reading.state(f"training.freeze.{part}", extra, value=True)
        else:
            reading.default(f"training.freeze.{part}", False, "freeze_extra_modules does not name it")
    modules = keys.names("freeze_trainable_modules")
    if modules is not None and modules.value != ("all",):
        reading.leave_out(modules, "whole layers are counted as trained")


def _read_bits(keys: Keys, bits: Stated | None) -> None:
    reading = keys.reading
    double, kind = keys.switch("double_quantization"), keys.text("quantization_type")
    library = keys.text("quantization_method")
    if bits is None:
        return
    if bits.value not in (4, 8):
        reading.leave_out(bits, f"{bits.value} bit is not counted; 4 bit is")
    if library and library.value.lower() not in ("bnb", "bitsandbytes"):
        reading.leave_out(library, "counted as bitsandbytes packs")
    four = "fp4" if kind and kind.value == "fp4" else "nf4"
    reading.state("given.quantized", bits, value="int8" if bits.value == 8 else four)
    reading.state("training.quantization.double_quant", double)
    reading.default("training.quantization.double_quant", True, "LLaMA-Factory's default")
    upcast = keys.switch("upcast_layernorm")
    if upcast and upcast.value:
        reading.leave_out(upcast, "norms are counted in the load dtype")
    why = "LLaMA-Factory leaves embeddings, head and norms as loaded"
    reading.default("training.quantization.fp32_unquantized", False, why)


def _read_precision(keys: Keys) -> None:
    reading = keys.reading
    pure = keys.switch("pure_bf16")
    if pure and pure.value:
        reading.state("given.pure", pure)
        reading.state("given.load_dtype", pure, value="bf16")
        keys.switch("bf16")
        return
    state_mixed_precision(keys, "no")
    mixed = reading.stated.get("given.mixed_precision")
    if mixed is not None and mixed.value != "no":
        reading.state("given.load_dtype", mixed)


def _rows(keys: Keys) -> int:
    """How many sequences one row is."""
    stage = keys.text("stage")
    if stage is None or stage.value.lower() not in ("dpo", "rm", "kto", "ppo"):
        return 1
    reading, word = keys.reading, stage.value.lower()
    if word == "ppo":
        reading.leave_out(stage, "reward and value models are not counted")
    elif word != "rm" and reading.stated.get("training.method", Stated("lora", "", "")).value == "full":
        reading.leave_out(stage, "the reference model is not counted: a second copy of the weights")
    if word == "kto":
        reading.assume(stage.key, "rows are single; those of the KL term run without gradients")
    if word in ("ppo", "kto"):
        return 1
    reading.assume(stage.key, "rows are pairs, chosen and rejected: two sequences each")
    return 2


def _read_checkpointing(keys: Keys) -> None:
    reading = keys.reading
    off, host = keys.switch("disable_gradient_checkpointing"), keys.switch("use_unsloth_gc")
    idle = keys.switch("gradient_checkpointing")
    reading.ignore(idle, "LLaMA-Factory has its own switch: disable_gradient_checkpointing")
    if off and off.value:
        reading.state("training.checkpointing", off, value="none")
    elif host and host.value:
        reading.state("training.checkpointing", host, value="offload")
    elif off is not None:
        reading.state("training.checkpointing", off, value="full")
    reading.default("training.checkpointing", "full", "LLaMA-Factory checkpoints unless it is disabled")


def _read_kernels(keys: Keys) -> None:
    reading = keys.reading
    attention = keys.text("flash_attn")
    if attention is not None and attention.value.lower() in ("disabled", "off", "false"):
        reading.state("training.attention", attention, value="eager")
    elif attention is not None and attention.value.lower() != "auto":
        state_attention(reading, attention)
    reading.default("training.attention", "sdpa", "transformers' default")
    if (liger := keys.switch("enable_liger_kernel")) and liger.value:
        reading.state("training.kernels", liger, value="liger")
        reading.state("training.loss", liger, value="fused")
    if (unsloth := keys.switch("use_unsloth")) and unsloth.value:
        reading.state("training.kernels", unsloth, value="unsloth")
    if (host := keys.switch("use_kt")) and host.value:
        reading.leave_out(host, "experts live in the host's memory; they are counted on the device")
    for name, why in _NOT_COUNTED.items():
        found = keys.any(name)
        if found is not None and found.value not in (False, 0, "", "false"):
            reading.leave_out(found, why)
    for name in ("resize_vocab", "new_special_tokens"):
        if (rows := keys.any(name)) and rows.value:
            reading.leave_out(rows, "embeddings that grow and train are not counted")


_NOT_COUNTED = {
    "use_llama_pro": "the added blocks train; as many of the last layers are counted",
    "galore_layerwise": "gradients that are freed layer by layer are counted whole",
    "apollo_layerwise": "gradients that are freed layer by layer are counted whole",
    "mixture_of_depths": "layers that rows skip are counted",
    "fp8": "fp8 products are counted in bf16",
}
_GALORE_RANK = 128
"""What memplan counts; LLaMA-Factory's default is 16."""
_OWN_OPTIMIZERS = {
    "use_galore": "galore",
    "use_muon": "muon",
    "use_badam": None,
    "use_apollo": "apollo",
    "use_adam_mini": None,
}


def _read_optimizer(keys: Keys) -> None:
    reading = keys.reading
    named = keys.text("optim")
    for switch, optimizer in _OWN_OPTIMIZERS.items():
        if (found := keys.switch(switch)) and found.value:
            if optimizer is None:
                reading.leave_out(found, "no optimizer that memplan counts; AdamW is: its states are likely larger")
            else:
                reading.state("training.optimizer", found, value=optimizer)
                rank = keys.whole("galore_rank")
                if optimizer == "galore" and (rank is None or rank.value != _GALORE_RANK):
                    reading.leave_out(rank or found, f"projections of rank {_GALORE_RANK} are counted")
                return
    state_optimizer(reading, named)
    if "training.optimizer" not in reading.stated and "training.optimizer" not in reading.defaults:
        reading.default("training.optimizer", "adamw", "the Trainer's default (adamw_torch_fused)")
        reading.default("training.optimizer_impl", "fused", "the Trainer's default (adamw_torch_fused)")


_DIST = {"fsdp2": "fsdp2", "fsdp": "fsdp2", "deepspeed": None}


def read_v1(keys: Keys, document: Document) -> None:
    """Read the key set of version 1: blocks for adapter, sharding and packing."""
    reading = keys.reading
    reading.state("given.trainer", Stated("llama_factory", document.file, ""))
    reading.state("given.model_name", keys.text("model", "model_name_or_path"))
    adapter = keys.section("peft_config")
    name = adapter.text("name")
    if name is not None and name.value.lower() in ("lora", "freeze"):
        reading.state("training.method", name, value=name.value.lower())
        state_adapter(adapter, adapter.whole("r", "lora_rank"))
        state_targets(reading, adapter.any("target_modules", "lora_target"), every=("all", "all-linear"))
        reading.state("training.freeze.trainable_layers", adapter.whole("freeze_trainable_layers"))
    reading.state("training.micro_batch", keys.whole("micro_batch_size"))
    reading.default("training.micro_batch", 1, "LLaMA-Factory's default")
    reading.state("training.sequence_length", keys.whole("cutoff_len"))
    reading.state("given.global_batch", keys.whole("global_batch_size"))
    if (bf16 := keys.switch("bf16")) and bf16.value:
        reading.state("given.load_dtype", bf16, value="bf16")
        reading.state("given.mixed_precision", bf16, value="bf16")
    kept = keys.switch("enable_activation_checkpointing", "gradient_checkpointing")
    reading.state("training.checkpointing", kept, value="full" if kept and kept.value else "none")
    reading.default("training.checkpointing", "full", "LLaMA-Factory checkpoints unless it is disabled")
    shard = keys.section("dist_config")
    kind = shard.text("name")
    strategy = _DIST.get(kind.value.lower()) if kind else None
    if strategy:
        reading.state("hardware.sharding.strategy", kind, value=strategy)
    if kind and not strategy:
        reading.leave_out(kind, "how it divides the model stands in another file")
    packed = keys.section("quant_config").whole("quantization_bit", "bits")
    if packed is not None:
        reading.state("given.quantized", packed, value="int8" if packed.value == 8 else "nf4")
