"""A program that trains: transformers' Trainer, PEFT's adapters and bitsandbytes' packing, with the plan's numbers."""

from __future__ import annotations

import json
from typing import Any

from memplan.exchange.export.launchers import deepspeed
from memplan.exchange.export.placeholders import with_marks
from memplan.exchange.export.terms import (
    ATTENTION,
    DTYPES,
    adapted,
    adapter_layers,
    checked,
    fsdp_config,
    model_name,
    optimizer_name,
    packing,
    precision_flags,
    targets_beside_layers,
)
from memplan.exchange.precision import DEEPSPEED, FSDP
from memplan.plan.scenario import Scenario


def arguments(scenario: Scenario) -> dict[str, Any]:
    """What TrainingArguments takes."""
    training, hardware = checked(scenario).training, scenario.hardware
    content: dict[str, Any] = {"output_dir": "out"}
    content["per_device_train_batch_size"] = training.micro_batch
    content["gradient_accumulation_steps"] = training.gradient_accumulation
    content["gradient_checkpointing"] = training.checkpointing != "none"
    content |= precision_flags(scenario)
    content["optim"] = optimizer_name(scenario)
    if training.optimizer in ("galore", "apollo"):
        content["optim_target_modules"] = "all-linear"
    content |= {"learning_rate": 2e-5, "num_train_epochs": 1, "logging_steps": 10}
    if training.kernels == "liger":
        content["use_liger_kernel"] = True
    if hardware.sharding.strategy in FSDP:
        word = "full_shard" if hardware.sharding.reshard_after_forward else "shard_grad_op"
        content["fsdp"] = f"{word} auto_wrap{' offload' if hardware.offload.parameters else ''}"
        content["fsdp_config"] = fsdp_config(scenario)
    elif hardware.sharding.strategy in DEEPSPEED:
        content["deepspeed"] = deepspeed(scenario)
    return content


def adapter(scenario: Scenario) -> dict[str, Any] | None:
    """What LoraConfig takes; None where no adapter trains."""
    if not adapted(scenario):
        return None
    lora = scenario.training.lora
    content: dict[str, Any] = {"r": lora.rank, "lora_alpha": 2 * lora.rank, "lora_dropout": lora.dropout}
    content["target_modules"] = targets_beside_layers(scenario)
    content |= adapter_layers(scenario)
    content["task_type"] = "CAUSAL_LM"
    if lora.modules_to_save:
        content["modules_to_save"] = list(lora.modules_to_save)
    return content


def quantization(scenario: Scenario) -> dict[str, Any] | None:
    """What BitsAndBytesConfig takes; None where bitsandbytes packs nothing."""
    packed, training = packing(scenario), scenario.training
    if packed == "int8":
        return {"load_in_8bit": True}
    if packed not in ("nf4", "fp4"):
        return None
    return {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": packed,
        "bnb_4bit_use_double_quant": training.quantization.double_quant,
        "bnb_4bit_compute_dtype": DTYPES[training.weights_dtype if training.weights_dtype != "fp32" else "bf16"],
    }


def script(scenario: Scenario, comment: str) -> str:
    """The program; `comment` stands at its top, each line behind a number sign."""
    packed, lora = quantization(scenario), adapter(scenario)
    training = scenario.training
    load = [f"    dtype=torch.{DTYPES[training.weights_dtype]},"]
    load.append(f'    attn_implementation="{ATTENTION[training.attention]}",')
    if packed:
        load.append(f"    quantization_config={_call('BitsAndBytesConfig', packed, 4)},")
    names = ["AutoModelForCausalLM", "AutoTokenizer", *(["BitsAndBytesConfig"] if packed else [])]
    names += ["DataCollatorForLanguageModeling", "Trainer", "TrainingArguments"]
    lines = [comment + "\n", "import torch", "from datasets import load_dataset"]
    if lora:
        calls = ["LoraConfig", "get_peft_model", *(["prepare_model_for_kbit_training"] if _prepares(scenario) else [])]
        lines.append(f"from peft import {', '.join(calls)}")
    lines += [f"from transformers import {', '.join(names)}\n", f"MODEL = {json.dumps(model_name(scenario))}"]
    lines.append(f"SEQUENCE_LENGTH = {training.sequence_length}\n")
    lines.append(f"arguments = {_call('TrainingArguments', arguments(scenario))}")
    lines.append("tokenizer = AutoTokenizer.from_pretrained(MODEL)")
    lines += ["model = AutoModelForCausalLM.from_pretrained(", "    MODEL,", *load, ")"]
    lines += [*_preparation(scenario, lora), _DATA]
    return "\n".join(lines)


def _prepares(scenario: Scenario) -> bool:
    return scenario.training.method == "qlora" and scenario.training.quantization.fp32_unquantized


def _preparation(scenario: Scenario, lora: dict[str, Any] | None) -> list[str]:
    lines = []
    if lora:
        kept = scenario.training.checkpointing != "none"
        if _prepares(scenario):  # it turns checkpoints on unless it is told not to
            told = "" if kept else ", use_gradient_checkpointing=False"
            lines.append(f"model = prepare_model_for_kbit_training(model{told})")
        follows = scenario.training.lora.adapter_dtype != "fp32"
        cast = ", autocast_adapter_dtype=False" if follows else ""
        lines.append(f"adapter = {_call('LoraConfig', lora)}")
        lines.append(f"model = get_peft_model(model, adapter{cast})")
        if kept:
            lines.append("model.enable_input_require_grads()")
    if scenario.training.method == "freeze":
        freeze = scenario.training.freeze
        lines.append("model.requires_grad_(False)")
        lines.append("layers = next(part for part in model.modules() if isinstance(part, torch.nn.ModuleList))")
        lines.append(f"for layer in list(layers)[max(0, len(layers) - {freeze.trainable_layers}) :]:")
        lines.append("    layer.requires_grad_(True)")
        if freeze.head:
            lines.append("model.get_output_embeddings().requires_grad_(True)")
        if freeze.embeddings:
            lines.append("model.get_input_embeddings().requires_grad_(True)")
    return lines


def _call(name: str, content: dict[str, Any], indent: int = 0) -> str:
    """A call, one argument a line."""
    space = " " * indent
    inner = "".join(f"{space}    {key}={_literal(value)},\n" for key, value in content.items())
    return f"{name}(\n{with_marks(inner, 'python')}{space})"


def _literal(value: Any) -> str:
    """A value as Python writes it, texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)


_DATA = """tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token


def encoded(row):
    # Rows are as long as the plan has them: cut, and padded to the full length.
    return tokenizer(row["text"], truncation=True, padding="max_length", max_length=SEQUENCE_LENGTH)


# yours: your data. train.jsonl: one {"text": "..."} a line.
data = load_dataset("json", data_files="train.jsonl", split="train")
data = data.map(encoded, remove_columns=data.column_names)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
Trainer(model=model, args=arguments, train_dataset=data, data_collator=collator).train()
"""
