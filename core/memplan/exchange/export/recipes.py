"""Recipes of axolotl and LLaMA-Factory, which run transformers' Trainer."""

from __future__ import annotations

from typing import Any

from memplan.exchange.export.terms import (
    ATTENTION,
    adapted,
    adapter_layers,
    checked,
    deepspeed_file,
    fsdp_config,
    mixed_precision,
    model_name,
    optimizer_name,
    packing,
    precision_flags,
    targets,
)
from memplan.exchange.precision import DEEPSPEED, FSDP
from memplan.plan.scenario import Scenario


def axolotl(scenario: Scenario) -> dict[str, Any]:
    """axolotl's recipe; the data set is for the person to name."""
    training, hardware = checked(scenario).training, scenario.hardware
    content: dict[str, Any] = {"base_model": model_name(scenario), **_axolotl_adapter(scenario)}
    content["datasets"] = [{"path": "train.jsonl", "type": "alpaca"}]
    content["output_dir"] = "./outputs"
    content["sequence_len"] = training.sequence_length
    ring = hardware.context_parallel > 1
    # A sequence that is divided goes by flash attention, packed in one row at a time.
    content["sample_packing"] = not ring or training.micro_batch == 1
    content["pad_to_sequence_len"] = True
    content["micro_batch_size"] = training.micro_batch
    content["gradient_accumulation_steps"] = training.gradient_accumulation
    content["optimizer"] = _axolotl_optimizer(scenario)
    if training.optimizer in ("galore", "apollo"):
        content["optim_target_modules"] = "all_linear"
    content |= {"learning_rate": 0.0002, "num_epochs": 1}
    content |= _axolotl_precision(scenario)
    kept = training.checkpointing
    content["gradient_checkpointing"] = "offload" if kept == "offload" else kept != "none"
    content["attn_implementation"] = ATTENTION["flash" if ring else training.attention]
    content |= _axolotl_loss(scenario)
    if hardware.offload.activations:
        content["activation_offloading"] = True
    if hardware.sharding.strategy in FSDP:
        section = fsdp_config(scenario)
        section.pop("sharding_strategy", None)  # its FSDP1 frees every unit
        content["fsdp_version"] = section.pop("version")
        content["fsdp_config"] = section
    if file := deepspeed_file(scenario):
        content["deepspeed"] = file
    for name in ("context_parallel", "tensor_parallel", "expert_parallel"):
        if (size := getattr(hardware, name)) > 1:
            content[f"{name}_size"] = size
    return content


def _axolotl_optimizer(scenario: Scenario) -> str:
    """Muon and torchao's AdamW in fp8 are its own; under FSDP2 torchao's 8-bit AdamW runs, not bitsandbytes'."""
    if scenario.training.optimizer == "muon":
        return "muon"
    if scenario.training.optimizer == "adamw_fp8":
        return "ao_adamw_fp8"
    if scenario.training.optimizer == "adamw_8bit" and scenario.hardware.sharding.strategy == "fsdp2":
        return "adamw_torch_8bit"
    return optimizer_name(scenario)


def _axolotl_adapter(scenario: Scenario) -> dict[str, Any]:
    lora, packed = scenario.training.lora, packing(scenario)
    if not adapted(scenario):
        return {}
    content: dict[str, Any] = {"adapter": "qlora" if packed in ("nf4", "fp4") else "lora"}
    if packed in ("nf4", "fp4"):
        content["load_in_4bit"] = True
        kwargs: dict[str, Any] = {}
        if packed == "fp4":
            kwargs["bnb_4bit_quant_type"] = "fp4"
        if not scenario.training.quantization.double_quant:
            kwargs["bnb_4bit_use_double_quant"] = False
        if kwargs:
            content["bnb_config_kwargs"] = kwargs
    elif packed == "int8":
        content["load_in_8bit"] = True
    content |= {"lora_r": lora.rank, "lora_alpha": 2 * lora.rank, "lora_dropout": lora.dropout}
    if isinstance(lora.targets, str):
        content["lora_target_linear"] = True
    else:
        content["lora_target_modules"] = list(lora.targets)
    content |= {f"peft_{name}": numbers for name, numbers in adapter_layers(scenario).items()}
    if lora.modules_to_save:
        content["lora_modules_to_save"] = list(lora.modules_to_save)
    if lora.adapter_dtype != "fp32" and lora.adapter_dtype == scenario.training.weights_dtype:
        content["peft_autocast_adapter_dtype"] = False
    return content


