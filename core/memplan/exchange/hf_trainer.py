"""Arguments of transformers' Trainer and of TRL's trainers: YAML, JSON, a saved training_args.json.

In TRL a row is what the method makes of it: DPO's are pairs (two sequences), GRPO's are generations.
"""

from __future__ import annotations

from dataclasses import replace

from memplan.exchange.documents import Document
from memplan.exchange.generations import CHECKPOINTS_SINCE, Before, state_generation
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import (
    state_adapter,
    state_attention,
    state_deepspeed_path,
    state_fsdp,
    state_load_dtype,
    state_optimizer,
    state_parallelism,
    state_targets,
)

TRAINER_SIGNS = ("per_device_train_batch_size", "per_gpu_train_batch_size", "gradient_checkpointing", "output_dir")
_TRL_SIGNS = (
    *("max_length", "max_prompt_length", "max_completion_length", "packing", "use_peft", "lora_r"),
    *("num_generations", "beta", "dataset_mixer", "dataset_mixture", "model_init_kwargs", "assistant_only_loss"),
    *("load_in_4bit", "precompute_ref_log_probs", "reward_funcs", "dataset_name", "dataset_text_field"),
)


def recognises(document: Document) -> bool:
    """Whether it holds the Trainer's arguments."""
    return any(sign in document.content for sign in TRAINER_SIGNS)


def is_trl(document: Document) -> bool:
    """Whether it holds arguments that only TRL's trainers have beside the Trainer's."""
    content = document.content
    return (recognises(document) or "model_name_or_path" in content) and any(sign in content for sign in _TRL_SIGNS)


def read(keys: Keys, document: Document) -> None:
    """Read the Trainer's arguments. Model, adapter and row length are a program's business: other files give them."""
    reading = keys.reading
    reading.default("given.trainer", "transformers", "the Trainer's arguments")
    state_generation(reading, keys.content, trl=False)
    reading.state("given.model_name", keys.text("model_name_or_path"))
    reading.state("training.sequence_length", keys.whole("max_seq_length", "model_max_length", "block_size"))
    state_load_dtype(reading, keys.text("dtype", "torch_dtype"))
    state_attention(reading, keys.text("attn_implementation"))
    reading.default("training.gradient_accumulation", 1, "the Trainer's default")
    _read_common(keys, batch_rows=1, checkpointing=False, mixed="no")


def read_trl(keys: Keys, document: Document) -> None:
    """Read TRL's arguments, its ModelConfig among them."""
    reading = keys.reading
    reading.state("given.trainer", Stated("trl", document.file, ""))
    before = state_generation(reading, keys.content, trl=True)
    reading.state("given.model_name", keys.text("model_name_or_path"))
    state_load_dtype(reading, keys.text("dtype", "torch_dtype"))
    _read_model_kwargs(keys)
    state_attention(reading, keys.text("attn_implementation"))
    if (old := keys.switch("use_flash_attention_2")) and old.value:
        reading.state("training.attention", old, value="flash")
    adapted = _read_adapter(keys)
    reading.default("training.gradient_accumulation", 1, "the Trainer's default")
    rows = _read_method(keys, document, adapted=adapted)
    _state_loss(keys, before)
    if (host := keys.switch("activation_offloading")) and host.value:
        reading.state("hardware.offload.activations", host)
    checkpoints = before is None or before.version > CHECKPOINTS_SINCE
    _read_common(keys, batch_rows=rows, checkpointing=checkpoints, mixed="bf16")


def _state_loss(keys: Keys, before: Before | None) -> None:
    """Tiles of logits that are never whole: SFT's default since TRL 1.7, every trainer's with a head since 1.15.

    They hold a 256 MiB tile and gradients in fp32 where Liger's loss holds a smaller one and gradients in 16 bit.
    Source: trl 0.29 to 1.16, trainer/sft_trainer.py and sft_config.py (loss_type), kernels/chunked_logprob.py.
    """
    reading, kind, smooths = keys.reading, keys.any("loss_type"), keys.number("label_smoothing_factor")
    if kind is not None and kind.value == "chunked_nll":
        reading.state("training.loss", kind, value="fused")
    elif before is not None:
        why = f"TRL before {before.words}, as {before.key} tells, makes whole logits"
        reading.default("training.loss", "plain", why)
    elif smooths is not None and smooths.value > 0:
        reading.default("training.loss", "plain", "TRL makes whole logits to smooth labels")
    else:
        why = "TRL since 1.15 (SFT since 1.7) makes logits in tiles: counted as Liger's; before, plain"
        reading.default("training.loss", "fused", why)


