"""torchtune's YAML. The model is a component's name, everything is held in one dtype, length may be the longest row's.

Meanings: torchtune 0.6.1, recipes and recipes/configs.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memplan.errors import MemplanError
from memplan.exchange.documents import Document
from memplan.exchange.model_settling import dtype_word
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys

_MODELS = {
    "llama2_7b": "meta-llama/Llama-2-7b-hf",
    "llama2_13b": "meta-llama/Llama-2-13b-hf",
    "llama2_70b": "meta-llama/Llama-2-70b-hf",
    "code_llama2_7b": "codellama/CodeLlama-7b-hf",
    "code_llama2_13b": "codellama/CodeLlama-13b-hf",
    "code_llama2_70b": "codellama/CodeLlama-70b-hf",
    "llama3_8b": "meta-llama/Meta-Llama-3-8B",
    "llama3_70b": "meta-llama/Meta-Llama-3-70B",
    "llama3_1_8b": "meta-llama/Llama-3.1-8B",
    "llama3_1_70b": "meta-llama/Llama-3.1-70B",
    "llama3_1_405b": "meta-llama/Llama-3.1-405B",
    "llama3_2_1b": "meta-llama/Llama-3.2-1B",
    "llama3_2_3b": "meta-llama/Llama-3.2-3B",
    "llama3_3_70b": "meta-llama/Llama-3.3-70B-Instruct",
    "llama3_2_vision_11b": "meta-llama/Llama-3.2-11B-Vision",
    "mistral_7b": "mistralai/Mistral-7B-v0.1",
    "gemma_2b": "google/gemma-2b",
    "gemma_7b": "google/gemma-7b",
    "gemma2_2b": "google/gemma-2-2b",
    "gemma2_9b": "google/gemma-2-9b",
    "gemma2_27b": "google/gemma-2-27b",
    "phi3_mini": "microsoft/Phi-3-mini-4k-instruct",
    "phi4_14b": "microsoft/phi-4",
    "qwen2_0_5b": "Qwen/Qwen2-0.5B",
    "qwen2_1_5b": "Qwen/Qwen2-1.5B",
    "qwen2_7b": "Qwen/Qwen2-7B",
    "qwen2_5_0_5b": "Qwen/Qwen2.5-0.5B",
    "qwen2_5_1_5b": "Qwen/Qwen2.5-1.5B",
    "qwen2_5_3b": "Qwen/Qwen2.5-3B",
    "qwen2_5_7b": "Qwen/Qwen2.5-7B",
    "qwen2_5_14b": "Qwen/Qwen2.5-14B",
    "qwen2_5_32b": "Qwen/Qwen2.5-32B",
    "qwen2_5_72b": "Qwen/Qwen2.5-72B",
    "qwen3_0_6b": "Qwen/Qwen3-0.6B",
    "qwen3_1_7b": "Qwen/Qwen3-1.7B",
    "qwen3_4b": "Qwen/Qwen3-4B",
    "qwen3_8b": "Qwen/Qwen3-8B",
    "qwen3_14b": "Qwen/Qwen3-14B",
    "qwen3_32b": "Qwen/Qwen3-32B",
}
"""The catalog's model for the builders in torchtune.models."""

TARGETS = {
    "q_proj": "q_proj", "k_proj": "k_proj", "v_proj": "v_proj", "output_proj": "o_proj",
}  # fmt: skip
"""torchtune's names of attention's matrices, and transformers'."""
MLP_TARGETS = ("gate_proj", "up_proj", "down_proj")


def recognises(document: Document) -> bool:
    """Whether a component builds the model."""
    model = document.content.get("model")
    return isinstance(model, dict) and isinstance(model.get("_component_"), str)


