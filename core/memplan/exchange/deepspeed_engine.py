"""DeepSpeed's configuration JSON, alone or inside an accelerate file. "auto" comes from the Trainer."""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.model_settling import dtype_word
from memplan.exchange.notes import AUTO, Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import STAGES

_SIGNS = ("zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer")


def recognises(document: Document) -> bool:
    """Whether it is DeepSpeed's."""
    return any(sign in document.content for sign in _SIGNS)


def read(keys: Keys, document: Document) -> None:
    """Read stage, offloads, dtypes and batch."""
    reading = keys.reading
    old = keys.switch("zero_optimization") if isinstance(keys.content.get("zero_optimization"), bool) else None
    zero = keys.section("zero_optimization") if old is None else Keys(reading, {"stage": int(old.value)}, "")
    reading.state("given.engine", Stated("deepspeed", document.file, "zero_optimization"))
    stage = zero.whole("stage", least=0)
    if stage is not None and stage.value not in STAGES:
        raise zero.refused(stage, "a whole number from 0 to 3")
    anchor = stage or Stated(0, document.file, "zero_optimization")
    reading.state("hardware.sharding.strategy", anchor, value=STAGES[anchor.value])
    _state_offload(zero, anchor.value)
    _state_buckets(zero)
    reading.state("given.group", zero.whole("mics_shard_size", least=-1))
    for name, why in _ZERO_EXTRAS.items():
        found = zero.any(name)
        if found is not None and found.value not in (False, 0, 1, "false"):
            reading.leave_out(found, why)
    _state_precision(keys)
    reading.state("training.micro_batch", keys.whole("train_micro_batch_size_per_gpu"))
    reading.state("training.gradient_accumulation", keys.whole("gradient_accumulation_steps"))
    reading.state("given.global_batch", keys.whole("train_batch_size"))
    _state_optimizer(keys)
    _state_parallelism(keys)
    kept = keys.section("activation_checkpointing")
    if (host := kept.switch("cpu_checkpointing")) and host.value:
        reading.state("given.engine_checkpointing", host, value="offload")


def _state_parallelism(keys: Keys) -> None:
    """AutoTP divides matrices, Ulysses the sequence (deepspeed.ai, tutorials/autotp-training and ds-sequence)."""
    reading = keys.reading
    matrices = keys.section("tensor_parallel").whole("autotp_size", least=0)
    if matrices is not None and matrices.value > 1:
        reading.state("hardware.tensor_parallel", matrices)
    sequence = keys.whole("sequence_parallel_size", least=0)
    if sequence is not None and sequence.value > 1:
        reading.state("hardware.context_parallel", sequence)
        reading.assume(sequence.key, "Ulysses divides the sequence: counted as context parallelism")


def _state_offload(zero: Keys, stage: int) -> None:
    reading = zero.reading
    for name, path in (("offload_optimizer", "optimizer"), ("offload_param", "parameters")):
        section = zero.section(name)
        found, share = section.text("device"), section.number("ratio")
        if found is None:
            continue
        goes = found.value.lower() not in ("none", "false")
        if goes and share is not None and share.value < 1:
            reading.leave_out(share, f"{share.value:.0%} of it moves to the host; all is counted on the device")
            goes = False
        if goes and found.value.lower() == "nvme":
            reading.assume(found.key, "NVMe is counted as the host's memory")
        if goes and path == "parameters" and stage != 3:
            reading.ignore(found, "offload_param works in stage 3 only")
        else:
            reading.state(f"hardware.offload.{path}", found, value=goes)
    if (old := zero.switch("cpu_offload")) is not None:
        reading.state("hardware.offload.optimizer", old)
    if (old := zero.switch("cpu_offload_params")) is not None and stage == 3:
        reading.state("hardware.offload.parameters", old)


def _state_buckets(zero: Keys) -> None:
    """Sizes in values; the names of stage 3 also stand there without their prefix."""
    reading = zero.reading
    for field, names in _BUCKETS.items():
        size = zero.whole(*names, least=0)
        reading.state(f"hardware.sharding.{field}", size)
        if size is None and any(zero.has(name) for name in names):
            reading.state(f"hardware.sharding.{field}", zero.text(*names), value=AUTO)
    reading.state("hardware.sharding.overlap_comm", zero.switch("overlap_comm"))
    reach = [zero.whole(f"stage3_{name}", name, least=0) for name in ("max_reuse_distance", "max_live_parameters")]
    if given := [one for one in reach if one is not None]:
        reading.state("hardware.sharding.reuse_distance", min(given, key=lambda one: one.value))


_BUCKETS = {
    "reduce_bucket": ("reduce_bucket_size",),
    "prefetch_bucket": ("stage3_prefetch_bucket_size", "prefetch_bucket_size"),
    "persistence_threshold": ("stage3_param_persistence_threshold", "param_persistence_threshold"),
}

_SIXTEEN = "what is kept beside the weights in 16 bit is counted in fp32"
_PRECISION_EXTRAS = ("bf16_master_weights_and_grads", "fp16_master_weights_and_grads", "bf16_optimizer_states")
_ZERO_EXTRAS = {
    "zenflow": "what ZenFlow keeps on the device for its own steps is not counted",
    "zero_hpz_partition_size": "a second copy of the weights in each node (ZeRO++) is not counted",
    "zero_quantized_weights": "weights that travel in fewer bits (ZeRO++) are not counted",
    "zero_quantized_gradients": "gradients that travel in fewer bits (ZeRO++) are not counted",
}


def _state_precision(keys: Keys) -> None:
    reading = keys.reading
    for word, names in (("bf16", ("bf16", "bfloat16")), ("fp16", ("fp16",))):
        section = keys.section(*names)
        enabled = section.switch("enabled")
        for name in _PRECISION_EXTRAS:
            if (kept := section.switch(name)) and kept.value:
                reading.leave_out(kept, _SIXTEEN)
        if enabled and enabled.value:
            reading.state("given.mixed_precision", enabled, value=word)
        elif enabled is None and section.has("enabled"):
            reading.default("given.mixed_precision", "bf16", "auto is what the Trainer is told; most runs take bf16")
    cast = keys.section("torch_autocast")
    turned, kind = cast.switch("enabled"), cast.text("dtype")
    cast.any("lower_precision_safe_modules")
    if turned and turned.value:
        reading.state("given.engine_autocast", turned, value=dtype_word(kind.value) if kind else "bf16")
    dtype = keys.section("data_types").text("grad_accum_dtype")
    if dtype is not None and (found := dtype_word(dtype.value)) in ("fp32", "bf16"):
        reading.state("training.gradients_dtype", dtype, value=found)


_OPTIMIZERS = {
    "adam": ("adamw", "fused"),
    "adamw": ("adamw", "fused"),
    "onebitadam": ("adamw", "fused"),
    "adagrad": ("adagrad", "foreach"),
    "lion": ("lion", None),
    "muon": ("muon", None),
}
"""DeepSpeed's names. Its Adam is a fused kernel (ops/adam/fused_adam.py), or runs on the host."""


def _state_optimizer(keys: Keys) -> None:
    reading = keys.reading
    section = keys.section("optimizer")
    kind = section.text("type")
    section.any("params")
    if kind is None:
        return
    if kind.value.lower() not in _OPTIMIZERS:
        reading.leave_out(kind, "no optimizer that memplan counts; AdamW is counted")
        return
    optimizer, implementation = _OPTIMIZERS[kind.value.lower()]
    reading.state("training.optimizer", kind, value=optimizer)
    if implementation:
        reading.state("training.optimizer_impl", kind, value=implementation)
