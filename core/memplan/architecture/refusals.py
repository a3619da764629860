"""What no architecture can follow from: models of another kind, and layers that a config names wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memplan.architecture.config_reader import ConfigReader
from memplan.errors import ConfigError
from memplan.number_style import number
from memplan.plan.problems import quoted, shown

PLANNED = (
    "memplan plans decoder language models (llama, mistral, qwen, gemma, deepseek and their like), BERT's kind and T5."
)
OTHER_INPUTS = ("image_size", "patch_size", "num_channels", "num_mel_bins", "feat_extract_norm", "num_frames")
"""Keys of models whose own layers read images, sound or video."""
DECODER_KEYS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
"""Without these keys a model of an unknown type cannot be read as the nearest decoder."""
LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")

_ENCODER = "is an encoder"
_HALF = "has an encoder beside its decoder"
_SOUND = "makes sound, not text"
_UNLIKE = "has layers unlike any that memplan knows"
_FAR = {
    _ENCODER: "bert-generation big_bird electra megatron-bert rembert roberta-prelayernorm roc_bert roformer xlm"
    " xlm-roberta-xl xlnet xmod",
    _HALF: "bart bigbird_pegasus blenderbot blenderbot-small marian mbart mvp pegasus plbart prophetnet trocr",
    _UNLIKE: "blt cpmant ctrl doge dory gpt_neox_japanese hrm_text reformer"
    " axk2 bailing_hybrid beam deepseek_v4 dots3_note dots3_note_text flint hy_v4 inkling"
    " inkling_text inkling2 inkling2_text inkling2_loop inkling2_loop_text jetmoe lara_mini longcat_flash minimax_m3_vl"
    " minimax_m3_vl_text phi4_multimodal qwen4_exp qwen4_exp_text recurrent_gemma rwkv xlstm zamba zamba2 zaya",
    _SOUND: "moshi musicgen musicgen_melody",
}
FAR = {name: what for what, names in _FAR.items() for name in names.split()}
"""Model types of transformers 5.24 without a composition that the nearest one is more than 10% off for, mostly by half
(encoders have dropout inside attention), or that a trace can not run; and what each is."""

LAYER_TYPES = frozenset(
    {
        *("full_attention", "sliding_attention", "chunked_attention", "window_attention", "indexed_attention"),
        *("compressed_sparse_attention", "heavily_compressed_attention", "reference_sliding_attention"),
        *("minimax_m3_sparse", "linear_attention", "conv", "moe", "hybrid", "hybrid_sliding", "sparse", "dense"),
        *("mamba", "attention", "deepseek_sparse_attention", "qwen_sparse_attention"),
    }
)
"""The words of transformers 5.24 (configuration_utils.ALLOWED_LAYER_TYPES), older ones that it translates included."""


def language_part(reader: ConfigReader) -> ConfigReader:
    """The language model inside a model of several parts, where its sizes stand; the config itself elsewhere."""
    inner, found = reader, reader
    while key := next((one for one in LANGUAGE_PARTS if isinstance(inner.config.get(one), Mapping)), None):
        inner = inner.part(key)
        if all(inner.config.get(one) is not None for one in DECODER_KEYS):
            found = inner
    return found


def refuse_far_kinds(reader: ConfigReader) -> None:
    """Refuse a model of a type that is known to be unlike every composition.

    Raises:
        ConfigError: what it is, and what to do.
    """
    if (what := FAR.get(reader.model_type)) is not None:
        message = f"{quoted(reader.model_type)} {what}, and memplan has no composition near enough to say what it needs"
        remedy = f"Measure a short run of it: memplan probe writes a script for that. {PLANNED}"
        raise ConfigError(message, place="config.model_type", remedy=remedy)


def refuse_other_kinds(reader: ConfigReader) -> None:
    """Refuse a model of a type without a composition of its own that is no decoder language model either.

    Raises:
        ConfigError: what it is, and what memplan plans.
    """
    refuse_far_kinds(reader)
    kind, config = quoted(reader.model_type), reader.config
    missing = [key for key in DECODER_KEYS if config.get(key) is None]
    part = next((key for key in LANGUAGE_PARTS if isinstance(config.get(key), Mapping)), None)
    foreign = next((key for key in OTHER_INPUTS if key in config), None)
    if part and missing:
        message = f"{kind} is a model of several parts that memplan has no composition of"
        remedy = f"Give what stands under {part} as the config.json of its language model. {PLANNED}"
    elif foreign:
        message, remedy = f"{kind} reads something other than text ({foreign}) and has no composition here", PLANNED
    elif missing:
        message = f"{kind} is not known, and without {missing[0]} it cannot be read as a decoder"
        remedy = f"{PLANNED} If it is one, use its complete config.json."
    else:
        return
    raise ConfigError(message, place="config.model_type", remedy=remedy)


def check_layer_types(config: Mapping[str, Any], place: str = "config") -> None:
    """Check that `layer_types` names every layer by a word that is known; the language part's too.

    Raises:
        ConfigError: names the key, what was found and what is allowed.
    """
    if isinstance(text := config.get("text_config"), Mapping):
        check_layer_types(text, f"{place}.text_config")
    names, count = config.get("layer_types"), config.get("num_hidden_layers")
    if names is None:
        return
    where = f"{place}.layer_types"
    if not isinstance(names, list):
        raise ConfigError(f"found {shown(names)}; allowed is a list with a word for each layer", place=where)
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in LAYER_TYPES:
            allowed = ", ".join(sorted(LAYER_TYPES))
            raise ConfigError(f"found {shown(name)}; allowed are {allowed}", place=f"{where}[{index}]")
    if type(count) is int and len(names) != count:
        message = f"names {number(len(names))} layers, but num_hidden_layers is {number(count)}"
        raise ConfigError(message, place=where, remedy="Name each layer once.")