def _read_model_kwargs(keys: Keys) -> None:
    found = keys.any("model_init_kwargs")
    if found is None or not isinstance(found.value, dict):
        return
    inner = keys.section("model_init_kwargs")
    if "given.load_dtype" not in keys.reading.stated:
        state_load_dtype(keys.reading, inner.text("dtype", "torch_dtype"))
    state_attention(keys.reading, inner.text("attn_implementation"))


def _read_adapter(keys: Keys) -> bool:
    reading = keys.reading
    four, eight = keys.switch("load_in_4bit"), keys.switch("load_in_8bit")
    uses, rank = keys.switch("use_peft"), keys.whole("lora_r", "lora_rank")
    targets, saved = keys.any("lora_target_modules"), keys.names("lora_modules_to_save")
    if uses is not None and not uses.value:
        reading.ignore(rank, "use_peft is off")
        keys.number("lora_dropout")
        return False
    if uses is None:
        if rank is not None:
            reading.ignore(rank, "TRL uses adapters only where use_peft is on")
        keys.number("lora_dropout")
        return False
    reading.state("training.method", uses, value="lora")
    state_bits(keys, four, eight)
    reading.default("training.quantization.fp32_unquantized", False, "TRL leaves embeddings, head and norms as loaded")
    state_adapter(keys, rank)
    reading.default("training.lora.rank", 16, "TRL's default")
    reading.default("training.lora.dropout", 0.05, "TRL's default")
    state_targets(reading, targets)
    reading.state("training.lora.modules_to_save", saved)
    return True


def state_bits(keys: Keys, four: Stated | None, eight: Stated | None) -> None:
    """Take bitsandbytes' packing by its own arguments."""
    reading = keys.reading
    if four and four.value:
        kind = keys.text("bnb_4bit_quant_type")
        packed = "fp4" if kind and kind.value == "fp4" else "nf4"
        reading.state("given.quantized", four, value=packed)
        nested = keys.switch("use_bnb_nested_quant", "bnb_4bit_use_double_quant")
        reading.state("training.quantization.double_quant", nested)
        reading.default("training.quantization.double_quant", False, "bitsandbytes' default")
    elif eight and eight.value:
        reading.state("given.quantized", eight, value="int8")


def _read_method(keys: Keys, document: Document, *, adapted: bool) -> int:
    """Read the row's length, and return how many sequences one row is."""
    reading = keys.reading
    generations, completion = keys.whole("num_generations"), keys.whole("max_completion_length")
    prompt, whole = keys.whole("max_prompt_length"), keys.whole("max_length", "max_seq_length")
    if packing := keys.switch("packing"):
        reading.assume(packing.key, "rows are full" if packing.value else "the longest row counts; others take less")
    if generations or (completion and "reward_funcs" in document.content):
        _read_generation(keys, generations, completion, prompt)
        return 1
    reading.state("training.sequence_length", whole)
    reading.default("training.sequence_length", 1024, "TRL's default (max_length)")
    if "center_rewards_coefficient" in document.content:
        keys.any("center_rewards_coefficient")
        reading.assume("center_rewards_coefficient", "rows are pairs, chosen and rejected: two sequences each")
        reading.leave_out(
            Stated(None, reading.file, "reward model"), "it has a score in the head's place; the head is counted"
        )
        return 2
    unpaired = next((keys.any(name) for name in ("desirable_weight", "undesirable_weight") if keys.has(name)), None)
    pairs = next((keys.any(name) for name in _PAIR_SIGNS if keys.has(name)), None)
    if pairs is None and unpaired is None:
        return 1
    beta, scored = keys.number("beta"), keys.switch("precompute_ref_log_probs")
    if not adapted and not (beta and beta.value == 0) and not (scored and scored.value):
        reading.leave_out(
            pairs or unpaired,
            "the reference model is not counted: a second copy of the weights in their loaded dtype",
        )
    if unpaired is not None:
        reading.assume(unpaired.key, "rows are single (KTO); those of the KL term run without gradients")
        return 1
    if pairs is not None:
        reading.assume(pairs.key, "rows are pairs, chosen and rejected: two sequences each")
    return 2


