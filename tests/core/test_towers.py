"""Towers' parameters. What is right: the model's class of transformers 5.24 (timm 1.0), built on the meta device."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.counts import total
from memplan.architecture.from_config import architecture_of
from memplan.architecture.towers import towers_of
from memplan.catalog import model
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, by_id, cases, errors, scenario_of, too_far

SIGLIP = {"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27}
CLIP = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
NO_HEAD = {"vision_use_head": False}
INTERN = {
    "model_type": "internvl_vision",
    "hidden_size": 3200,
    "intermediate_size": 12800,
    "num_hidden_layers": 45,
    "norm_type": "rms_norm",
    "attention_bias": True,
    "use_qk_norm": True,
    "use_mean_pooling": False,
}

BUILT: list[tuple[str, int, dict[str, Any], int]] = [
    ("llama4", 5120, {"vision_config": {"model_type": "llama4_vision_model"}}, 455_178_240),
    ("kimi_k25", 7168, {"vision_config": {"model_type": "kimi_k25_vision"}}, 471_143_920),
    (
        "gemma3n",
        2048,
        {"vision_config": {"model_type": "gemma3n_vision"}, "audio_config": {"model_type": "gemma3n_audio"}},
        983_281_504,
    ),
    ("gemma3", 2304, {"vision_config": {"model_type": "siglip_vision_model"}}, 94_654_464),
    ("llava", 4096, {"vision_config": {**CLIP, "image_size": 336, "patch_size": 14}}, 324_487_168),
    ("llava", 4096, {"vision_config": {"model_type": "pixtral"}, "vision_feature_layer": [-2, -1]}, 428_663_808),
    ("llava_next", 4096, {"vision_config": {**CLIP, "image_size": 336, "patch_size": 14}}, 324_491_264),
    (
        "llava_onevision",
        4096,
        {"vision_config": {**SIGLIP, "num_hidden_layers": 26, "image_size": 384, "patch_size": 14, **NO_HEAD}},
        419_255_840,
    ),
    ("internvl", 4096, {"vision_config": {"model_type": "internvl_vision", "image_size": [448, 448]}}, 337_509_376),
    (
        "internvl",
        2048,
        {"vision_config": INTERN},
        5_567_372_800,
    ),
    ("glm4v", 4096, {"vision_config": {"model_type": "glm4v_vision"}}, 892_498_432),
    ("glm4v_moe", 4096, {"vision_config": {"model_type": "glm4v_moe_vision"}}, 892_498_432),
    ("smolvlm", 4096, {"vision_config": {"model_type": "smolvlm_vision"}}, 171_270_144),
    (
        "idefics3",
        4096,
        {"vision_config": {**SIGLIP, "model_type": "idefics3_vision", "image_size": 364, "patch_size": 14}},
        431_800_560,
    ),
    (
        "paligemma",
        2048,
        {"vision_config": {**SIGLIP, "intermediate_size": 4096, "patch_size": 14, **NO_HEAD}},
        401_858_816,
    ),
    ("aya_vision", 4096, {"vision_config": {**SIGLIP, "image_size": 364, "patch_size": 14}}, 455_444_928),
    ("mistral3", 5120, {"vision_config": {"model_type": "pixtral", "patch_size": 14}}, 438_958_080),
    (
        "cohere2_vision",
        8192,
        {"vision_config": {**SIGLIP, "intermediate_size": 3072, "image_size": 512}},
        670_168_832,
    ),
    (
        "mistral_large4",
        6144,
        {
            "vision_config": {
                "model_type": "pixtral",
                "hidden_size": 2048,
                "intermediate_size": 6144,
                "num_hidden_layers": 30,
                "patch_size": 14,
            }
        },
        1_704_218_624,
    ),
    (
        "qwen3_vl",
        4096,
        {"vision_config": {"out_hidden_size": 3584, "deepstack_visual_indexes": [8, 16, 24]}},
        566_949_104,
    ),
    ("qwen2_vl", 8192, {"vision_config": {"depth": 32}}, 675_759_104),
    ("qwen2_5_vl", 8192, {"vision_config": {"depth": 32}}, 3_083_025_152),
]


@pytest.mark.parametrize(("name", "text", "rest", "known"), BUILT, ids=lambda one: str(one)[:20])
def test_a_tower_with_its_projector_counts_as_its_class_does(
    name: str, text: int, rest: dict[str, Any], known: int
) -> None:
    config = {"model_type": name, "text_config": {"model_type": "llama", "hidden_size": text}, **rest}
    found, unknown = towers_of(ConfigReader(config))
    assert unknown == ()
    assert sum(count * prod(weight.shape) for weight, count in found) == known
    assert all(weight.frozen for weight, _ in found)


@pytest.mark.parametrize("name", ["meta-llama/Llama-4-Scout-17B-16E-Instruct", "moonshotai/Kimi-K2.5"])
def test_a_published_model_is_whole(name: str) -> None:
    """So nothing is left to say about what reads images, and its basis is no worse for it."""
    entry = model(name)
    assert total(architecture_of(entry.config)) == entry.parameters.total
    assert architecture_of(entry.config).caveat == ""
    assert estimate(Scenario.model_validate({"model": {"catalog": name}})).basis == "traced"


def test_text_keeps_nothing_of_a_tower_and_gives_it_no_gradient() -> None:
    """A tower is weights and no more: the same step of the language model alone, with as many weights less."""
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "vocab_size": 1000}
    text = {"model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 4, **sizes}
    whole = {"model_type": "llava", "text_config": text, "vision_config": {**CLIP, "num_hidden_layers": 2}}
    alone, found = (estimate(Scenario.model_validate({"model": {"config": one}})) for one in (text, whole))
    weights = found.bytes.loaded - alone.bytes.loaded
    assert weights > 2 * 25_000_000
    assert found.bytes.backward_peak - alone.bytes.backward_peak == weights
    assert found.bytes.optimizer_state == alone.bytes.optimizer_state
    assert found.basis == alone.basis == "traced"


def test_a_network_that_is_not_the_published_one_is_not_counted() -> None:
    config = {"model_type": "gemma3n", "text_config": {"hidden_size": 64}}
    other = {"model_type": "gemma3n_vision", "architecture": "mobilenetv5_base"}
    assert towers_of(ConfigReader({**config, "vision_config": other})) == ((), ("vision_config",))


def test_a_known_tower_under_a_model_whose_projector_is_not_known_is_not_counted() -> None:
    config = {"model_type": "llava_of_tomorrow", "text_config": {"hidden_size": 64}, "vision_config": SIGLIP}
    assert towers_of(ConfigReader(config)) == ((), ("vision_config",))


@pytest.mark.parametrize("case", cases("families_towers.json"), ids=by_id)
def test_a_step_over_text_is_as_traced(case: dict[str, Any]) -> None:
    """Of the whole model, built by AutoModelForImageTextToText: what text does not reach gets no gradient."""
    found = estimate(scenario_of(case))
    assert found.basis == "traced"
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.bytes.optimizer_state == case["bytes"]["optimizer_state"]
    assert too_far(errors(case, found), DRIFT, FIRST_DRIFT) == {}


def test_a_model_around_text_that_is_not_known_stays_an_extrapolation() -> None:
    """Its tower is known, its language model is not: activations follow a relative."""
    text = {"model_type": "a_type_of_tomorrow", "hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 1000}
    heads = {"num_attention_heads": 4, "intermediate_size": 512}
    config = {"model_type": "llava", "text_config": {**text, **heads}, "vision_config": CLIP}
    assert estimate(Scenario.model_validate({"model": {"config": config}})).basis == "extrapolated"
