"""The dtypes in force: what weights, adapters, gradients and states are held in, which is not what a file declares.

Sources, read in the libraries: transformers 5.24 (from_pretrained loads the stored dtype), trl 1.16 (create_model loads
fp32 unless told; SFTTrainer turns adapters on a quantised base to bf16), trl 0.26 (prepare_peft_model), peft 0.21
(autocast_adapter_dtype: fp32), accelerate 1.15 (prepare_model: FSDP upcasts what trains; autocast but for DeepSpeed),
axolotl 0.19 (normalize_config: bf16 is the load dtype too), llamafactory 0.9.5 (init_adapter: what trains is upcast to
fp32), DeepSpeed (the engine casts the module and keeps fp32 masters).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memplan.exchange.generations import KBIT_UNTIL

_WRAPS = "accelerate wraps forward in autocast"
_KEEPS_LOSS = "the Trainer keeps the loss alone, and lets the logits go"
FSDP = ("fsdp1", "fsdp2")
DEEPSPEED = ("zero1", "zero2", "zero3")


@dataclass(frozen=True, slots=True)
class InForce:
    """One value that follows, and why."""

    path: str
    value: Any
    why: str


def precision_in_force(given: Mapping[str, Any], method: str, strategy: str) -> Iterator[InForce]:
    """Work out what a run of the Hugging Face family holds its tensors in.

    Args:
        given: what files say: trainer, mixed_precision, load_dtype, stored_dtype, pure, engine, adapter_dtype,
            quantized, and transformers and trl_before where a file is of an older generation.
        method: the plan's method, settled.
        strategy: the plan's sharding strategy, settled.
    """
    trainer, mixed = given.get("trainer", "transformers"), given.get("mixed_precision", "no")
    loaded, why = _loaded(given, trainer)
    adapters = method in ("lora", "qlora")
    if strategy in DEEPSPEED or given.get("engine") == "deepspeed":
        yield from _under_deepspeed(given, mixed, loaded, why, adapters=adapters)
        return
    if given.get("engine") == "megatron":
        yield from _under_megatron(mixed)
        return
    sharded = strategy in FSDP
    upcasts = mixed != "no" and (sharded or (trainer == "llama_factory" and not given.get("pure")))
    if upcasts and not adapters:
        who = "accelerate's FSDP" if sharded else "LLaMA-Factory"
        rest = "; the frozen rest is counted so too, which is rather too much" if method == "freeze" else ""
        yield InForce("training.weights_dtype", "fp32", f"{who} turns what trains to fp32 under mixed precision{rest}")
    else:
        yield InForce("training.weights_dtype", loaded, why)
    yield InForce("training.autocast", "none" if mixed == "no" else mixed, _autocast_why(mixed))
    yield InForce("training.master_weights", False, "the weights that train are the only ones")
    if sharded:
        yield InForce("hardware.sharding.mixed_precision", mixed != "no", "FSDP computes in the mixed precision")
    if trainer != "trl" and (mixed != "no" or "trainer" in given):
        yield InForce("training.trainer", "accelerate", _KEEPS_LOSS if mixed == "no" else _WRAPS)
    if trainer == "trl":
        yield from _by_trl(given, mixed, method, sharded=sharded)
    if adapters:
        dtype, reason = _adapters(given, trainer, method, loaded)
        yield InForce("training.lora.adapter_dtype", dtype, reason)


def _loaded(given: Mapping[str, Any], trainer: str) -> tuple[str, str]:
    asked, stored = given.get("load_dtype"), given.get("stored_dtype")
    if asked not in (None, "stored"):
        return str(asked), "the dtype that the file asks for"
    if asked is None and trainer == "trl":
        return "fp32", "TRL loads fp32 where no dtype is given"
    if asked is None and (version := given.get("transformers")):
        return "fp32", f"transformers {version} loads fp32 where no dtype is given"
    if stored is not None:
        since = "" if asked else "; before transformers 5 it was fp32"
        return str(stored), f"the dtype that the weights are stored in{since}"
    return "bf16", "no file says what the weights are stored in"


def _by_trl(given: Mapping[str, Any], mixed: str, method: str, *, sharded: bool) -> Iterator[InForce]:
    """TRL on one device's worth of weights; before 0.27 it prepared a quantised base, which newer ones leave alone."""
    prepares = method == "qlora" and not sharded and _is_older_trl(given)
    if prepares:
        if not _casts_to_bf16(given):
            why = "TRL before 0.27 upcasts what is not packed"
            yield InForce("training.quantization.fp32_unquantized", True, why)
        else:
            why = "TRL before 0.27 turns what is not packed to bf16, but norms to fp32"
            yield InForce("training.weights_dtype", "bf16", why)
            yield InForce("training.trainer", "trl", why)
            return
    if mixed == "no":
        yield InForce("training.trainer", "accelerate", _KEEPS_LOSS)
        return
    if method != "qlora":
        yield InForce("training.trainer", "trl", "TRL's trainers run under accelerate, which wraps forward in autocast")
        return
    since = "" if prepares or sharded else "; TRL since 0.27 leaves norms as loaded, before that they were in fp32"
    yield InForce("training.trainer", "accelerate", f"accelerate wraps forward in autocast{since}")


