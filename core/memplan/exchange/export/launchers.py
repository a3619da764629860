"""DeepSpeed's JSON and accelerate's YAML: how the run is divided. The rest is the trainer's file."""

from __future__ import annotations

from typing import Any

from memplan.exchange.export.terms import STAGES, checked, fsdp_config, mixed_precision
from memplan.exchange.precision import DEEPSPEED, FSDP
from memplan.plan.scenario import Scenario

_DEEPSPEED_OPTIMIZERS = {"adamw": "AdamW", "adagrad": "Adagrad", "lion": "Lion", "muon": "Muon"}


def deepspeed(scenario: Scenario) -> dict[str, Any]:
    """DeepSpeed's configuration; the Trainer fills in what is "auto"."""
    training, hardware = checked(scenario).training, scenario.hardware
    stage, mixed = STAGES.get(hardware.sharding.strategy, 0), mixed_precision(scenario)
    sharding = hardware.sharding
    zero: dict[str, Any] = {"stage": stage, "overlap_comm": sharding.overlap_comm, "contiguous_gradients": True}
    zero["reduce_bucket_size"] = _size(sharding.reduce_bucket)
    if hardware.offload.optimizer:
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if hardware.offload.parameters and stage == 3:
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    if stage == 3:
        zero["stage3_prefetch_bucket_size"] = _size(sharding.prefetch_bucket)
        zero["stage3_param_persistence_threshold"] = _size(sharding.persistence_threshold)
        zero["stage3_max_reuse_distance"] = zero["stage3_max_live_parameters"] = sharding.reuse_distance
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    content: dict[str, Any] = {"zero_optimization": zero}
    content["bf16"] = {"enabled": mixed == "bf16"}
    content["fp16"] = {"enabled": mixed == "fp16"}
    if training.gradients_dtype != "weights":
        content["data_types"] = {"grad_accum_dtype": training.gradients_dtype}
    fused = training.optimizer != "adamw" or training.optimizer_impl == "fused"
    if fused and training.optimizer in _DEEPSPEED_OPTIMIZERS:
        kind = _DEEPSPEED_OPTIMIZERS[training.optimizer]
        content["optimizer"] = {"type": kind, "params": {"lr": "auto", "weight_decay": "auto"}}
    if training.checkpointing == "offload":
        content["activation_checkpointing"] = {"cpu_checkpointing": True}
    content["train_micro_batch_size_per_gpu"] = training.micro_batch
    content["gradient_accumulation_steps"] = training.gradient_accumulation
    content["gradient_clipping"] = "auto"
    return content


def _size(values: int | None) -> int | str:
    return "auto" if values is None else values


def accelerate(scenario: Scenario) -> dict[str, Any]:
    """accelerate's configuration, as `accelerate launch --config_file` takes it."""
    hardware = checked(scenario).hardware
    strategy, devices = hardware.sharding.strategy, hardware.devices
    kind = "NO" if devices == 1 else "MULTI_GPU"
    if strategy in FSDP:
        kind = "FSDP"
    elif strategy in DEEPSPEED:
        kind = "DEEPSPEED"
    elif strategy == "megatron":
        kind = "MEGATRON_LM"
    content: dict[str, Any] = {"compute_environment": "LOCAL_MACHINE", "distributed_type": kind}
    content["mixed_precision"] = mixed_precision(scenario)
    whole, rest = divmod(devices, hardware.devices_per_node)
    content["num_machines"] = max(1, whole) if not rest else 1
    content["num_processes"] = devices
    content["machine_rank"] = 0
    if kind == "FSDP":
        section = fsdp_config(scenario, "fsdp_")
        section["fsdp_activation_checkpointing"] = scenario.training.checkpointing == "full"
        content["fsdp_config"] = section
    if kind == "DEEPSPEED":
        content["deepspeed_config"] = _inner_deepspeed(scenario)
    if hardware.tensor_parallel > 1 or hardware.context_parallel > 1:
        content["parallelism_config"] = _parallelism(scenario, kind)
    return content


def _parallelism(scenario: Scenario, kind: str) -> dict[str, int]:
    """Sizes that are all processes together, where devices come in whole groups."""
    hardware = scenario.hardware
    sizes = {"tp": hardware.tensor_parallel, "cp": hardware.context_parallel}
    groups, rest = divmod(hardware.devices, sizes["tp"] * sizes["cp"])
    if groups and not rest:
        copies, parts = (1, groups) if kind == "FSDP" else (groups, 1)
        sizes = {"dp_replicate": copies, "dp_shard": parts, **sizes}
    return {f"parallelism_config_{word}_size": size for word, size in sizes.items()}


def _inner_deepspeed(scenario: Scenario) -> dict[str, Any]:
    offload, stage = scenario.hardware.offload, STAGES[scenario.hardware.sharding.strategy]
    return {
        "zero_stage": stage,
        "gradient_accumulation_steps": scenario.training.gradient_accumulation,
        "offload_optimizer_device": "cpu" if offload.optimizer else "none",
        "offload_param_device": "cpu" if offload.parameters and stage == 3 else "none",
        "zero3_init_flag": stage == 3,
    }
