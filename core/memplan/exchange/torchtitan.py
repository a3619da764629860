"""torchtitan's TOML (configurations are Python since February 2026). FSDP2 over fp32 shards, products in bf16.

Meanings and defaults: torchtitan at 238fa9953e4a, config/job_config.py.
"""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.model_settling import dtype_word
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys

_MODELS = {
    ("llama3", "8b"): "meta-llama/Llama-3.1-8B",
    ("llama3", "70b"): "meta-llama/Llama-3.1-70B",
    ("llama3", "405b"): "meta-llama/Llama-3.1-405B",
    ("llama3_ft", "8b"): "meta-llama/Llama-3.1-8B",
    ("llama4", "17bx16e"): "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    ("llama4", "17bx128e"): "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    ("deepseek_v3", "671b"): "deepseek-ai/DeepSeek-V3",
    ("qwen3", "0.6b"): "Qwen/Qwen3-0.6B",
    ("qwen3", "1.7b"): "Qwen/Qwen3-1.7B",
    ("qwen3", "4b"): "Qwen/Qwen3-4B",
    ("qwen3", "8b"): "Qwen/Qwen3-8B",
    ("qwen3", "14b"): "Qwen/Qwen3-14B",
    ("qwen3", "32b"): "Qwen/Qwen3-32B",
    ("qwen3", "30b-a3b"): "Qwen/Qwen3-30B-A3B",
}
"""The catalog's model for a name and a flavor; those of debugging are in no catalog."""


def recognises(document: Document) -> bool:
    """Whether the model is given by name and flavor, or sections stand there that only torchtitan has."""
    content = document.content
    model = content.get("model")
    flavored = isinstance(model, dict) and "flavor" in model
    return flavored or ("job" in content and "training" in content and "parallelism" in content)


def read(keys: Keys, document: Document) -> None:
    """Read a job's configuration."""
    reading = keys.reading
    reading.state("given.trainer", Stated("torchtitan", document.file, ""))
    _read_model(keys.section("model"))
    training, parallel = keys.section("training"), keys.section("parallelism")
    reading.state("training.micro_batch", training.whole("local_batch_size", "batch_size"))
    reading.default("training.micro_batch", 8, "torchtitan's default")
    reading.state("training.sequence_length", training.whole("seq_len"))
    reading.default("training.sequence_length", 2048, "torchtitan's default")
    total = training.whole("global_batch_size", least=-1)
    if total is not None and total.value > 0:
        reading.state("given.global_batch", total)
    _read_precision(training, parallel)
    _read_parallelism(training, parallel)
    _read_checkpointing(keys.section("activation_checkpoint"))
    _read_optimizer(keys.section("optimizer"))
    for name in ("job", "profiling", "metrics", "lr_scheduler", "checkpoint", "comm", "experimental", "validation"):
        keys.section(name)
    compiled = keys.section("compile").switch("enable")
    if compiled and compiled.value:
        reading.leave_out(compiled, "compiled kernels keep less; eager ones are counted")
    reading.default("training.kernels", "torchtitan", "its own modules")
    reading.default("training.attention", "sdpa", "torchtitan calls PyTorch's own attention")


def _read_model(model: Keys) -> None:
    reading, name, flavor = model.reading, model.text("name"), model.text("flavor")
    family, size = (name.value if name else "llama3"), (flavor.value if flavor else "debugmodel")
    anchor = flavor or name or Stated(None, reading.file, "model")
    known = _MODELS.get((family.lower(), size.lower()))
    reading.state("given.model_name", anchor, value=known or f"{family} {size}")
    reading.default("training.method", "full", "torchtitan trains all weights")
    converters = model.names("converters")
    if converters is not None and converters.value:
        reading.leave_out(converters, "products in fp8 or less are counted in bf16")


