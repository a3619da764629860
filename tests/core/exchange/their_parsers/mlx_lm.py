"""MLX-LM's own arguments, and its adapters on a small model: prints what it refuses."""

import json
import sys
import types

sys.path.pop(0)  # this file has the library's name

import mlx.optimizers
import yaml
from mlx.utils import tree_flatten
from mlx_lm.lora import CONFIG_DEFAULTS, build_parser, yaml_loader
from mlx_lm.models.llama import Model, ModelArgs
from mlx_lm.tuner.utils import linear_to_lora_layers

OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "adafactor": "Adafactor", "muon": "Muon"}
SMALL = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 20,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": 128,
}


def refusal(text):
    content = yaml.load(text, yaml_loader)
    known = {*CONFIG_DEFAULTS, *vars(build_parser().parse_args([]))}
    if unknown := set(content) - known:
        return f"it passes over {sorted(unknown)}"
    settings = types.SimpleNamespace(**{**CONFIG_DEFAULTS, **content})
    try:
        getattr(mlx.optimizers, OPTIMIZERS[settings.optimizer])(learning_rate=settings.learning_rate)
        model = Model(ModelArgs.from_dict(SMALL))
        model.freeze()
        if settings.fine_tune_type == "full":
            for layer in model.layers[-max(settings.num_layers, 0) :]:
                layer.unfreeze()
        else:
            linear_to_lora_layers(model, settings.num_layers, settings.lora_parameters)
    except Exception as problem:  # whatever it raises is its refusal
        return f"{type(problem).__name__}: {problem}"
    return "" if tree_flatten(model.trainable_parameters()) else "nothing trains"


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
