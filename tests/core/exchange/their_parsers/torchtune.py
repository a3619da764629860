"""torchtune's check of a configuration: every component is found and takes the arguments; prints what it refuses."""

import importlib.util
import json
import re
import sys
from pathlib import Path

sys.path.pop(0)  # this file has the library's name

from omegaconf import OmegaConf
from torchtune.config import validate
from torchtune.training.checkpointing import ModelType
from torchtune.training.precision import PRECISION_STR_TO_DTYPE

RECIPES = Path(importlib.util.find_spec("recipes").submodule_search_locations[0])


def keys_of(recipe):
    """The keys that a recipe reads: those that must be there, and all."""
    program = (RECIPES / f"{recipe}.py").read_text()
    needs = set(re.findall(r"\bcfg\.([a-z_]+)", program)) - {"get", "profiler"}  # the latter stands in a comment
    return needs, needs | set(re.findall(r'\bcfg\.get\(\s*"([a-z_]+)"', program))


def refusal(text):
    config = OmegaConf.create(text)
    kind = "lora_finetune" if "lora_" in config.model._component_ else "full_finetune"
    needs, reads = keys_of(f"{kind}_distributed")
    if missing := needs - set(config):
        return f"the recipe needs {sorted(missing)}"
    if idle := set(config) - reads:
        return f"the recipe does not read {sorted(idle)}"
    if config.get("optimizer_in_bwd") and config.gradient_accumulation_steps > 1:
        return "the recipe refuses to add gradients up in backward"
    if config.enable_activation_offloading and not config.enable_activation_checkpointing:
        return "the recipe offloads checkpoints alone"
    try:
        OmegaConf.resolve(config)
        validate(config)
        ModelType[config.checkpointer.model_type]
        PRECISION_STR_TO_DTYPE[config.dtype]
    except Exception as problem:  # whatever it raises is its refusal
        return f"{type(problem).__name__}: {problem}"
    return ""


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