def _read_precision(training: Keys, parallel: Keys) -> None:
    reading, dtype = training.reading, training.text("dtype")
    word = dtype_word(dtype.value) if dtype else "fp32"
    if word is None:
        raise training.refused(dtype or Stated(None, "", ""), "float32 or bfloat16")
    reading.state("training.weights_dtype", dtype, value=word)
    reading.default("training.weights_dtype", "fp32", "torchtitan's default (training.dtype)")
    compute = training.text("mixed_precision_param")
    mixed = dtype_word(compute.value) if compute else "bf16"
    reading.default("given.compute_dtype", "none" if mixed in (None, "fp32") else mixed, "torchtitan's default")
    reading.state("hardware.sharding.mixed_precision", compute, value=mixed not in (None, "fp32"))
    reading.default("hardware.sharding.mixed_precision", True, "torchtitan's default (mixed_precision_param)")


_RESHARD = {"always": True, "default": True, "never": False}


def _read_parallelism(training: Keys, parallel: Keys) -> None:
    reading = parallel.reading
    sizes = {"tensor": 1, "pipeline": 1, "context": 1}
    for word in (*sizes, "expert"):
        size = parallel.whole(f"{word}_parallel_degree")
        if size is not None and size.value > 1:
            reading.state(f"hardware.{word}_parallel", size)
            if word in sizes:
                sizes[word] = size.value
    shard, copies = (
        parallel.whole("data_parallel_shard_degree", least=-1),
        parallel.whole("data_parallel_replicate_degree"),
    )
    reading.default("hardware.sharding.strategy", "fsdp2", "torchtitan divides by FSDP2")
    replicas = copies.value if copies else 1
    if replicas > 1 and shard is not None and shard.value == 1:
        reading.state("hardware.sharding.strategy", copies, value="ddp")
    elif replicas > 1:
        reading.state("given.copies", copies)
    if shard is not None and shard.value > 0:
        count = shard.value * replicas * sizes["tensor"] * sizes["pipeline"] * sizes["context"]
        if count > 1:
            reading.state("hardware.devices", shard, value=count)
    freed = parallel.text("fsdp_reshard_after_forward")
    if freed is not None:
        if freed.value.lower() not in _RESHARD:
            raise parallel.refused(freed, "default, always or never")
        reading.state("hardware.sharding.reshard_after_forward", freed, value=_RESHARD[freed.value.lower()])
    offload = training.switch("enable_cpu_offload") or parallel.switch("enable_cpu_offload")
    if offload and offload.value:
        reading.state("hardware.offload.parameters", offload)
        reading.state("hardware.offload.optimizer", offload)


def _read_checkpointing(section: Keys) -> None:
    reading, mode, option = section.reading, section.text("mode"), section.text("selective_ac_option")
    word = mode.value.lower() if mode else "selective"
    if mode is not None and word not in ("none", "selective", "full", "memory_budget"):
        raise section.refused(mode, "none, selective or full")
    every = option.value if option else "2"
    if option is not None and every != "op" and not (every.isdecimal() and int(every) > 0):
        raise section.refused(option, '"op" (per operation) or layers between checkpoints, from 1')
    if word == "selective" and every != "op":  # whole layers, one in so many
        whole = Stated("full", reading.file, mode.key) if mode else None
        reading.state("training.checkpointing", whole)
        reading.default("training.checkpointing", "full", "torchtitan's default (selective, by layers)")
        reading.state("training.checkpoint_every", option, value=int(every))
        reading.default("training.checkpoint_every", 2, "torchtitan's default (selective_ac_option)")
        return
    value = {"memory_budget": "selective"}.get(word, word)
    reading.state("training.checkpointing", mode, value=value)
    reading.default("training.checkpointing", "selective", "torchtitan's default")


def _read_optimizer(section: Keys) -> None:
    reading, name = section.reading, section.text("name")
    if name is not None and name.value.lower() not in ("adam", "adamw"):
        reading.leave_out(name, "no optimizer that memplan counts; AdamW is counted")
    reading.state("training.optimizer", name, value="adamw")
    kind, old = section.text("implementation"), section.switch("fused")
    if kind is not None:
        word = kind.value.lower().replace("-", "_")
        reading.state("training.optimizer_impl", kind, value={"fused_opt_states_bf16": "fused"}.get(word, word))
    elif old is not None:
        reading.state("training.optimizer_impl", old, value="fused" if old.value else "foreach")
    reading.default("training.optimizer_impl", "fused", "torchtitan's default")
    applied = section.switch("early_step_in_backward")
    if applied and applied.value:
        reading.state("training.optimizer_in_backward", applied)