_PAIR_SIGNS = (
    "beta",
    "max_prompt_length",
    "precompute_ref_log_probs",
    "rpo_alpha",
    "ld_alpha",
    "ref_model_init_kwargs",
)


def _read_generation(keys: Keys, generations: Stated | None, completion: Stated | None, prompt: Stated | None) -> None:
    reading = keys.reading
    answer = completion or Stated(256, reading.file, "max_completion_length")
    if prompt is not None:
        total = prompt.value + answer.value
        reading.state("training.sequence_length", replace(answer, value=total, key=f"{prompt.key} + {answer.key}"))
    elif completion is not None:
        reading.default("training.sequence_length", answer.value, "completions alone, without their prompts")
    if generations is not None:
        reading.assume(generations.key, "per_device_train_batch_size counts generations, not prompts")
    beta = keys.number("beta")
    if beta is not None and beta.value > 0:
        reading.leave_out(beta, "the reference model is not counted")
    if (engine := keys.switch("use_vllm")) and engine.value:
        share = keys.number("vllm_gpu_memory_utilization")
        reading.leave_out(share or engine, "what vLLM holds on the same device is not counted: hardware.used_by_others")


def _read_common(keys: Keys, *, batch_rows: int, checkpointing: bool, mixed: str) -> None:
    reading = keys.reading
    batch = keys.whole("per_device_train_batch_size", "per_gpu_train_batch_size")
    batch = replace(batch, value=batch.value * batch_rows) if batch else None
    reading.state("given.rows", Stated(batch_rows, reading.file, ""))
    reading.state("training.micro_batch", batch)
    reading.default("training.micro_batch", 8 * batch_rows, "the Trainer's default (per_device_train_batch_size)")
    reading.state("training.gradient_accumulation", keys.whole("gradient_accumulation_steps"))
    kept = keys.switch("activation_checkpointing", "gradient_checkpointing")
    reading.state("training.checkpointing", kept, value="full" if kept and kept.value else "none")
    why = "TRL checkpoints unless told not to" if checkpointing else "the trainer keeps activations unless told not to"
    reading.default("training.checkpointing", "full" if checkpointing else "none", why)
    _read_how_checkpointed(keys)
    state_mixed_precision(keys, mixed)
    state_optimizer(reading, keys.text("optim"))
    if (old := keys.switch("adafactor")) and old.value:  # transformers 4 let it count before optim
        reading.state("training.optimizer", old, value="adafactor")
    settings = keys.text("optim_args") if isinstance(keys.content.get("optim_args"), str) else None
    if settings is not None and "rank=" in settings.value.replace(" ", ""):
        reading.leave_out(settings, "projections of the rank that memplan counts (128 in GaLore) are taken")
    reading.default("training.optimizer", "adamw", "the Trainer's default (adamw_torch_fused)")
    if (
        reading.defaults.get("training.optimizer", ("", ""))[0] == "adamw"
        and "training.optimizer" not in reading.stated
    ):
        reading.default("training.optimizer_impl", "fused", "the Trainer's default (adamw_torch_fused)")
    for name in ("use_liger_kernel", "use_liger"):
        if (liger := keys.switch(name)) and liger.value:
            reading.state("training.kernels", liger, value="liger")
            reading.state("training.loss", liger, value="fused")
    if (halves := keys.switch("auto_find_batch_size")) and halves.value:
        reading.leave_out(halves, "the batch is made smaller until it fits; the first one is counted")
    if (compiled := keys.switch("torch_compile")) and compiled.value:
        reading.leave_out(compiled, "compiled kernels keep less; eager ones are counted")
    if (smooths := keys.number("label_smoothing_factor")) and smooths.value > 0:
        reading.leave_out(smooths, "the loss is the Trainer's own, whose log-softmax is not counted")
    reading.default("training.attention", "sdpa", "transformers' default")
    state_shards(keys)


def _read_how_checkpointed(keys: Keys) -> None:
    """transformers 5.24 can checkpoint every n-th layer alone, and hold what it keeps on the host."""
    how = keys.any("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs")
    if how is not None and isinstance(how.value, dict):
        every, host = how.value.get("every_n_layers"), how.value.get("offload")
        kept = keys.reading.stated.get("training.checkpointing")
        if host is True and kept is not None and kept.value == "full":
            keys.reading.state("training.checkpointing", how, value="offload")
        if isinstance(every, int) and every > 1:
            keys.reading.leave_out(how, f"every {every} layers are checkpointed as one; each alone is counted")