def _under_deepspeed(
    given: Mapping[str, Any], mixed: str, loaded: str, why: str, *, adapters: bool
) -> Iterator[InForce]:
    if cast := given.get("engine_autocast"):
        yield InForce("training.weights_dtype", loaded, why)
        yield InForce("training.master_weights", False, "under torch_autocast the weights that train are the only ones")
        yield InForce("training.autocast", cast, "DeepSpeed's torch_autocast")
        yield _loop_of(given)
        if adapters:
            yield InForce("training.lora.adapter_dtype", "fp32", "PEFT makes adapters fp32 whatever the base is")
        return
    if mixed == "no":
        yield InForce("training.weights_dtype", loaded, why)
        yield InForce("training.master_weights", False, "DeepSpeed keeps no second copy without bf16 or fp16")
    else:
        yield InForce("training.weights_dtype", mixed, "DeepSpeed casts the whole module")
        yield InForce("training.master_weights", True, "DeepSpeed keeps fp32 copies of what trains")
    yield InForce("training.autocast", "none", "DeepSpeed's engine computes in the weights' dtype")
    yield _loop_of(given)
    if adapters:
        dtype = "fp32" if mixed == "no" else mixed
        yield InForce("training.lora.adapter_dtype", dtype, "DeepSpeed casts adapters with the rest")


def _loop_of(given: Mapping[str, Any]) -> InForce:
    """Whose loop calls DeepSpeed's engine, which hands on what the model returns and keeps none of it.

    Sources: transformers 5.24, Trainer.training_step and compute_loss; DeepSpeed 0.19, engine.py (forward).
    """
    if "trainer" in given:
        return InForce("training.trainer", "accelerate", f"{_KEEPS_LOSS}; DeepSpeed's engine runs forward itself")
    return InForce("training.trainer", "none", "no trainer's file says whose loop it is, so the outputs may be held")


def _under_megatron(mixed: str) -> Iterator[InForce]:
    """Megatron-LM's dtypes. Source: training/arguments.py (params_dtype), core/optimizer/optimizer.py."""
    dtype = "fp32" if mixed == "no" else mixed
    yield InForce(
        "training.weights_dtype", dtype, "Megatron-LM casts the whole module, and holds fp32 without bf16 or fp16"
    )
    yield InForce("training.master_weights", mixed != "no", "Megatron-LM keeps fp32 copies in mixed precision alone")
    gradients = "fp32" if mixed == "bf16" else "weights"
    yield InForce("training.gradients_dtype", gradients, "Megatron-LM adds up gradients in fp32 where it runs in bf16")
    yield InForce("training.autocast", "none", "Megatron-LM computes in the weights' dtype")
    yield InForce("training.trainer", "none", "Megatron-LM runs forward without autocast")


def _adapters(given: Mapping[str, Any], trainer: str, method: str, loaded: str) -> tuple[str, str]:
    if given.get("adapter_dtype") == "weights":
        return loaded, "autocast_adapter_dtype is off: adapters follow the base"
    if trainer == "trl" and method == "qlora" and not (_is_older_trl(given) and not _casts_to_bf16(given)):
        return "bf16", "TRL turns adapters on a quantised base to bf16"
    if trainer == "llama_factory" and given.get("pure"):
        return loaded, "pure_bf16 keeps what trains in the base's dtype"
    return "fp32", "PEFT makes adapters fp32 whatever the base is"


def _is_older_trl(given: Mapping[str, Any]) -> bool:
    """Whether a file's keys tell that TRL prepares a quantised base itself."""
    before = given.get("trl_before")
    return before is not None and before <= KBIT_UNTIL


def _casts_to_bf16(given: Mapping[str, Any]) -> bool:
    """Whether older TRL turns adapters and what is not packed to bf16: on 4-bit bases under bf16 alone."""
    return given.get("quantized") != "int8" and given.get("mixed_precision", "no") == "bf16"


def _autocast_why(mixed: str) -> str:
    return "nothing asks for mixed precision" if mixed == "no" else "mixed precision is autocast"