_FAMILIES = (
    *("llama3_2_vision", "code_llama2", "llama2", "llama3_1", "llama3_2", "llama3_3", "llama3", "mistral"),
    *("gemma2", "gemma", "phi3", "phi4", "qwen2_5", "qwen2"),
)
"""The modules of torchtune.models, 0.6.1; a builder's name starts with its module's."""
_UNRELEASED = ("qwen3",)
"""Read, but not written: no release up to 0.6.1 has them."""
_INSTRUCTED = ("qwen2_5_1_5b", "qwen2_5_7b", "qwen2_5_14b", "qwen2_5_32b", "qwen2_5_72b")
"""Builders that torchtune has as _base and _instruct alone."""


def torchtune_models() -> tuple[str, ...]:
    """The catalog's models that a release of torchtune builds."""
    return tuple(dict.fromkeys(known for name, known in _MODELS.items() if not name.startswith(_UNRELEASED)))


def component_of(catalog_id: str) -> tuple[str, str] | None:
    """The module and the builder of a catalog's model; None where torchtune has none.

    >>> component_of("meta-llama/Llama-3.1-8B")
    ('llama3_1', 'llama3_1_8b')
    """
    name = next((name for name, known in _MODELS.items() if known == catalog_id), None)
    if name is None or name.startswith(_UNRELEASED):
        return None
    family = next(family for family in _FAMILIES if name.startswith(family))
    return family, f"{name}_instruct" if name in _INSTRUCTED else name


def read(keys: Keys, document: Document) -> None:
    """Read a recipe's configuration."""
    reading = keys.reading
    reading.state("given.trainer", Stated("torchtune", document.file, ""))
    _read_model(keys)
    _read_precision(keys)
    tokenizer, data = keys.section("tokenizer"), keys.section("dataset")
    length = _resolved(keys, tokenizer.any("max_seq_len"))
    packed = data.switch("packed")
    if length is not None:
        number = tokenizer.whole("max_seq_len") if length.value == tokenizer.content["max_seq_len"] else length
        reading.state("training.sequence_length", number)
        if not (packed and packed.value):
            reading.assume("tokenizer.max_seq_len", "rows are not packed: the longest row counts, others take less")
    loss, batch = keys.section("loss"), keys.whole("batch_size")
    rows = 2 if "DPO" in str(loss.content.get("_component_", "")) else 1
    reading.state("training.micro_batch", replace(batch, value=batch.value * rows) if batch else None)
    if batch is not None and rows > 1:
        reading.assume(batch.key, "rows are pairs, chosen and rejected: two sequences each")
    reading.state("training.gradient_accumulation", keys.whole("gradient_accumulation_steps"))
    reading.default("training.gradient_accumulation", 1, "torchtune's default")
    _read_checkpointing(keys)
    if (compiled := keys.switch("compile")) and compiled.value:
        reading.leave_out(compiled, "compiled kernels keep less; eager ones are counted")
    _read_optimizer(keys)
    _read_loss(keys, loss)
    for name, why in _NOT_COUNTED.items():
        reading.leave_out(keys.any(name), why)
    _read_sharding(keys, document)


_NOT_COUNTED = {
    "teacher_model": "the teacher is not counted: a second model in its dtype, and its logits",
    "quantizer": "what fake quantisation keeps is not counted",
    "policy_model": "PPO's models beside the first are not counted",
    "reward_and_value_model": "a second model is not counted",
}


def _resolved(keys: Keys, found: Stated | None) -> Stated | None:
    """A value, or what another key holds where it points there: ${batch_size}."""
    if found is None or not isinstance(found.value, str):
        return found
    pointed = re.fullmatch(r"\$\{([A-Za-z0-9_.]+)\}", found.value.strip())
    if not pointed:
        return found
    value: object = keys.content
    for part in pointed[1].split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, int):
        raise keys.refused(found, "a number, or the name of a key that holds one")
    return Stated(value, found.file, found.key)


