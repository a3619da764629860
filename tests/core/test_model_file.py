"""Reading a config.json from disk. What is right: the issue's list of files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.errors import ConfigError
from memplan.model_file import parse_config, read_config

LLAMA = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "vocab_size": 128256,
    "num_key_value_heads": None,
}


def refusal(content: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(content if isinstance(content, bytes) else json.dumps(content).encode(), "config.json")
    return str(caught.value).removeprefix("config.json: ")


def test_a_file_and_a_folder_that_holds_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    assert read_config(tmp_path / "config.json") == LLAMA
    assert read_config(str(tmp_path)) == LLAMA


def test_a_folder_without_one(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"the folder holds no config\.json\. Give the folder of a Hugging Face model\."
    ):
        read_config(tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no such file"):
        read_config(tmp_path / "config.json")


def test_a_file_of_50_mb(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as stream:
        stream.truncate(50_000_000)
    with pytest.raises(ConfigError, match=r"config\.json: is 50\.0 MB; a model's config\.json takes at most 10 MB\."):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([LLAMA], "a model's config.json is an object; this file holds a list of 1."),
        ({}, "is an empty object."),
        ({"memplan": 1, "scenarios": []}, "is a plan, not a model's config.json. Open it as a plan."),
        ({"peft_type": "LORA", "base_model_name_or_path": "org/base", "r": 8}, "is an adapter's configuration, not a model's. Give the config.json of the base model (org/base)"),
        ({"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.30.0"}, "is a diffusion model's configuration; memplan plans language models."),
        ({"_class_name": "FluxPipeline", "vae": ["diffusers", "AutoencoderKL"]}, "is a diffusion model's configuration"),
        ({"tokenizer_class": "LlamaTokenizer", "eos_token": "</s>"}, "is a tokenizer's file"),
        ({"version": "1.0", "added_tokens": [], "model": {"type": "BPE"}}, "is a tokenizer's file"),
        ({"metadata": {"total_size": 1}, "weight_map": {}}, "is the index of a model's weights"),
        ({"image_processor_type": "X", "size": 224}, "is an image or audio processor's file"),
        ({"zero_optimization": {"stage": 2}}, "is a trainer's configuration"),
        ({"bits": 4, "group_size": 128, "desc_act": False}, "is a quantisation's configuration"),
        ({"_from_model_config": True, "eos_token_id": 2}, "is a generation configuration"),
        ({"temperature": 0.6, "top_p": 0.9, "do_sample": True}, "is a generation configuration"),
        ({"dim": 4096, "n_layers": 32, "n_heads": 32, "vocab_size": 128256}, "is a params.json in Meta's own form."),
        ({**LLAMA, "hidden_size": "2048"}, 'hidden_size: found "2048" (text); allowed is a whole number from 1.'),
        ({**LLAMA, "hidden_size": True}, "hidden_size: found true; allowed is a whole number from 1."),
        ({**LLAMA, "vocab_size": 0}, "vocab_size: found 0; allowed is a whole number from 1."),
        ({**LLAMA, "num_hidden_layers": 16.5}, "num_hidden_layers: found 16.5; allowed is a whole number from 1."),
        ({"model_type": "x", "text_config": {"hidden_size": {}}}, "text_config.hidden_size: found an object; allowed is a whole number from 1."),
        (b'{"model_type": "llama", "hidden', "ends in the middle, at line 1: the file is truncated."),
        (b"GGUF\x03\0\0\0", "is a GGUF file: weights, not a configuration."),
        (b"\x80\x02}q\0", "is not a text file (byte 0 is not UTF-8)."),
        (b"", "the file is empty."),
        (b"[" * 100_000, "is nested more than 100 levels deep."),
    ],
)  # fmt: skip
def test_what_is_no_models_configuration_says_what_it_is(content: Any, words: str) -> None:
    assert refusal(content).startswith(words)


@pytest.mark.parametrize(
    "more",
    [
        {"intermediate_size": [8192] * 16},  # one size a layer, as Gemma 3n writes it
        {"tokenizer_class": "GPT2Tokenizer", "eos_token_id": 2, "top_p": 1.0},  # what older configurations carry along
        {"quantization_config": {"bits": 4, "quant_method": "gptq"}},
        {"unknown": {"deep": [1, None, "x"]}},
    ],
)
def test_what_models_configurations_do_hold_is_let_pass(more: dict[str, Any]) -> None:
    assert parse_config(json.dumps({**LLAMA, **more}).encode()) == {**LLAMA, **more}


def test_numbers_that_json_lacks_are_tagged_as_transformers_tags_them() -> None:
    # Mamba's time_step_limit; transformers 5 writes {"__float__": "Infinity"} (configuration_utils.py).
    config = parse_config(b'{"model_type": "mamba2", "time_step_limit": [0.0, Infinity], "x": NaN, "y": -1e999}')
    assert config["time_step_limit"] == [0.0, {"__float__": "Infinity"}]
    assert (config["x"], config["y"]) == ({"__float__": "NaN"}, {"__float__": "-Infinity"})


def test_a_key_that_stands_twice_is_refused_as_in_a_plan() -> None:
    twice = b'{"model_type": "llama", "hidden_size": 64, "hidden_size": 128, "x": Infinity}'
    assert refusal(twice) == 'the key "hidden_size" stands twice in one object.'
