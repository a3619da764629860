"""LLaMA-Factory's own parser of arguments: prints what it refuses."""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["DISABLE_VERSION_CHECK"] = "1"  # it names versions of its neighbours; its own arguments are what is asked

sys.path.pop(0)  # files beside this one have libraries' names

import transformers.training_args as transformers_arguments
import yaml
from llamafactory.hparams import parser

transformers_arguments.is_torch_bf16_gpu_available = lambda: True
folder = tempfile.mkdtemp()
os.chdir(folder)
Path("zero.json").write_text('{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}')


def refusal(text):
    content = yaml.safe_load(text)
    if "deepspeed" in content:
        content["deepspeed"] = "zero.json"  # the other file, which stands in no recipe
    try:
        model, data, _, tuning, _ = parser._parse_train_args(content)
        parser._verify_model_args(model, data, tuning)
    except Exception as problem:  # whatever it raises is its refusal
        return f"{type(problem).__name__}: {problem}"
    return ""


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
