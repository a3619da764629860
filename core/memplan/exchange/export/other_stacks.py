"""Recipes of torchtune and MLX-LM, which have modules of their own."""

from __future__ import annotations

from typing import Any

from memplan.errors import MemplanError
from memplan.exchange.export.terms import adapted, checked, model_name
from memplan.exchange.torchtune import MLP_TARGETS, TARGETS, component_of
from memplan.plan.scenario import Scenario

_TORCHTUNE_OPTIMIZERS = {
    "adamw": "torch.optim.AdamW",
    "sgd": "torch.optim.SGD",
    "sgd_momentum": "torch.optim.SGD",
    "adagrad": "torch.optim.Adagrad",
    "rmsprop": "torch.optim.RMSprop",
    "adafactor": "torch.optim.Adafactor",
    "adamw_8bit": "bitsandbytes.optim.AdamW8bit",
    "paged_adamw_8bit": "bitsandbytes.optim.PagedAdamW8bit",
    "paged_adamw_32bit": "bitsandbytes.optim.PagedAdamW",
    "adamw_4bit": "torchao.optim.AdamW4bit",
    "lion": "bitsandbytes.optim.Lion",
    "lion_8bit": "bitsandbytes.optim.Lion8bit",
    "muon": "torch.optim.Muon",
    "adamw_fp8": "torchao.optim.AdamWFp8",
    "ademamix": "bitsandbytes.optim.AdEMAMix",
    "ademamix_8bit": "bitsandbytes.optim.AdEMAMix8bit",
    "schedule_free_adamw": "schedulefree.AdamWScheduleFree",
}


def torchtune(scenario: Scenario) -> dict[str, Any]:
    """torchtune's configuration; paths of the checkpoint and the tokenizer are for the person to name.

    Raises:
        MemplanError: torchtune has no builder of this model.
    """
    training = checked(scenario).training
    component = component_of(scenario.model.catalog or "")
    if component is None:
        remedy = "Choose a model of the catalog that torchtune builds, such as meta-llama/Llama-3.1-8B."
        raise MemplanError(f"torchtune has no builder of {model_name(scenario)}.", place="model", remedy=remedy)
    family, builder = component
    folder = f"/tmp/{builder}"
    content: dict[str, Any] = {"output_dir": f"{folder}/out", "model": _torchtune_model(scenario, family, builder)}
    content["tokenizer"] = {**_tokenizer(family, folder), "max_seq_len": training.sequence_length}
    content["checkpointer"] = {
        "_component_": "torchtune.training.FullModelHFCheckpointer",
        "checkpoint_dir": folder,
        "checkpoint_files": [],
        "output_dir": "${output_dir}",
        "model_type": _MODEL_TYPES.get(family, family.upper()),
    }
    content["resume_from_checkpoint"] = False
    content["dataset"] = {"_component_": "torchtune.datasets.alpaca_dataset", "packed": True}
    content |= {"seed": None, "shuffle": True, "batch_size": training.micro_batch}
    content["gradient_accumulation_steps"] = training.gradient_accumulation
    content["optimizer"] = _torchtune_optimizer(scenario, family)
    if adapted(scenario):
        schedule = "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup"
        content["lr_scheduler"] = {"_component_": schedule, "num_warmup_steps": 100}
    else:
        # The recipe refuses it where gradients add up.
        content["optimizer_in_bwd"] = training.optimizer_in_backward and training.gradient_accumulation == 1
    content["loss"] = {"_component_": _TORCHTUNE_LOSSES[training.loss]}
    content |= {"epochs": 1, "max_steps_per_epoch": None, "compile": False, "device": "cuda"}
    content["dtype"] = "fp32" if training.weights_dtype == "fp32" else "bf16"
    return content | _torchtune_memory(scenario, family) | _torchtune_rest(folder)


_TORCHTUNE_LOSSES = {
    "plain": "torch.nn.CrossEntropyLoss",
    "chunked": "torchtune.modules.loss.CEWithChunkedOutputLoss",
    "fused": "torchtune.modules.loss.CEWithChunkedOutputLoss",
}


def _torchtune_memory(scenario: Scenario, family: str) -> dict[str, Any]:
    """What is recomputed, moved to the host and divided; only whole Llamas have a plan that divides matrices."""
    training, hardware = scenario.training, scenario.hardware
    kept = training.checkpointing != "none"
    content: dict[str, Any] = {"enable_activation_checkpointing": kept}
    content["enable_activation_offloading"] = kept and (
        training.checkpointing == "offload" or hardware.offload.activations
    )
    content["fsdp_cpu_offload"] = hardware.offload.parameters
    content["fsdp_reshard_after_forward"] = hardware.sharding.reshard_after_forward
    if _divides_matrices(scenario, family):
        content["tensor_parallel_dim"] = hardware.tensor_parallel
        content["tensor_parallel_plan"] = {"_component_": "torchtune.models.llama3.base_llama_tp_plan"}
    return content


