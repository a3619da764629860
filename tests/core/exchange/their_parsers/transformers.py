"""transformers' TrainingArguments, BitsAndBytesConfig and PEFT's LoraConfig: prints what they refuse of a script."""

import ast
import json
import sys

sys.path.pop(0)  # this file has the library's name

import torch
from peft import LoraConfig
from transformers import BitsAndBytesConfig, TrainingArguments

CLASSES = {one.__name__: one for one in (TrainingArguments, LoraConfig, BitsAndBytesConfig)}


def value(node):
    """A value as the script writes it; torch.bfloat16 is the one that is no literal."""
    return getattr(torch, node.attr) if isinstance(node, ast.Attribute) else ast.literal_eval(node)


def refusal(text):
    made = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    try:
        for call in made:
            if call.func.id in CLASSES:
                given = {one.arg: value(one.value) for one in call.keywords}
                if call.func.id == "TrainingArguments":
                    # A machine without a card has neither precision nor DeepSpeed's launcher.
                    given = {**given, "bf16": False, "fp16": False, "use_cpu": True}
                    given.pop("deepspeed", None)
                CLASSES[call.func.id](**given)
    except Exception as problem:  # whatever it raises is its refusal
        return f"{type(problem).__name__}: {problem}"
    return "" if any(call.func.id == "TrainingArguments" for call in made) else "no arguments"


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
