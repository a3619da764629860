"""axolotl's own schema, on a card with everything: prints what it refuses."""

import json
import sys
import types

sys.path.pop(0)  # this file has the library's name

import yaml
from axolotl.utils.config import prepare_plugins, validate_config
from axolotl.utils.dict import DictDefault

# It asks whether this is there, for sequences that are divided.
sys.modules.setdefault("ring_flash_attn", types.ModuleType("ring_flash_attn"))
CARD = {
    "bf16": True,
    "fp8": True,
    "tf32": True,
    "n_gpu": 8,
    "n_node": 1,
    "compute_capability": "sm_90",
}


def refusal(text):
    config = DictDefault(yaml.safe_load(text))
    try:
        prepare_plugins(config)
        validate_config(config, capabilities=CARD, env_capabilities={"torch_version": "2.12.0"})
    except Exception as problem:  # whatever it raises is its refusal
        return f"{type(problem).__name__}: {problem}"
    return ""


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