def _read_model(keys: Keys) -> None:
    reading, model = keys.reading, keys.section("model")
    component = model.text("_component_")
    if component is None:
        raise MemplanError("names no component.", place=model.place("model._component_"))
    name = component.value.rpartition(".")[2]
    adapted = name.startswith(("lora_", "qlora_"))
    bare = re.sub(r"^(?:lora_|qlora_)|(?:_instruct|_base|_chat)$", "", name)
    bare = re.sub(r"(?:_instruct|_base|_chat)$", "", bare)
    if bare in _MODELS:
        reading.state("given.model_name", component, value=_MODELS[bare])
    else:
        reading.state("given.model_name", component, value=component.value)
    if not adapted:
        reading.state("training.method", component, value="full")
        return
    reading.state("training.method", component, value="lora")
    packed = model.switch("quantize_base")
    if name.startswith("qlora_") or (packed and packed.value):
        reading.state("given.quantized", component, value="nf4")
        reading.default("training.quantization.fp32_unquantized", False, "torchtune holds the rest in its one dtype")
        reading.default("training.quantization.double_quant", True, "torchao's NF4 packs its scales too")
    reading.state("training.lora.rank", model.whole("lora_rank"))
    reading.default("training.lora.rank", 8, "torchtune's default")
    reading.state("training.lora.dropout", model.number("lora_dropout"))
    _read_targets(model)
    for part in ("decoder_trainable", "encoder_trainable", "fusion_trainable"):
        if (trains := model.text(part)) and trains.value != "lora":
            reading.leave_out(trains, "adapters are counted on this part too")
    if (dora := model.switch("use_dora")) and dora.value:
        reading.leave_out(dora, "DoRA's magnitudes and its copies of weights are not counted; LoRA is")


def _read_targets(model: Keys) -> None:
    reading = model.reading
    attention, mlp = model.names("lora_attn_modules"), model.switch("apply_lora_to_mlp")
    head = model.switch("apply_lora_to_output")
    if attention is None:
        return
    targets = tuple(TARGETS.get(name, name) for name in attention.value)
    if mlp and mlp.value:
        targets += MLP_TARGETS
    whole, with_head = set(targets) == {*TARGETS.values(), *MLP_TARGETS}, head is not None and head.value
    names: str | tuple[str, ...] = (*targets, "lm_head") if with_head else targets
    if whole:
        names = "all-linear+lm_head" if with_head else "all-linear"
    reading.state("training.lora.targets", attention, value=names)


def _read_precision(keys: Keys) -> None:
    reading, dtype = keys.reading, keys.text("dtype")
    word = dtype_word(dtype.value) if dtype else "bf16"
    if word is None:
        raise keys.refused(dtype or Stated(None, "", "dtype"), "bf16, fp16 or fp32")
    if dtype is None:
        reading.default("training.weights_dtype", "bf16", "torchtune's default")
        reading.default("training.lora.adapter_dtype", "bf16", "torchtune holds everything in one dtype")
    else:
        reading.state("training.weights_dtype", dtype, value=word)
        reading.state("training.lora.adapter_dtype", dtype, value=word)
    reading.default("training.kernels", "torchtune", "its own modules")
    reading.default("training.attention", "sdpa", "torchtune calls PyTorch's own attention")


_OPTIMIZERS = {
    "AdamW": "adamw", "Adam": "adamw", "SGD": "sgd", "Adagrad": "adagrad", "RMSprop": "rmsprop",
    "PagedAdamW": "paged_adamw_32bit", "PagedAdamW8bit": "paged_adamw_8bit", "AdamW8bit": "adamw_8bit",
    "Adam8bit": "adamw_8bit", "AdamW4bit": "adamw_4bit", "AdamWFp8": "adamw_fp8", "Adafactor": "adafactor",
    "Lion": "lion", "Lion8bit": "lion_8bit", "Muon": "muon",
    "AdEMAMix": "ademamix", "AdEMAMix8bit": "ademamix_8bit", "AdamWScheduleFree": "schedule_free_adamw",
}  # fmt: skip


