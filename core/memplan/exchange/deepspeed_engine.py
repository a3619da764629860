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
    zero = keys.section("zero_optimization")
    reading.state("given.engine", Stated("deepspeed", document.file, "zero_optimization"))
    stage = zero.whole("stage", least=0)
    if stage is not None and stage.value not in STAGES:
        raise zero.refused(stage, "a whole number from 0 to 3")
    anchor = stage or Stated(0, document.file, "zero_optimization")
    reading.state("hardware.sharding.strategy", anchor, value=STAGES[anchor.value])
    _state_offload(zero, anchor.value)
    _state_buckets(zero)
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
        reading.state("training.checkpointing", host, value="offload")


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
        found = zero.section(name).text("device")
        if found is None:
            continue
        goes = found.value.lower() not in ("none", "false")
        if goes and path == "parameters" and stage != 3:
            reading.ignore(found, "offload_param works in stage 3 only")
        else:
            reading.state(f"hardware.offload.{path}", found, value=goes)
    if (old := zero.switch("cpu_offload")) is not None:
        reading.state("hardware.offload.optimizer", old)


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

_ZERO_EXTRAS = {
    "zero_hpz_partition_size": "a second copy of the weights in each node (ZeRO++) is not counted",
    "zero_quantized_weights": "weights that travel in fewer bits (ZeRO++) are not counted",
    "zero_quantized_gradients": "gradients that travel in fewer bits (ZeRO++) are not counted",
}


def _state_precision(keys: Keys) -> None:
    reading = keys.reading
    for word, names in (("bf16", ("bf16", "bfloat16")), ("fp16", ("fp16",))):
        section = keys.section(*names)
        enabled = section.switch("enabled")
        if enabled and enabled.value:
            reading.state("given.mixed_precision", enabled, value=word)
        elif enabled is None and section.has("enabled"):
            reading.default("given.mixed_precision", "bf16", "auto is what the Trainer is told; most runs take bf16")
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
