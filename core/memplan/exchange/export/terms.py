"""The plan's words as trainers on transformers write them: names of optimizers and dtypes, flags, shards."""

from __future__ import annotations

from typing import Any

from memplan.architecture.expert_parts import Experts
from memplan.chosen_model import chosen_model
from memplan.errors import MemplanError
from memplan.exchange.precision import DEEPSPEED, FSDP
from memplan.exchange.trainer_terms import OPTIMIZERS
from memplan.memory.setup import names_of_experts
from memplan.plan.scenario import Scenario

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
ATTENTION = {"flash": "flash_attention_2", "sdpa": "sdpa", "eager": "eager"}
STAGES = {"none": 0, "ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3}

NOT_TRANSFORMERS = (
    *("adamw_hf", "lion", "lion_pytorch", "muon", "paged_adamw"),
    *("ao_adamw_4bit", "ao_adamw_8bit", "ao_adamw_fp8"),
)
"""Names of OPTIMIZERS that transformers 5.24 does not take: gone, or of other trainers."""


def model_name(scenario: Scenario) -> str:
    """What a trainer's file calls the model: its id, or the name that the plan gives it."""
    model = scenario.model
    return model.catalog or model.name or "MODEL"


def optimizer_name(scenario: Scenario) -> str:
    """transformers' name of the optimizer that comes closest.

    >>> from memplan.plan.scenario import Scenario
    >>> optimizer_name(Scenario.model_validate({"model": {"parameters": 1}}))
    'adamw_torch'
    """
    training = scenario.training
    wanted = (training.optimizer, training.optimizer_impl)
    known = {name: meant for name, meant in OPTIMIZERS.items() if name not in NOT_TRANSFORMERS}
    for name, meant in known.items():
        if meant == wanted:
            return name
    same = (name for name, (optimizer, _) in known.items() if optimizer == training.optimizer)
    nearest = {"sgd_momentum": "sgd", "adamw_fp8": "adamw_torch_8bit"}
    return next(same, nearest.get(training.optimizer, "adamw_torch"))


def mixed_precision(scenario: Scenario) -> str:
    """What the launcher or the Trainer is told: bf16, fp16 or no. What follows from it is each trainer's own."""
    training, sharding = scenario.training, scenario.hardware.sharding
    if sharding.strategy in DEEPSPEED:
        return training.weights_dtype if training.master_weights and training.weights_dtype != "fp32" else "no"
    if sharding.strategy in FSDP:
        if not sharding.mixed_precision:
            return "no"
        return training.autocast if training.autocast != "none" else "bf16"
    return training.autocast if training.autocast != "none" else "no"


def precision_flags(scenario: Scenario) -> dict[str, Any]:
    """The Trainer's two switches."""
    mixed = mixed_precision(scenario)
    return {"bf16": mixed == "bf16", "fp16": mixed == "fp16"}


def packing(scenario: Scenario) -> str | None:
    """How the base is packed; None where it is not."""
    training = scenario.training
    return training.quantization.format if training.method == "qlora" else None


def checked(scenario: Scenario) -> Scenario:
    """The scenario, where there is training to configure.

    Raises:
        MemplanError: it trains nothing.
    """
    if scenario.training.method == "inference":
        raise MemplanError("trains nothing, so there is no recipe to write.", place="training.method")
    return scenario


def adapted(scenario: Scenario) -> bool:
    """Whether adapters train."""
    return scenario.training.method in ("lora", "qlora")


def targets(scenario: Scenario) -> str | list[str]:
    """An adapter's targets as PEFT takes them."""
    chosen = scenario.training.lora.targets
    return "all-linear" if isinstance(chosen, str) else list(chosen)


def adapter_layers(scenario: Scenario) -> dict[str, list[int]]:
    """PEFT's key for the layers that get adapters, numbered from 0; nothing where all do, or how many is a guess."""
    last = scenario.training.lora.last_layers
    if last is None or scenario.model.parameters is not None:
        return {}
    count = chosen_model(scenario.model).architecture.num_layers
    return {"layers_to_transform": list(range(max(0, count - last), count))}


def targets_beside_layers(scenario: Scenario) -> str | list[str]:
    """An adapter's targets where some layers alone get adapters: PEFT takes numbers of layers only beside names.

    They are those of the layers' linear modules, and of experts that are none.
    """
    lora = scenario.training.lora
    if not adapter_layers(scenario) or not isinstance(lora.targets, str):
        return targets(scenario)
    found: dict[str, None] = {}
    for layer in chosen_model(scenario.model).architecture.kinds:
        found |= dict.fromkeys(name for one in layer.linears() for name, _ in one.parts or ((one.name, 1),))
        if isinstance(layer.mlp, Experts):
            found |= dict.fromkeys(names_of_experts(layer.mlp))
    return [*found, *(["lm_head"] if lora.targets == "all-linear+lm_head" else [])]


def fsdp_config(scenario: Scenario, prefix: str = "") -> dict[str, Any]:
    """FSDP's section; version 1 says by a word what version 2 says by a switch."""
    sharding, offload = scenario.hardware.sharding, scenario.hardware.offload
    freed = sharding.reshard_after_forward
    says: dict[str, Any] = {f"{prefix}version": 2, f"{prefix}reshard_after_forward": freed}
    if sharding.strategy == "fsdp1":
        # accelerate 1.15 reads a strategy of version 1 from this key alone.
        word = "FULL_SHARD" if freed else "SHARD_GRAD_OP"
        says = {f"{prefix}version": 1, f"{prefix}sharding_strategy": word}
    return {
        **says,
        f"{prefix}auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        f"{prefix}offload_params": offload.parameters,
    }


def deepspeed_file(scenario: Scenario) -> str | None:
    """A name for DeepSpeed's own file that says what is in it; None where it does not run."""
    strategy, offload = scenario.hardware.sharding.strategy, scenario.hardware.offload
    if strategy not in DEEPSPEED:
        return None
    ending = ""
    if offload.optimizer and offload.parameters:
        ending = "_offload"
    elif offload.optimizer:
        ending = "_offload_optimizer"
    elif offload.parameters:
        ending = "_offload_param"
    return f"{strategy}{ending}.json"
