"""What PEFT adapts where nothing is named, by the model's type.

Source: peft 0.21.2, utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.
"""

from __future__ import annotations

_BY_TARGETS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("q", "v"): ("t5", "mt5"),
    ("c_attn",): ("gpt2", "gpt_bigcode"),
    ("query_key_value",): ("bloom", "gpt_neox", "chatglm", "falcon"),
    ("query", "value"): ("bert", "roberta", "xlm-roberta"),
    ("Wqkv",): ("mpt",),
    ("q_proj", "v_proj", "fc1", "fc2"): ("phi",),
    ("q_proj", "k_proj", "v_proj", "o_proj"): ("nemotron_h",),
}
_OTHERS = ("q_proj", "v_proj")
"""llama, mistral, mixtral, qwen2, qwen3, gemma, opt, stablelm and their like."""


def default_targets(model_type: str | None) -> tuple[str, ...]:
    """The modules that PEFT adapts unless told otherwise.

    >>> default_targets("gpt2"), default_targets("llama")
    (('c_attn',), ('q_proj', 'v_proj'))
    """
    return next((targets for targets, types in _BY_TARGETS.items() if model_type in types), _OTHERS)
