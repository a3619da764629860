"""axolotl's YAML. Null means the default everywhere; bf16 is the dtype that the model is loaded in, too.

Defaults and meanings: axolotl 0.19.0, utils/schemas, loaders/model.py, utils/config (normalize_config).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from memplan.exchange.documents import Document
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import (
    state_adapter,
    state_attention,
    state_deepspeed_path,
    state_fsdp,
    state_optimizer,
    state_targets,
)

_SIGNS = ("micro_batch_size", "sequence_len", "adapter", "load_in_8bit", "sample_packing", "lora_target_linear")


def recognises(document: Document) -> bool:
    """Whether it is axolotl's: its name for the model, and keys that no other trainer has beside it."""
    content = document.content
    return "base_model" in content and any(sign in content for sign in _SIGNS)


def read(keys: Keys, document: Document) -> None:
    """Read a recipe."""
    reading = keys.reading
    reading.state("given.trainer", Stated("axolotl", document.file, ""))
    reading.state("given.model_name", keys.text("base_model"))
    _read_method(keys)
    _read_precision(keys)
    reading.state("training.sequence_length", keys.whole("sequence_len"))
    reading.default("training.sequence_length", 512, "axolotl's default (sequence_len)")
    _read_rows(keys)
    batch, rows = keys.whole("micro_batch_size"), _rows(keys)
    reading.state("given.rows", Stated(rows, document.file, ""))
    reading.state("training.micro_batch", replace(batch, value=batch.value * rows) if batch else None)
    reading.default("training.micro_batch", rows, "axolotl's default (micro_batch_size)")
    _read_accumulation(keys, batch.value if batch else 1)
    _read_checkpointing(keys)
    _read_attention(keys)
    _read_plugins(keys)
    _read_optimizer(keys)
    _read_sharding(keys)
    _tell_upcast(keys)


