"""Traces training steps with adapters on the last layers alone: what `tests/truth/last_layers.json` holds.

    python trace_last_layers.py cases.json > traced.jsonl     # a list of cases; prints one a line, with "bytes" filled in

Needs `trace_step.py` beside it or on PYTHONPATH, torch 2.13 (CPU), transformers 5.24 and peft 0.21.2. Cases are those of
`trace_step.py` with `lora.last_layers` beside: PEFT is told of these layers by `layers_to_transform`. It takes that beside
a list of names alone, so "all-linear" is written as the names of all linear modules in the layers. Under QLoRA, whose
4-bit modules are `trace_step.py`'s own, those of the layers before lose their adapters.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import peft
import torch
import trace_step

_config_of_peft, _build, _quantise = peft.LoraConfig, trace_step._build, trace_step._quantise


def layers_of(model: torch.nn.Module) -> torch.nn.ModuleList:
    """The decoder's layers."""
    return next(part for part in model.modules() if isinstance(part, torch.nn.ModuleList))


def trace(case: dict[str, Any]) -> dict[str, Any]:
    """Run the case; return its bytes."""
    last = case["lora"]["last_layers"]
    count = case["model"]["num_hidden_layers"]
    chosen = list(range(max(0, count - last), count))

    def config(**given: Any) -> Any:
        if given["target_modules"] == "all-linear":
            given["target_modules"] = case["lora"]["names"]
        return _config_of_peft(**given, layers_to_transform=chosen)

    def quantise(model: torch.nn.Module, lora: dict[str, Any], quantization: dict[str, Any]) -> None:
        _quantise(model, lora, quantization)
        for layer in [layer for index, layer in enumerate(layers_of(model)) if index not in chosen]:
            for part in [part for part in layer.modules() if isinstance(part, trace_step._Linear4bit)]:
                part.wrap = False
                part.lora_A = part.lora_B = None

    def build(case: dict[str, Any], lora: dict[str, Any], shard: dict[str, Any], mesh: Any) -> torch.nn.Module:
        model = _build(case, lora, {**shard, "strategy": "none"}, mesh)
        if shard["strategy"] == "fsdp2":
            from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

            mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
            policy = mixed if shard["mixed_precision"] else MixedPrecisionPolicy()
            for unit in (*layers_of(model), model):
                fully_shard(unit, mesh=mesh, mp_policy=policy, reshard_after_forward=shard["reshard_after_forward"])
        return model

    peft.LoraConfig, trace_step._build, trace_step._quantise = config, build, quantise
    try:
        return trace_step.trace({**case, "lora": {**trace_step.LORA, **case["lora"]}})
    finally:
        peft.LoraConfig, trace_step._build, trace_step._quantise = _config_of_peft, _build, _quantise


def linear_names(case: dict[str, Any]) -> list[str]:
    """What all linear modules of the layers are called."""
    raw = dict(case["model"])
    with torch.device("meta"):
        model = trace_step.AutoModelForCausalLM.from_config(
            trace_step.AutoConfig.for_model(raw.pop("model_type"), **raw)
        )
    linear = (torch.nn.Linear, trace_step.transformers.pytorch_utils.Conv1D)
    found = (name.rpartition(".")[2] for name, part in layers_of(model).named_modules() if isinstance(part, linear))
    return sorted(set(found))


def main() -> None:
    for case in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        told = {**case, "lora": {**case["lora"], "names": linear_names(case)}}
        print(json.dumps({**case, "bytes": trace(told)}), flush=True)


if __name__ == "__main__":
    main()