def _read_checkpointing(keys: Keys) -> None:
    """Layers' inputs alone are kept: of all, of one layer in so many, or, where two switches ask for it, of none.

    Source: torchtune 0.6, recipes/full_finetune_distributed.py (ac_mode counts where enable_activation_checkpointing is
    off, which itself counts where there is no ac_mode).
    """
    reading, kept = keys.reading, keys.switch("enable_activation_checkpointing")
    mode, option = keys.text("ac_mode"), keys.any("ac_option")
    whole = bool(kept and kept.value)
    if mode is None:
        reading.state("training.checkpointing", kept, value="full" if whole else "none")
    elif whole:
        reading.state("training.checkpointing", mode, value="none")
        reading.assume(mode.key, "with enable_activation_checkpointing as well, torchtune checkpoints nothing")
    else:
        every = str(option.value) if option and mode.value == "selective" else ""
        by_layers = mode.value == "full" or (every.isdecimal() and int(every) > 0)
        reading.state("training.checkpointing", mode, value="full" if by_layers else "selective")
        if by_layers and every:
            reading.state("training.checkpoint_every", option, value=int(every))
    host = keys.switch("enable_activation_offloading")
    if host and host.value:
        if whole and mode is None:
            reading.state("training.checkpointing", host, value="offload")
        else:
            reading.state("hardware.offload.activations", host)


def _read_optimizer(keys: Keys) -> None:
    reading, section = keys.reading, keys.section("optimizer")
    component, fused, momentum = section.text("_component_"), section.switch("fused"), section.number("momentum")
    if component is not None:
        name = component.value.rpartition(".")[2]
        if name not in _OPTIMIZERS:
            reading.leave_out(component, "no optimizer that memplan counts; AdamW is counted")
        word = _OPTIMIZERS.get(name, "adamw")
        reading.state("training.optimizer", component, value="sgd_momentum" if word == "sgd" and momentum else word)
    if fused and fused.value:
        reading.state("training.optimizer_impl", fused, value="fused")
    reading.default("training.optimizer_impl", "foreach", "PyTorch's default")
    applied = keys.switch("optimizer_in_bwd")
    if applied and applied.value:
        reading.state("training.optimizer_in_backward", applied)


def _read_loss(keys: Keys, section: Keys) -> None:
    reading = keys.reading
    component = section.text("_component_")
    section.any("num_output_chunks")
    if component is None:
        reading.default("training.loss", "plain", "no loss is named")
        return
    name = component.value.rpartition(".")[2]
    chunked = "Chunked" in name or "LinearCrossEntropy" in name
    reading.state("training.loss", component, value="chunked" if chunked else "plain")
    adapted = reading.stated.get("training.method", Stated("full", "", "")).value != "full"
    if "PPO" in name or "KL" in name or ("DPO" in name and not adapted):  # with adapters off, it is its own reference
        reading.leave_out(component, "the second model of this method is not counted")


def _read_sharding(keys: Keys, document: Document) -> None:
    reading, inner = keys.reading, keys.section("fsdp")
    offload = keys.switch("fsdp_cpu_offload") or inner.switch("cpu_offload")
    kept = keys.switch("fsdp_reshard_after_forward") or inner.switch("reshard_after_forward")
    recipe = re.search(r"_(single_device|distributed)\.py", document.text)
    if "single_device" in document.name or (recipe and recipe[1] == "single_device"):
        reading.default("hardware.devices", 1, "a recipe for a single device")
    reading.default("hardware.sharding.strategy", "fsdp2", "torchtune's distributed recipes use FSDP2")
    reading.default("hardware.sharding.mixed_precision", False, "torchtune computes in the dtype that it holds")
    reading.state("hardware.sharding.reshard_after_forward", kept)
    if offload and offload.value:
        reading.state("hardware.offload.parameters", offload)
        reading.state("hardware.offload.optimizer", offload)
    size = keys.whole("tensor_parallel_dim")
    if size and size.value > 1:
        reading.state("hardware.tensor_parallel", size)
    across = keys.whole("context_parallel_dim")
    if across and across.value > 1:
        reading.state("hardware.context_parallel", across)
