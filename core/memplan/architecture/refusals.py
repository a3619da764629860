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
_NO_TEXT = "makes no text"
_UNLIKE = "has layers unlike any that memplan knows"
_FAR = {
    _ENCODER: "bert-generation big_bird electra megatron-bert rembert roberta-prelayernorm roc_bert roformer xlm"
    " xlm-roberta-xl xlnet xmod"
    " albert bros canine convbert deberta deberta-v2 dpr esm esmc flaubert fnet funnel gte ibert jina_embeddings_v3"
    " layoutlm layoutlmv2 layoutlmv3 layoutxlm lilt longformer luke markuplm mobilebert mpnet mra nomic_bert"
    " nystromformer splinter squeezebert tapas ultrabert visual_bert yoso",
    _HALF: "bart bigbird_pegasus blenderbot blenderbot-small marian mbart mvp pegasus plbart prophetnet trocr"
    " cohere_asr encoder-decoder florence2 fsmt led longt5 m2m_100 moonshine moonshine_streaming mt5 nllb-moe"
    " pegasus_x seamless_m4t seamless_m4t_v2 speech_to_text speecht5 switch_transformers t5gemma t5gemma2 udop umt5"
    " whisper",
    _UNLIKE: "blt cpmant ctrl doge dory gpt_neox_japanese hrm_text kimi_k3 reformer rwkv5 rwkv6 rwkv7"
    " axk2 bailing_hybrid beam deepseek_v4 dots3_note dots3_note_text flint hy_v4 inkling"
    " inkling_text inkling2 inkling2_text inkling2_loop inkling2_loop_text jetmoe lara_mini longcat_flash minimax_m3_vl"
    " minimax_m3_vl_text phi4_multimodal qwen4_exp qwen4_exp_text recurrent_gemma rwkv xlstm zamba zamba2 zaya",
    _SOUND: "moshi musicgen musicgen_melody bark csm dia gradium_phonon_tts higgs_audio_v2 pocket_tts vits",
    _NO_TEXT: "aimv2 align altclip bridgetower chinese_clip clap clip clipseg clvp flava groupvit metaclip_2"
    " owlv2 owlvit siglip siglip2 tipsv2 videoprism vision-text-dual-encoder xclip"
    " aimv2_text_model align_text_model altclip_text_model bridgetower_text_model chinese_clip_text_model"
    " clap_text_model clip_text_model clipseg_text_model clvp_encoder flava_text_model groupvit_text_model"
    " metaclip_2_text_model owlv2_text_model owlvit_text_model sam3_lite_text_text_model siglip_text_model"
    " siglip2_text_model tipsv2_text_model videoprism_text_model xclip_text_model"
    " grounding-dino mm-grounding-dino omdet-turbo pe_audio pe_audio_video pe_video sam3 sam3_lite_text"
    " data2vec-audio hubert sew sew-d unispeech unispeech-sat wav2vec2 wav2vec2-bert wav2vec2-conformer wavlm",
}
FAR = {name: what for what, names in _FAR.items() for name in names.split()}
"""Model types of transformers 5.24 (and RWKV 5 to 7 and Kimi K3, which are not in it) without a composition that the
nearest one is more than 10% off for, mostly by half (encoders have dropout inside attention), that a trace can not run,
or that are no language models; and what each is."""
_OTHER_CLASSES = (
    *("ForMaskedLM", "ForPreTraining", "ForCTC", "ForSpeechSeq2Seq", "ForAudioClassification", "ForXVector"),
    *("ForImageClassification", "ForMaskedImageModeling", "ForObjectDetection", "ForSemanticSegmentation"),
)
"""Ends of transformers' names for classes that predict no next token (models/auto/modeling_auto.py)."""
_MEASURE = "Measure a short run of it: memplan probe writes a script for that."

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
        remedy = f"{_MEASURE} {PLANNED}"
        raise ConfigError(message, place="config.model_type", remedy=remedy)


def refuse_other_kinds(reader: ConfigReader) -> None:
    """Refuse a model of a type without a composition of its own that is no decoder language model either.

    Raises:
        ConfigError: what it is, and what memplan plans.
    """
    refuse_far_kinds(reader)
    kind, config = quoted(reader.model_type), reader.config
    missing = [key for key in DECODER_KEYS if config.get(key) is None]
    other = next((name for name in _classes(config) if name.endswith(_OTHER_CLASSES)), None)
    part = next((key for key in LANGUAGE_PARTS if isinstance(config.get(key), Mapping)), None)
    foreign = next((key for key in OTHER_INPUTS if key in config), None)
    if part and missing:
        message = f"{kind} is a model of several parts that memplan has no composition of"
        remedy = f"Give what stands under {part} as the config.json of its language model. {PLANNED}"
    elif foreign:
        message = f"{kind} reads something other than text ({foreign}) and has no composition here"
        remedy = f"{_MEASURE} {PLANNED}"
    elif other:
        message = f"{kind} ({quoted(other)}) predicts no next token, and has no composition here"
        remedy = f"{_MEASURE} {PLANNED}"
    elif missing:
        message = f"{kind} is not known, and without {missing[0]} it cannot be read as a decoder"
        remedy = f"If this is not its complete config.json, give that. {_MEASURE} {PLANNED}"
    else:
        return
    raise ConfigError(message, place="config.model_type", remedy=remedy)


def _classes(config: Mapping[str, Any]) -> list[str]:
    named = config.get("architectures")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


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