def _axolotl_precision(scenario: Scenario) -> dict[str, Any]:
    mixed, weights = mixed_precision(scenario), scenario.training.weights_dtype
    if mixed == "no" and weights != "fp32":
        return {"bf16": False, {"bf16": "bfloat16", "fp16": "float16"}[weights]: True}
    return precision_flags(scenario)


def _axolotl_loss(scenario: Scenario) -> dict[str, Any]:
    training = scenario.training
    content: dict[str, Any] = {}
    plugins = []
    if training.kernels == "liger":
        plugins.append("axolotl.integrations.liger.LigerPlugin")
        # It refuses its own loss beside divided matrices.
        if training.loss == "fused" and scenario.hardware.tensor_parallel == 1:
            content["liger_fused_linear_cross_entropy"] = True
    elif training.loss == "fused":
        plugins.append("axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin")
    if training.loss == "chunked":
        content["chunked_cross_entropy"] = True
    return {"plugins": plugins, **content} if plugins else content


def llama_factory(scenario: Scenario) -> dict[str, Any]:
    """LLaMA-Factory's arguments; the data set and the chat template are for the person to name."""
    training, hardware = checked(scenario).training, scenario.hardware
    content: dict[str, Any] = {"model_name_or_path": model_name(scenario), "stage": "sft", "do_train": True}
    content |= _llama_factory_method(scenario)
    content |= {"dataset": "alpaca_en_demo", "template": "default", "output_dir": "./outputs"}
    content |= {"cutoff_len": training.sequence_length, "packing": True}
    content["per_device_train_batch_size"] = training.micro_batch
    content["gradient_accumulation_steps"] = training.gradient_accumulation
    content |= {"learning_rate": 0.0001, "num_train_epochs": 1.0}
    if training.optimizer in ("galore", "muon", "apollo"):
        content[f"use_{training.optimizer}"] = True
    else:
        content["optim"] = optimizer_name(scenario)
    content |= _llama_factory_precision(scenario)
    content["disable_gradient_checkpointing"] = training.checkpointing == "none"
    if training.checkpointing == "offload":
        content["use_unsloth_gc"] = True
    content["flash_attn"] = {"flash": "fa2", "sdpa": "sdpa", "eager": "disabled"}[training.attention]
    if training.kernels == "liger":
        content["enable_liger_kernel"] = True
    if training.kernels == "unsloth":
        content["use_unsloth"] = True
    if file := deepspeed_file(scenario):
        content["deepspeed"] = file
    if hardware.sharding.strategy in FSDP:
        word = "full_shard" if hardware.sharding.reshard_after_forward else "shard_grad_op"
        content["fsdp"] = f"{word} auto_wrap{' offload' if hardware.offload.parameters else ''}"
        content["fsdp_config"] = fsdp_config(scenario)
    return content


def _llama_factory_method(scenario: Scenario) -> dict[str, Any]:
    training, packed = scenario.training, packing(scenario)
    if training.method == "freeze":
        freeze = training.freeze
        extra = [name for name, on in (("embed_tokens", freeze.embeddings), ("lm_head", freeze.head)) if on]
        content: dict[str, Any] = {"finetuning_type": "freeze", "freeze_trainable_layers": freeze.trainable_layers}
        return {**content, "freeze_extra_modules": ",".join(extra)} if extra else content
    if not adapted(scenario):
        return {"finetuning_type": "full"}
    lora, chosen = training.lora, targets(scenario)
    content = {"finetuning_type": "lora", "lora_rank": lora.rank, "lora_alpha": 2 * lora.rank}
    content["lora_dropout"] = lora.dropout
    content["lora_target"] = "all" if isinstance(chosen, str) else ",".join(chosen)
    if lora.modules_to_save:
        content["additional_target"] = ",".join(lora.modules_to_save)
    if packed in ("nf4", "fp4"):
        content |= {"quantization_bit": 4, "quantization_type": packed}
        content["double_quantization"] = training.quantization.double_quant
    elif packed == "int8":
        content["quantization_bit"] = 8
    return content


def _llama_factory_precision(scenario: Scenario) -> dict[str, Any]:
    mixed, weights = mixed_precision(scenario), scenario.training.weights_dtype
    if mixed == "no" and weights == "bf16" and scenario.hardware.sharding.strategy not in DEEPSPEED:
        return {"pure_bf16": True}
    return precision_flags(scenario)
