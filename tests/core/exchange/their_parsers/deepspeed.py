"""DeepSpeed's configuration, filled in by transformers' Trainer and taken by DeepSpeed's own class: prints refusals."""

import json
import sys
import types

sys.path.pop(0)  # this file has the library's name

from deepspeed.runtime.config import DeepSpeedConfig
from transformers import TrainingArguments
from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

MODEL = types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=2048))


def refusal(text):
    content = json.loads(text)
    arguments = TrainingArguments(
        output_dir="out",
        use_cpu=True,
        per_device_train_batch_size=content["train_micro_batch_size_per_gpu"],
        gradient_accumulation_steps=content["gradient_accumulation_steps"],
    )
    # What the run's own arguments say of precision, which a machine without a card cannot say.
    arguments.bf16 = content["bf16"]["enabled"]
    arguments.fp16 = content["fp16"]["enabled"]
    try:
        filled = HfTrainerDeepSpeedConfig(content)
        filled.trainer_config_process(arguments)
        filled.trainer_config_finalize(arguments, MODEL, 100)
        taken = DeepSpeedConfig(filled.config)
    except Exception as problem:  # whatever it raises is its refusal
        return f"{type(problem).__name__}: {problem}"
    stage = content["zero_optimization"]["stage"]
    return "" if taken.zero_config.stage == stage else f"it took stage {taken.zero_config.stage} for {stage}"


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
