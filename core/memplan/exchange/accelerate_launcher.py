"""accelerate's configuration (YAML, or the same keys as JSON): how many processes, and how they divide the model."""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.hf_trainer import TRAINER_SIGNS
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys
from memplan.exchange.trainer_terms import STAGES, state_deepspeed_path, state_fsdp, state_parallelism

_SIGNS = ("distributed_type", "compute_environment", "num_processes")


def recognises(document: Document) -> bool:
    """Whether it is accelerate's, or a bare FSDP configuration."""
    content = document.content
    if any(sign in content for sign in _SIGNS):
        return True
    trains = any(key in content for key in (*TRAINER_SIGNS, "model_name_or_path"))
    return not trains and any(key in content for key in _BARE_FSDP)


_BARE_FSDP = ("fsdp_version", "fsdp_sharding_strategy", "fsdp_transformer_layer_cls_to_wrap", "reshard_after_forward")


def read(keys: Keys, document: Document) -> None:
    """Read processes, precision and sharding."""
    reading = keys.reading
    reading.state("hardware.devices", keys.whole("num_processes"))
    _state_nodes(keys)
    _state_precision(keys)
    kind = keys.text("distributed_type")
    word = kind.value.upper() if kind else ""
    fsdp, engine = keys.section("fsdp_config"), keys.section("deepspeed_config")
    keys.any("fsdp")
    if word == "FSDP" or (not word and (fsdp.content or any(key in document.content for key in _BARE_FSDP))):
        shard = fsdp if fsdp.content else keys
        version = shard.whole("fsdp_version", "version")
        state_fsdp(shard, version.value if version else 2 if "reshard_after_forward" in shard.content else 1)
    elif word == "DEEPSPEED":
        _state_deepspeed(engine)
    elif word in ("MULTI_GPU", "MULTI_XPU", "MULTI_NPU", "MULTI_HPU"):
        reading.state("hardware.sharding.strategy", kind, value="ddp", weak=True)
    elif word == "MEGATRON_LM" and kind:
        _state_megatron(keys.section("megatron_lm_config"), kind)
    elif word in ("NO", "FALSE"):
        reading.state("hardware.sharding.strategy", kind, value="none", weak=True)
        if "hardware.devices" not in reading.stated:
            reading.state("hardware.devices", kind, value=1, weak=True)
    _state_older_matrices(keys)
    state_parallelism(keys.section("parallelism_config"))
    _tell_what_is_not_counted(keys, word)


def _state_older_matrices(keys: Keys) -> None:
    """accelerate 1.3 to 1.8 divided matrices by a plugin of its own; all processes are one group."""
    reading, size = keys.reading, keys.section("tp_config").whole("tp_size")
    if size is not None and size.value > 1:
        reading.state("hardware.tensor_parallel", size)
        reading.default(
            "hardware.sharding.strategy", "none", f"{size.key} divides the matrices, nothing else is divided"
        )


def _tell_what_is_not_counted(keys: Keys, kind: str) -> None:
    reading = keys.reading
    backend = keys.section("dynamo_config").text("dynamo_backend") or keys.text("dynamo_backend")
    if backend is not None and backend.value.lower() not in ("no", "eager"):
        reading.leave_out(backend, "compiled kernels keep less; eager ones are counted")
    if (host := keys.switch("use_cpu")) and host.value:
        reading.leave_out(host, "it runs on the host, where nothing is counted; a device is")
    if kind in ("TPU", "XLA"):
        reading.leave_out(keys.text("distributed_type"), "XLA lays out a step in its own way; PyTorch's own is counted")


def _state_nodes(keys: Keys) -> None:
    machines, devices = keys.whole("num_machines"), keys.reading.stated.get("hardware.devices")
    if machines and devices and machines.value > 1 and devices.value % machines.value == 0:
        keys.reading.state("hardware.devices_per_node", machines, value=devices.value // machines.value)


def _state_precision(keys: Keys) -> None:
    """A trainer's own word counts before the launcher's."""
    mixed = keys.text("mixed_precision")
    if mixed is None:
        return
    word = {"false": "no", "true": "bf16"}.get(mixed.value.lower(), mixed.value.lower())
    if word == "fp8":
        keys.reading.leave_out(mixed, "fp8 products are counted in bf16")
        word = "bf16"
    if word not in ("bf16", "fp16", "no"):
        raise keys.refused(mixed, "no, fp16, bf16 or fp8")
    keys.reading.state("given.mixed_precision", mixed, value=word, weak=True)


def _state_deepspeed(engine: Keys) -> None:
    reading = engine.reading
    file = engine.text("deepspeed_config_file")
    if file is not None:
        state_deepspeed_path(reading, file)
        return
    stage = engine.whole("zero_stage", least=0)
    if stage is not None and stage.value not in STAGES:
        raise engine.refused(stage, "a whole number from 0 to 3")
    if stage is not None:
        reading.state("hardware.sharding.strategy", stage, value=STAGES[stage.value])
        reading.state("given.engine", stage, value="deepspeed")
    for name, path in (("offload_optimizer_device", "optimizer"), ("offload_param_device", "parameters")):
        found = engine.text(name)
        if found is None:
            continue
        goes = found.value.lower() not in ("none", "false")
        if goes and path == "parameters" and (stage is None or stage.value != 3):
            reading.ignore(found, "parameters are offloaded in stage 3 only")
        else:
            reading.state(f"hardware.offload.{path}", found, value=goes)
    reading.state("training.gradient_accumulation", engine.whole("gradient_accumulation_steps"), weak=True)


_MEGATRON = {
    "tp_degree": "tensor_parallel",
    "pp_degree": "pipeline_parallel",
    "context_parallel_size": "context_parallel",
    "expert_model_parallel_size": "expert_parallel",
}


def _state_megatron(inner: Keys, kind: Stated) -> None:
    """Megatron-LM's degrees and recomputation; without its distributed optimizer states are whole.

    Source: accelerate 1.15, utils/dataclasses.py (MegatronLMPlugin).
    """
    reading = inner.reading
    reading.state("given.engine", kind, value="megatron")
    reading.default("training.kernels", "megatron", "Megatron-LM's own modules")
    reading.default("training.optimizer", "adamw", "Megatron-LM's default (adam)")
    reading.default("training.optimizer_impl", "fused", "Megatron-LM takes a fused Adam")
    divides = inner.switch("megatron_lm_use_distributed_optimizer")
    strategy = "megatron" if divides and divides.value else "ddp"
    reading.state("hardware.sharding.strategy", divides or kind, value=strategy)
    for name, path in _MEGATRON.items():
        size = inner.whole(f"megatron_lm_{name}", least=0)
        if size is not None and size.value > 1:
            reading.state(f"hardware.{path}", size)
    reading.state("hardware.sequence_parallel", inner.switch("megatron_lm_sequence_parallelism"))
    pieces = inner.whole("megatron_lm_num_micro_batches")
    reading.state("training.gradient_accumulation", pieces, weak=True)
    if (again := inner.switch("megatron_lm_recompute_activations")) is not None:
        reading.state("training.checkpointing", again, value="selective" if again.value else "none", weak=True)
    how = inner.text("megatron_lm_recompute_granularity")
    if how is not None and how.value.lower() in ("full", "selective"):
        reading.state("training.checkpointing", how, value=how.value.lower(), weak=True)
    if (host := inner.switch("megatron_lm_optimizer_cpu_offload")) and host.value:
        reading.leave_out(host, "states on the host are counted on the device")