def _read_accumulation(keys: Keys, micro: int) -> None:
    """batch_size is the older way: of one device, a multiple of the micro-batch (utils/config, normalize_config)."""
    reading, count, step = keys.reading, keys.whole("gradient_accumulation_steps"), keys.whole("batch_size")
    reading.state("training.gradient_accumulation", count)
    if step is not None and count is None:
        reading.state("training.gradient_accumulation", step, value=max(1, step.value // micro))
    elif step is not None:
        reading.ignore(step, "gradient_accumulation_steps counts; axolotl refuses both")
    reading.default("training.gradient_accumulation", 1, "axolotl's default")


def _tell_upcast(keys: Keys) -> None:
    """Under full training axolotl upcasts norms, embeddings and head, and casts them back for flash attention alone."""
    reading = keys.reading
    attention, precision = reading.stated.get("training.attention"), reading.stated.get("given.load_dtype")
    flash = attention is not None and attention.value == "flash"
    halved = precision.value != "fp32" if precision else reading.defaults["given.load_dtype"][0] != "fp32"
    engine = keys.has("deepspeed")  # it casts the whole module
    elsewhere = {"training.method", "hardware.sharding.strategy"} & set(reading.stated)
    if halved and not flash and not engine and not elsewhere:
        words = "without flash attention norms, embeddings and head are held in fp32; they are counted as loaded"
        reading.leave_out(attention or Stated(None, reading.file, "attn_implementation"), words)


def _read_method(keys: Keys) -> None:
    reading = keys.reading
    adapter, rank = keys.text("adapter"), keys.whole("lora_r")
    targets, linear = keys.any("lora_target_modules"), keys.switch("lora_target_linear")
    saved, patterns = keys.names("lora_modules_to_save"), keys.any("unfrozen_parameters")
    if adapter is None or adapter.value.lower() in ("none", "false"):
        reading.ignore(rank, "no adapter is named")
        for name in ("load_in_4bit", "load_in_8bit"):
            if (packed := keys.switch(name)) and packed.value:
                reading.ignore(packed, "no adapter is named, without which axolotl refuses a packed base")
        keys.number("lora_dropout")
        if patterns is not None and patterns.value:
            reading.leave_out(patterns, "only what it names trains; all weights are counted as trained")
        return
    reading.state("training.method", adapter, value="lora")
    if adapter.value.lower() not in ("lora", "qlora"):
        reading.leave_out(adapter, "no adapter that memplan counts; LoRA of the same rank is counted")
    _read_packing(keys, adapter)
    why = "axolotl turns norms, embeddings and head back to the load dtype"
    reading.default("training.quantization.fp32_unquantized", False, why)
    if (cast := keys.switch("peft_autocast_adapter_dtype")) and not cast.value:
        reading.state("given.adapter_dtype", cast, value="weights")
    state_adapter(keys, rank)
    if linear and linear.value:
        reading.state("training.lora.targets", linear, value="all-linear")
    else:
        state_targets(reading, targets)
    reading.state("training.lora.modules_to_save", saved)
    if patterns is not None and patterns.value:
        reading.leave_out(patterns, "weights that train beside the adapters are not counted")


def _read_packing(keys: Keys, adapter: Stated) -> None:
    """How the base is loaded (loaders/model.py, _set_quantization_config; utils/schemas/peft.py, validate_qlora)."""
    reading, four, eight = keys.reading, keys.switch("load_in_4bit"), keys.switch("load_in_8bit")
    if eight and eight.value:
        if adapter.value.lower() == "qlora":
            raise keys.refused(eight, "false beside adapter: qlora, as axolotl has it")
        reading.state("given.quantized", eight, value="int8")
        if four and four.value:
            reading.ignore(four, "load_in_8bit is on, which is how axolotl loads the base of adapter: lora")
    elif four and four.value:
        reading.state("given.quantized", four, value="nf4")
    elif adapter.value.lower() == "qlora":
        reading.assume(adapter.key, "qlora without load_in_4bit: the base's own packing counts, or none")
    packing = keys.section("bnb_config_kwargs")
    reading.state("training.quantization.double_quant", packing.switch("bnb_4bit_use_double_quant"))
    if (
        (kind := packing.text("bnb_4bit_quant_type"))
        and kind.value == "fp4"
        and four
        and four.value
        and not (eight and eight.value)
    ):
        reading.state("given.quantized", kind, value="fp4")
    reading.default("training.quantization.double_quant", True, "axolotl's default (bnb_4bit_use_double_quant)")


def _read_precision(keys: Keys) -> None:
    reading = keys.reading
    pure_bf16, pure_fp16 = keys.switch("bfloat16"), keys.switch("float16")
    word = keys.text("bf16", "bf16_auto")
    fp16 = keys.switch("fp16")
    if word is not None and word.value.lower() not in ("auto", "full"):
        word = keys.switch("bf16")
    if pure_bf16 and pure_bf16.value:
        reading.state("given.load_dtype", pure_bf16, value="bf16")
    elif pure_fp16 and pure_fp16.value:
        reading.state("given.load_dtype", pure_fp16, value="fp16")
    elif word is not None and word.value:
        reading.state("given.load_dtype", word, value="bf16")
        if str(word.value).lower() != "full":
            reading.state("given.mixed_precision", word, value="bf16")
        if str(word.value).lower() == "auto":
            reading.assume(word.key, "auto is bf16, which devices since NVIDIA's Ampere have; older ones take fp16")
    elif fp16 and fp16.value:
        reading.state("given.load_dtype", fp16, value="fp16")
        reading.state("given.mixed_precision", fp16, value="fp16")
    elif word is None and fp16 is None:
        reading.default("given.load_dtype", "bf16", "axolotl's default (bf16: auto)")
        reading.default("given.mixed_precision", "bf16", "axolotl's default (bf16: auto)")
        reading.assume("bf16", "auto is bf16, which devices since NVIDIA's Ampere have; older ones take fp16")
    else:
        reading.default("given.load_dtype", "fp32", "neither bf16 nor fp16 is on")


def _read_rows(keys: Keys) -> None:
    packing, padding = keys.switch("sample_packing"), keys.switch("pad_to_sequence_len")
    if packing and packing.value:
        keys.reading.assume(packing.key, "rows are packed: each is counted as long as the sequence length")
    elif padding and padding.value:
        keys.reading.assume(padding.key, "rows are padded: each is counted as long as the sequence length")
    else:
        keys.reading.assume("sequence_len", "rows are not packed: the longest row counts, others take less")


_PAIRS = ("dpo", "ipo", "simpo", "orpo")


def _rows(keys: Keys) -> int:
    """How many sequences one row is."""
    reading, method = keys.reading, keys.text("rl")
    if method is None or method.value.lower() in ("false", "none"):
        return 1
    word = method.value.lower()
    if word in ("dpo", "ipo", "kto", "grpo") and "training.method" not in reading.stated:
        reading.leave_out(method, "the reference model is not counted: a second copy of the weights")
    if word == "grpo":
        reading.leave_out(method, "what vLLM holds on the same device is not counted: hardware.used_by_others")
    if word in _PAIRS:
        reading.assume(method.key, "rows are pairs, chosen and rejected: two sequences each")
        return 2
    return 1


def _read_checkpointing(keys: Keys) -> None:
    reading, kept = keys.reading, keys.text("gradient_checkpointing")
    if kept is not None:
        word = kept.value.lower()
        if word in ("offload", "offload_disk", "unsloth"):
            reading.state("training.checkpointing", kept, value="offload")
        else:
            switch = keys.switch("gradient_checkpointing")
            reading.state("training.checkpointing", switch, value="full" if switch and switch.value else "none")
    reading.default("training.checkpointing", "none", "axolotl's default")
    offloading = keys.text("activation_offloading")
    if offloading and offloading.value.lower() not in ("false", "none", "no"):
        checkpoints = reading.stated.get("training.checkpointing")
        if checkpoints is not None and checkpoints.value == "full":
            reading.state("training.checkpointing", offloading, value="offload")
        else:
            reading.state("hardware.offload.activations", offloading, value=True)
    if (layers := keys.switch("layer_offloading")) and layers.value:
        reading.state("hardware.offload.parameters", layers)


def _read_attention(keys: Keys) -> None:
    reading, new = keys.reading, keys.text("attn_implementation", "attn_impl")
    state_attention(reading, new)
    olds = {name: keys.switch(name) for name in _OLD_ATTENTION}
    if new is None:
        for name, kernel in _OLD_ATTENTION.items():
            if (old := olds[name]) and old.value:
                reading.state("training.attention", old, value=kernel)
                break
    reading.default("training.attention", "sdpa", "transformers' default")


_OLD_ATTENTION = {
    "flash_attention": "flash",
    "sdp_attention": "sdpa",
    "xformers_attention": "flash",
    "flex_attention": "flash",
    "eager_attention": "eager",
}


_FUSED_LORA = "fused kernels of adapters keep less; plain ones are counted"
_NOT_COUNTED = {
    "fp8": "fp8 products are counted in bf16",
    **dict.fromkeys(("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel"), _FUSED_LORA),
    "lisa_n_layers": "only so many layers train at a time; all are counted as trained",
    "relora": "adapters that are merged and begun anew are counted as plain ones",
    "tiled_mlp": "an MLP in tiles keeps less; whole ones are counted",
    "reward_model": "a head that scores rows is counted as one that predicts tokens",
}


def _read_plugins(keys: Keys) -> None:
    reading = keys.reading
    plugins = keys.names("plugins")
    cut = keys.switch("cut_cross_entropy")
    named = plugins is not None and any("CutCrossEntropy" in name for name in plugins.value)
    if (cut and cut.value) or (named and cut is None):
        reading.state("training.loss", cut if cut and cut.value else plugins, value="fused")
    if (liger := keys.switch("liger_fused_linear_cross_entropy")) and liger.value:
        reading.state("training.loss", liger, value="fused")
    if plugins is not None and any("Liger" in name for name in plugins.value):
        reading.state("training.kernels", plugins, value="liger")
    if (chunked := keys.switch("chunked_cross_entropy")) and chunked.value:
        reading.state("training.loss", chunked, value="chunked")
    if (experts := keys.switch("quantize_moe_experts")) and experts.value:
        reading.leave_out(experts, "experts are counted unpacked; memplan's 4 bit leaves them in 16 bit")
    if (compiled := keys.text("torch_compile")) and compiled.value.lower() not in ("false", "no"):
        reading.leave_out(compiled, "compiled kernels keep less; eager ones are counted")
    for name, why in _NOT_COUNTED.items():
        found = keys.any(name)
        if found is not None and found.value not in (False, 0, "", [], {}, "false", "no"):
            reading.leave_out(found, why)
    if (qat := keys.any("qat")) is not None:
        reading.leave_out(qat, "what fake quantisation keeps is not counted")


def _read_optimizer(keys: Keys) -> None:
    reading = keys.reading
    state_optimizer(reading, keys.text("optimizer"))
    if "training.optimizer" not in reading.stated and "training.optimizer" not in reading.defaults:
        reading.default("training.optimizer", "adamw", "axolotl's default (adamw_torch_fused)")
        reading.default("training.optimizer_impl", "fused", "axolotl's default (adamw_torch_fused)")


def _read_sharding(keys: Keys) -> None:
    reading = keys.reading
    engine = keys.any("deepspeed")
    if engine is not None and isinstance(engine.value, str):
        state_deepspeed_path(reading, engine)
    shard, version = keys.any("fsdp"), keys.whole("fsdp_version")
    inner = keys.section("fsdp_config")
    if (shard is not None and shard.value) or (inner.content and engine is None):
        own = inner.whole("fsdp_version", "version")
        state_fsdp(inner, (own or version or Stated(1, "", "")).value, shard)
        words = " ".join(map(str, shard.value)) if shard and isinstance(shard.value, list) else ""
        if "offload" in words and shard is not None:
            reading.state("hardware.offload.parameters", shard, value=True)
            reading.state("hardware.offload.optimizer", shard, value=True)
    parts, copies = keys.whole("dp_shard_size", least=-1), keys.whole("dp_replicate_size")
    if parts is not None and parts.value > 1 and engine is None:
        reading.default("hardware.sharding.strategy", "fsdp2", "dp_shard_size divides the model by FSDP2")
        _state_processes(keys, parts)
    if copies is not None and copies.value > 1:
        reading.state("given.copies", copies)
    for names, path in (
        (("context_parallel_size", "sequence_parallel_degree"), "context_parallel"),
        (("tensor_parallel_size",), "tensor_parallel"),
        (("expert_parallel_size",), "expert_parallel"),
    ):
        size = keys.whole(*names)
        if size is not None and size.value > 1:
            reading.state(f"hardware.{path}", size)


def _state_processes(keys: Keys, parts: Stated) -> None:
    """Its sizes become accelerate's, which together are all processes."""
    names = ("dp_replicate_size", "tensor_parallel_size", "context_parallel_size")
    sizes = [parts, *(size for name in names if (size := keys.whole(name)) is not None)]
    words = " x ".join(f"{size.key} {size.value}" for size in sizes)
    keys.reading.state("given.processes", replace(parts, key=words), value=prod(size.value for size in sizes))