def state_mixed_precision(keys: Keys, default: str) -> None:
    """Take bf16 and fp16 as the Trainer means them: autocast, not what weights are held in."""
    reading = keys.reading
    bf16, fp16 = keys.switch("bf16"), keys.switch("fp16")
    if bf16 and bf16.value and fp16 and fp16.value:
        raise keys.refused(fp16, "false beside bf16: true")
    if bf16 and bf16.value:
        reading.state("given.mixed_precision", bf16, value="bf16")
    elif fp16 and fp16.value:
        reading.state("given.mixed_precision", fp16, value="fp16")
    elif bf16 is None:
        reading.default("given.mixed_precision", default, "the trainer's default")
    if "given.mixed_precision" not in reading.stated and (off := bf16 or fp16):
        reading.state("given.mixed_precision", off, value="no", weak=True)


def state_shards(keys: Keys, *, fsdp: int | None = None) -> None:
    """Take the Trainer's own `deepspeed`, `fsdp` and `parallelism_config`.

    Args:
        keys: the file's keys.
        fsdp: the version of FSDP where a trainer takes one; None: as transformers does.
    """
    reading = keys.reading
    engine = keys.any("deepspeed")
    if engine is not None and isinstance(engine.value, str):
        state_deepspeed_path(reading, engine)
    _state_fsdp(keys, fsdp)
    if isinstance(keys.content.get("parallelism_config"), dict):
        state_parallelism(keys.section("parallelism_config"))


def _state_fsdp(keys: Keys, default: int | None) -> None:
    reading, shard = keys.reading, keys.any("fsdp")
    words = (
        " ".join(map(str, shard.value))
        if shard and isinstance(shard.value, list)
        else str(shard.value if shard else "")
    )
    if shard is None or not words.strip() or words.lower() in ("false", "no"):
        keys.any("fsdp_config")
        return
    if (
        elsewhere := keys.text("fsdp_config") if isinstance(keys.content.get("fsdp_config"), str) else None
    ) is not None:
        reading.leave_out(elsewhere, "it stands in another file; give that file too")
    has_section = isinstance(keys.content.get("fsdp_config"), dict)
    inner = keys.section("fsdp_config") if has_section else Keys(reading, {}, "fsdp_config.")
    stated = inner.whole("fsdp_version", "version")
    version = stated.value if stated else default or _fsdp_version(inner, words)
    state_fsdp(inner, version, shard)
    host = inner.switch("fsdp_cpu_offload", "cpu_offload")
    if "offload" in words or (host and host.value):
        reading.state("hardware.offload.parameters", host or shard, value=True)
        reading.state("hardware.offload.optimizer", host or shard, value=True)
    if "shard_grad_op" in words:
        reading.state("hardware.sharding.reshard_after_forward", shard, value=False)
    if "hybrid_shard" in words:
        reading.state("given.hybrid", shard, value=True)
    if "no_shard" in words:
        reading.state("hardware.sharding.strategy", shard, value="ddp")


_FSDP1_KEYS = (
    *("sharding_strategy", "backward_prefetch", "forward_prefetch", "use_orig_params", "sync_module_states"),
    "limit_all_gathers",
)


def _fsdp_version(inner: Keys, words: str) -> int:
    """The version that runs where a file names none: FSDP2 since transformers 5.10, unless it can only be FSDP1."""
    reading = inner.reading
    named = next((key for key in _FSDP1_KEYS if inner.has(key) or inner.has(f"fsdp_{key}")), "")
    sign = named or next((word for word in ("hybrid_shard", "no_shard") if word in words), "")
    if sign:
        reading.assume("fsdp_config", f"no version is named; {sign} is of FSDP1")
        return 1
    if "given.transformers" in reading.stated:
        reading.assume("fsdp_config", "no version is named: FSDP1, as transformers before 5.10 takes it")
        return 1
    reading.assume(
        "fsdp_config", "no version is named: FSDP2, as transformers takes it since 5.10; before it took FSDP1"
    )
    return 2