def _divides_matrices(scenario: Scenario, family: str) -> bool:
    return scenario.hardware.tensor_parallel > 1 and not adapted(scenario) and family.startswith("llama3")


def _torchtune_rest(folder: str) -> dict[str, Any]:
    """What recipes ask for without a default."""
    log = {"_component_": "torchtune.training.metric_logging.DiskLogger", "log_dir": f"{folder}/out/logs"}
    return {"metric_logger": log, "log_every_n_steps": 1}


def _torchtune_model(scenario: Scenario, family: str, builder: str) -> dict[str, Any]:
    training = scenario.training
    if not adapted(scenario):
        return {"_component_": f"torchtune.models.{family}.{builder}"}
    lora = training.lora
    named = lora.targets
    names = {theirs: own for own, theirs in TARGETS.items()}
    attention = list(TARGETS) if isinstance(named, str) else [names[name] for name in named if name in names]
    mlp = isinstance(named, str) or any(name in MLP_TARGETS for name in named)
    content: dict[str, Any] = {"_component_": f"torchtune.models.{family}.lora_{builder}"}
    content["lora_attn_modules"] = attention
    content["apply_lora_to_mlp"] = mlp
    if not builder.startswith(_TIED_HEADS):
        content["apply_lora_to_output"] = "lm_head" in named  # in a list of names, or in all-linear+lm_head
    content |= {"lora_rank": lora.rank, "lora_alpha": 2 * lora.rank, "lora_dropout": lora.dropout}
    return {**content, "quantize_base": True} if training.method == "qlora" else content


_TIED_HEADS = ("gemma", "qwen2_0_5b", "qwen2_1_5b")
"""Builders that take no adapter of the head."""


_MODEL_TYPES = {
    **dict.fromkeys(("llama3", "llama3_1", "llama3_3"), "LLAMA3"),
    **dict.fromkeys(("qwen2", "qwen2_5"), "QWEN2"),
    "llama3_2_vision": "LLAMA3_VISION",
    "code_llama2": "LLAMA2",
    "phi3": "PHI3_MINI",
}
"""torchtune's ModelType, where it is not the module's name in capitals."""


def _tokenizer(family: str, folder: str) -> dict[str, Any]:
    """The tokenizer's component and its files, which have other names where it is a table of merges."""
    if family in ("llama2", "code_llama2"):
        name = "llama2.llama2_tokenizer"
    elif family.startswith("llama3"):
        name = "llama3.llama3_tokenizer"
    else:
        base = {"gemma2": "gemma"}.get(family, family)
        name = "phi3.phi3_mini_tokenizer" if base == "phi3" else f"{base}.{base}_tokenizer"
    vocabulary, merges = f"{folder}/vocab.json", f"{folder}/merges.txt"
    files = {"path": f"{folder}/tokenizer.model"}
    if family.startswith("qwen"):
        files = {"path": vocabulary, "merges_file": merges}
    elif family == "phi4":
        files = {"vocab_path": vocabulary, "merges_path": merges}
    return {"_component_": f"torchtune.models.{name}", **files}


def _torchtune_optimizer(scenario: Scenario, family: str) -> dict[str, Any]:
    training = scenario.training
    content: dict[str, Any] = {"_component_": _TORCHTUNE_OPTIMIZERS.get(training.optimizer, "torch.optim.AdamW")}
    content["lr"] = 2e-5
    if training.optimizer == "sgd_momentum":
        content["momentum"] = 0.9
    if training.optimizer_impl == "fused" and not _divides_matrices(scenario, family):
        content["fused"] = True
    return content


_MLX_OPTIMIZERS = {"adamw": "adamw", "adafactor": "adafactor", "sgd": "sgd", "muon": "muon"}
_MLX_KEYS = {
    **{name: f"self_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "o_proj")},
    **{name: f"mlp.{name}" for name in MLP_TARGETS},
}


def mlx(scenario: Scenario) -> dict[str, Any]:
    """MLX-LM's configuration (mlx_lm.lora --config); the data's folder is for the person to name."""
    training = checked(scenario).training
    content: dict[str, Any] = {"model": model_name(scenario), "train": True, "data": "./data"}
    content["fine_tune_type"] = "lora" if adapted(scenario) else "full"
    last = training.lora.last_layers if adapted(scenario) else None
    content["num_layers"] = training.freeze.trainable_layers if training.method == "freeze" else last or -1
    content["optimizer"] = _MLX_OPTIMIZERS.get(training.optimizer, "adamw")
    content |= {"iters": 1000, "learning_rate": 1e-5, "batch_size": training.micro_batch}
    content["grad_accumulation_steps"] = training.gradient_accumulation
    content["max_seq_length"] = training.sequence_length
    content["grad_checkpoint"] = training.checkpointing == "full"
    if adapted(scenario):
        lora = training.lora
        block: dict[str, Any] = {"rank": lora.rank, "scale": 20.0, "dropout": lora.dropout}
        if not isinstance(lora.targets, str):
            block["keys"] = [_MLX_KEYS.get(name, name) for name in lora.targets]
        content["lora_parameters"] = block
    return content
