"""Configs from which no architecture follows. What is right: such models are no decoders, as their papers say."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.architecture.counts import total
from memplan.architecture.families import composition_of
from memplan.architecture.from_config import architecture_of
from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.parts import Mlp
from memplan.architecture.refusals import FAR, PLANNED, check_layer_types
from memplan.catalog import models
from memplan.errors import ConfigError

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 4, "vocab_size": 1000,
}  # fmt: skip
WHISPER = {"model_type": "whisper", "d_model": 384, "encoder_layers": 4, "num_mel_bins": 80, "vocab_size": 51865}
CLIP = {"model_type": "clip", "text_config": {"hidden_size": 512}, "vision_config": {"hidden_size": 768}}
VIT = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224}
RETNET = {"model_type": "retnet", "hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280}
WAV2VEC2 = {**LLAMA, "model_type": "wav2vec2", "feat_extract_norm": "group"}
RWKV7 = {"model_type": "rwkv7", "hidden_size": 768, "num_hidden_layers": 12, "head_dim": 64, "vocab_size": 65536}
LLAVA = {"model_type": "llava", "vision_config": {"image_size": 336}}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (WHISPER, '"whisper" has an encoder beside its decoder, and memplan has no composition near enough'),
        ({**WHISPER, "model_type": "whistle"}, '"whistle" reads something other than text (num_mel_bins)'),
        (CLIP, '"clip" makes no text, and memplan has no composition near enough'),
        ({**CLIP, "model_type": "clasp"}, '"clasp" is a model of several parts that memplan has no composition of. Give what stands under text_config'),
        (VIT, '"vit" reads something other than text (image_size)'),
        (RETNET, '"retnet" is not known, and without num_attention_heads it cannot be read as a decoder.'),
        (RWKV7, '"rwkv7" has layers unlike any that memplan knows, and memplan has no composition near enough'),
        (WAV2VEC2, '"wav2vec2" makes no text, and memplan has no composition near enough'),
        ({**LLAMA, "model_type": "esm"}, '"esm" is an encoder, and memplan has no composition near enough'),
        ({**LLAMA, "model_type": "new", "architectures": ["NewForCTC"]}, '"new" ("NewForCTC") predicts no next token'),
        (LLAVA, '"llava" is not known, and without hidden_size it cannot be read as a decoder.'),
        ({**LLAMA, "model_type": "electra"}, '"electra" is an encoder, and memplan has no composition near enough to say what it needs. Measure a short run'),
        ({"model_type": "bart", "d_model": 768}, '"bart" has an encoder beside its decoder, and memplan has no composition near enough'),
        ({**LLAMA, "model_type": "doge"}, '"doge" has layers unlike any that memplan knows'),
        ({"model_type": "\x1b[31m"}, '"\\u001b[31m" is not known'),
    ],
)  # fmt: skip
def test_a_model_of_another_kind_is_told_what_is_planned(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        architecture_of(config)
    assert str(caught.value).startswith(f"config.model_type: {words}")
    assert PLANNED in str(caught.value)


@pytest.mark.parametrize("config", [WHISPER, RWKV7, VIT, WAV2VEC2, RETNET])
def test_what_to_do_is_not_to_look_for_another_config_of_the_same_model(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="memplan probe"):
        architecture_of(config)


def test_a_class_for_sequences_is_a_decoder_all_the_same() -> None:
    named = {**LLAMA, "model_type": "new", "architectures": ["NewForSequenceClassification"]}
    assert not architecture_of(named).known


def test_what_is_missing_is_said_without_an_article() -> None:
    with pytest.raises(ConfigError, match="missing; models of type afmoe need it"):
        architecture_of({"model_type": "afmoe", "hidden_size": 64})


@pytest.mark.parametrize("name", FAR)
def test_a_type_is_refused_or_composed_and_not_both(name: str) -> None:
    assert composition_of(name) is None


def test_an_unknown_decoder_is_still_read_as_the_nearest() -> None:
    assert not architecture_of({**LLAMA, "model_type": "something-new"}).known


@pytest.mark.parametrize("kind", ["deepseek_v4", "inkling_text", "recurrent_gemma", "rwkv", "zamba2"])
def test_what_is_far_from_everything_is_refused_inside_of_a_model_of_several_parts_too(kind: str) -> None:
    """Traced, the nearest decoder is off by more than 10%; it was planned as that with a warning."""
    for config in (
        {**LLAMA, "model_type": kind},
        {"model_type": "of_parts", "text_config": {**LLAMA, "model_type": kind}},
    ):
        with pytest.raises(ConfigError, match=f'"{kind}" has layers unlike any that memplan knows'):
            architecture_of(config)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["full_attention"] * 3, "config.layer_types: names 3 layers, but num_hidden_layers is 4. Name each layer once."),
        (["full_attention", "full", "full_attention", "full_attention"], 'config.layer_types[1]: found "full" (text); allowed are '),
        (["full_attention", 3, "full_attention", "full_attention"], "config.layer_types[1]: found 3; allowed are "),
        ("full_attention", 'config.layer_types: found "full_attention" (text); allowed is a list'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["llama", "gpt_oss", "qwen3_next", "something-new"])
def test_layer_types_that_do_not_name_the_layers_are_refused(kind: str, names: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        architecture_of({**LLAMA, "model_type": kind, "layer_types": names})
    assert str(caught.value).startswith(message)
    inside = {"model_type": "gemma3", "text_config": {**LLAMA, "layer_types": names}}
    with pytest.raises(ConfigError) as caught:
        architecture_of(inside)
    assert caught.value.place.startswith("config.text_config.layer_types")


def test_layer_types_of_nemotron_h_that_are_not_known() -> None:
    blocks = ["mamba", "x", "mlp", "attention"]
    config = {**LLAMA, "model_type": "nemotron_h", "num_key_value_heads": 4, "layers_block_type": blocks}
    with pytest.raises(ConfigError, match=r'config\.layers_block_type: found "x"'):
        architecture_of(config)


def test_every_model_of_the_catalog_names_its_layers_rightly() -> None:
    for model in models():
        check_layer_types(model.config)


GEMMA3N = {
    **LLAMA, "model_type": "gemma3n_text", "num_hidden_layers": 10, "head_dim": 16, "num_key_value_heads": 2,
    "num_kv_shared_layers": 5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("intermediate_size", [128] * 9, "config.intermediate_size: names 9 layers, but num_hidden_layers is 10"),
        ("intermediate_size", [*[128] * 9, "8k"], 'config.intermediate_size[9]: "8k" (text) is not a whole number'),
        ("activation_sparsity_pattern", [0.95] * 3, "config.activation_sparsity_pattern: names 3 layers"),
    ],
)
def test_widths_of_each_layer_of_gemma_3n_are_one_for_each(key: str, value: Any, words: str) -> None:
    """transformers 5.24 refuses these (models/gemma3n/configuration_gemma3n.py)."""
    with pytest.raises(ConfigError) as caught:
        architecture_of({**GEMMA3N, key: value})
    assert str(caught.value).startswith(words)


def test_a_list_of_widths_is_as_many_numbers() -> None:
    one, each = (architecture_of({**GEMMA3N, "intermediate_size": width}) for width in (128, [128] * 10))
    assert total(one) == total(each)
    wider = architecture_of({**GEMMA3N, "intermediate_size": [*[128] * 9, 256]})
    assert total(wider) - total(one) == 3 * 64 * 128


def test_a_list_where_one_number_belongs_is_not_written_out() -> None:
    with pytest.raises(ConfigError, match=r"config\.intermediate_size: a list of 4 is not a whole number"):
        architecture_of({**LLAMA, "intermediate_size": [128] * 4})


BAMBA = {
    **LLAMA, "model_type": "bamba", "num_key_value_heads": 4, "mamba_expand": 2, "mamba_n_heads": 8,
    "attn_layer_indices": [1],
}  # fmt: skip
MAMBA2 = {"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 1000, "num_heads": 8}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({**BAMBA, "mamba_d_head": 32}, "config.mamba_d_head: 8 heads of 32 are not the 128 values"),
        ({**BAMBA, "mamba_n_heads": 7}, "config.mamba_n_heads: 128 values can not be divided among 7 heads"),
        ({**MAMBA2, "head_dim": 32}, "config.head_dim: 8 heads of 32 are not the 128 values"),
        ({**MAMBA2, "expand": 1.5, "head_dim": 12}, "config.expand: 1.5 is not a whole number"),
    ],
)
def test_heads_of_mamba_2_are_as_wide_as_what_they_divide(config: dict[str, Any], words: str) -> None:
    """transformers 5.24 refuses these: validate_architecture of each configuration; `expand` is an int."""
    with pytest.raises(ConfigError) as caught:
        architecture_of(config)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("width", [16, "auto", None])
def test_heads_that_match_or_follow_are_taken(width: Any) -> None:
    assert architecture_of({**BAMBA, "mamba_d_head": width}).known


EXPERTS = {
    **LLAMA, "num_key_value_heads": 4, "num_experts": 0, "num_experts_per_tok": 8, "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32, "head_dim": 16,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["qwen2_moe", "qwen3_moe", "qwen3_next"])
def test_no_experts_are_dense_blocks(kind: str) -> None:
    """transformers 5.24: `config.num_experts > 0 and ...` decides between experts and a block of intermediate_size."""
    found = architecture_of({**EXPERTS, "model_type": kind})
    assert all(isinstance(layer.mlp, Mlp) for layer in found.kinds)
    values = [sum(one.count for one in layer.mlp.weights()) for layer in found.kinds if isinstance(layer.mlp, Mlp)]
    assert set(values) == {3 * 64 * 128}


def test_no_experts_where_every_layer_has_them_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"config\.num_experts: 0 is not a whole number from 1"):
        architecture_of({**EXPERTS, "model_type": "qwen3_5_moe_text"})


KIMI_LINEAR = {
    **LLAMA, "model_type": "kimi_linear", "moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_token": 2,
    "num_shared_experts": 1, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "num_hidden_layers": 6,
}  # fmt: skip
CHECKPOINT = {"head_dim": 16, "num_heads": 4, "short_conv_kernel_size": 4, "full_attn_layers": [4, 6]}


def test_kimi_linear_is_read_as_its_checkpoint_says_it() -> None:
    """transformers 5.24, models/kimi_linear/configuration_kimi_linear.py: layers are counted from 1 there, and sizes of
    linear attention stand in a part of their own."""
    published = {**KIMI_LINEAR, "linear_attn_config": {**CHECKPOINT, "kda_layers": [1, 2, 3, 5]}}
    kinds = ["linear_attention"] * 3 + ["full_attention", "linear_attention", "full_attention"]
    own = {**KIMI_LINEAR, "layer_types": kinds, "linear_head_dim": 16, "linear_num_heads": 4}
    assert total(architecture_of(published)) == total(architecture_of(own))
    attends = [isinstance(layer.attention, LatentAttention) for layer, count in architecture_of(published).layers
               for _ in range(count)]  # fmt: skip
    assert attends == [kind == "full_attention" for kind in kinds]


def test_layers_of_kimi_linear_that_are_not_all_named_are_refused() -> None:
    named = {**KIMI_LINEAR, "linear_attn_config": {**CHECKPOINT, "kda_layers": [1, 2, 3]}}
    with pytest.raises(ConfigError, match=r"config\.linear_attn_config: full_attn_layers and kda_layers do not name"):
        architecture_of(named)


@pytest.mark.parametrize(("name", "said"), [("quick_gelu", True), ("silu", False), ("gelu_fast", False)])
def test_an_activation_that_is_not_known_is_said(name: str, said: bool) -> None:
    assert ("names an activation that is not known" in architecture_of({**LLAMA, "hidden_act": name}).caveat) == said
