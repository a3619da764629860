"""A configuration with one wrong value. What is right: words that name the place, or an estimate of bytes that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memplan.catalog import models
from memplan.errors import ConfigError, MemplanError
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from tests.core.small_models import QWEN3_MOE, SMALL
from tests.core.truth_cases import cases

WRONG: tuple[Any, ...] = (-1, 0, 0.5, -0.5, 1e30, 7, 10**18, True, None, "x", [], [1, 2], [None], [-3], {}, {"a": 1})
LFM2 = {
    "model_type": "lfm2",
    "vocab_size": 4000,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "layer_types": ["conv", "full_attention"],
}


@cache
def smallest() -> tuple[dict[str, Any], ...]:
    """The shortest configuration of each model type."""
    files = [f"families_{name}.json" for name in ("decoders", "dense", "experts", "hybrid", "more")]
    truths = [case["model"] for file in files for case in cases(file)]
    known = [dict(entry.config) for entry in models()] + truths + list(SMALL.values()) + [LFM2]
    found: dict[str, dict[str, Any]] = {}
    for config in sorted(known, key=lambda one: len(json.dumps(one))):
        found.setdefault(config["model_type"], config)
    return tuple(found.values())


def _paths(config: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in config.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))


def _damaged(config: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**config, first: _damaged(config[first], tuple(rest), value) if rest else value}


def _estimate(config: dict[str, Any], method: str = "full") -> Estimate:
    choice = {"model": {"config": config}, "training": {"method": method, "sequence_length": 64}}
    return estimate(Scenario.model_validate(choice))


@given(data=st.data(), value=st.sampled_from(WRONG), method=st.sampled_from(("full", "lora", "inference")))
@settings(max_examples=200, deadline=None)
def test_any_wrong_value_is_refused_or_leaves_bytes_that_exist(data: st.DataObject, value: Any, method: str) -> None:
    config = data.draw(st.sampled_from(smallest()))
    path = data.draw(st.sampled_from(list(_paths(config))))
    try:
        found = _estimate(_damaged(config, path, value), method)
    except MemplanError:
        return
    sizes = [size for instant in found.instants for size in instant.bytes_by_term.values()]
    assert all(type(size) is int and size >= 0 for size in sizes)
    assert found.parameters.total > 0
    assert 0 <= found.parameters.active <= found.parameters.total


VISION = {
    "model_type": "qwen3_vl",
    "text_config": SMALL["qwen3"],
    "vision_config": {"model_type": "qwen3_vl", "out_hidden_size": 512, "deepstack_visual_indexes": [0]},
}


@pytest.mark.parametrize(
    ("config", "path", "value", "words"),
    [
        (LFM2, "block_ffn_dim_multiplier", -1, "-1 is not a number above 0 and up to 1000"),
        (LFM2, "block_ffn_dim_multiplier", "2", '"2" (text) is not a number above 0'),
        (QWEN3_MOE, "mlp_only_layers", 7, "7 is not a list"),
        (QWEN3_MOE, "mlp_only_layers", [-3], "-3 is not the number of a layer"),
        (VISION, "vision_config.deepstack_visual_indexes", 2, "2 is not a list"),
        (VISION, "vision_config.depth", -4, "-4 is not a whole number from 1"),
        (VISION, "text_config.hidden_size", -4, "-4 is not a whole number from 1"),
        (VISION, "vision_config", 5, "5 is not an object"),
    ],
)
def test_it_names_the_place_what_was_found_and_what_is_allowed(
    config: dict[str, Any], path: str, value: Any, words: str
) -> None:
    _estimate(config)
    with pytest.raises(ConfigError, match=re.escape(words)) as refused:
        _estimate(_damaged(config, tuple(path.split(".")), value))
    assert str(refused.value).startswith(f"config.{path}")
    assert "Use the model's own config.json." in str(refused.value)


def test_kinds_that_take_turns_cost_the_same_however_many_there_are() -> None:
    """Window masks go once, wherever their first reader stands; and the walk is no longer than the model."""
    gpt_oss = {**SMALL["mixtral"], "model_type": "gpt_oss"}
    few, some, many = (_estimate({**gpt_oss, "num_hidden_layers": count}).trace().peak for count in (10, 20, 20_010))
    assert many - few == 2_000 * (some - few)
