"""From a config.json to shapes and counts. What is right: counts of the published models, and errors that help."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memplan.architecture import families
from memplan.architecture.counts import active, components, total
from memplan.architecture.from_config import architecture_of
from memplan.catalog import CatalogModel, model, models
from memplan.errors import ConfigError
from tests.core.small_models import GEMMA2, GPT2, GPT_NEOX, LLAMA, MIXTRAL, OPT, QWEN3_MOE, SMALL, Config


def composed(entry: CatalogModel) -> bool:
    """Whether the model's type has a composition of its own."""
    try:
        return architecture_of(entry.config).known
    except ConfigError:
        return False


COMPOSED = [entry for entry in models() if composed(entry)]


def test_many_published_models_have_a_composition_of_their_own() -> None:
    assert len(COMPOSED) >= 120


@pytest.mark.parametrize("entry", COMPOSED, ids=lambda entry: entry.id)
def test_the_composition_counts_what_the_catalog_counts(entry: CatalogModel) -> None:
    """The catalog's totals come from building each model with its own library.

    Of a model whose tower for images is of a kind that is not known, the text's part counts.
    """
    architecture, counts = architecture_of(entry.config), entry.parameters
    assert counts.total is not None
    seeing = counts.total - (counts.text_only or counts.total)
    known_tower = any(weight.name.startswith("vision.") for weight, _ in architecture.idle)
    assert total(architecture) == counts.total - (0 if known_tower else seeing)
    if counts.active is not None:
        assert active(architecture) == counts.active - seeing


def test_components_of_a_published_model() -> None:
    """Llama-3.1-8B by hand: 32 layers, hidden 4096, 32 heads and 8 key heads of 128, width 14336, vocabulary 128256."""
    counts = components(architecture_of(model("meta-llama/Llama-3.1-8B").config))
    hidden, layers, vocabulary = 4096, 32, 128_256
    assert counts == {
        "embeddings": vocabulary * hidden,
        "attention": layers * (2 * hidden * hidden + 2 * hidden * 1024),
        "mlp": layers * 3 * hidden * 14_336,
        "norms": (2 * layers + 1) * hidden,
        "head": vocabulary * hidden,
    }


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_components_add_up_and_a_token_uses_no_more_than_all(config: Config) -> None:
    architecture = architecture_of(config)
    counts = components(architecture)
    assert sum(counts.values()) == total(architecture) >= active(architecture) > 0
    assert all(count > 0 for count in counts.values())
    assert architecture.known


def test_a_tied_table_counts_once() -> None:
    untied, tied = (architecture_of({**LLAMA, "tie_word_embeddings": tied}) for tied in (False, True))
    assert total(untied) - total(tied) == 4000 * 512


def test_a_mixture_uses_some_of_its_experts() -> None:
    architecture = architecture_of(MIXTRAL)
    one_expert = 3 * 512 * 1408
    assert total(architecture) - active(architecture) == 4 * 2 * one_expert


def test_dense_layers_among_sparse_ones() -> None:
    """decoder_sparse_step: layers 2, 4, … have experts; mlp_only_layers names layers without, counted from 0."""
    sparse, every_second, listed = (
        architecture_of({**QWEN3_MOE, **more}) for more in ({}, {"decoder_sparse_step": 2}, {"mlp_only_layers": [0, 2]})
    )
    dense_mlp, experts = 3 * 512 * 1408, 8 * 3 * 512 * 256 + 8 * 512
    assert total(sparse) - total(every_second) == 2 * (experts - dense_mlp)
    assert total(every_second) == total(listed)


def test_a_narrow_embedding_is_projected_to_the_hidden_size_and_back() -> None:
    plain, narrow = (architecture_of({**OPT, "word_embed_proj_dim": width}) for width in (384, 192))
    assert total(plain) - total(narrow) == 5000 * 192 - 2 * 384 * 192


def test_defaults_are_the_library_s() -> None:
    """GPT-2's published config.json leaves most of its sizes out."""
    assert total(architecture_of({"model_type": "gpt2"})) == 124_439_808


def test_an_unknown_model_type_is_read_as_the_nearest_and_says_so() -> None:
    architecture = architecture_of({**LLAMA, "model_type": "newest"})
    assert not architecture.known
    assert total(architecture) == total(architecture_of(LLAMA))


def test_the_same_config_gives_the_same_object() -> None:
    """Walks are cached by it, so that equal scenarios are walked once."""
    assert architecture_of(dict(LLAMA)) is architecture_of(dict(reversed(LLAMA.items())))


# errors


def without(config: Config, key: str) -> Config:
    return {name: value for name, value in config.items() if name != key}


MISSING = [
    *((LLAMA, key) for key in LLAMA if key not in ("model_type", "num_key_value_heads")),
    *((MIXTRAL, key) for key in ("num_local_experts", "num_experts_per_tok")),
    (QWEN3_MOE, "moe_intermediate_size"),
    *((OPT, key) for key in ("ffn_dim", "vocab_size", "num_attention_heads")),
    *((GPT_NEOX, key) for key in ("hidden_size", "intermediate_size")),
    (GEMMA2, "intermediate_size"),
]


@pytest.mark.parametrize(
    ("config", "key"), MISSING, ids=[f"{config['model_type']} without {key}" for config, key in MISSING]
)
@pytest.mark.parametrize("null", [False, True])
def test_a_missing_size_is_named(config: Config, key: str, null: bool) -> None:
    broken = {**config, key: None} if null else without(config, key)
    with pytest.raises(ConfigError) as caught:
        architecture_of(broken)
    assert caught.value.place == f"config.{key}"
    assert "missing" in caught.value.message
    assert config["model_type"] in caught.value.message
    assert caught.value.remedy


WRONG: list[tuple[Any, str]] = [
    (0, "0"),
    (-1, "-1"),
    (1.5, "1.5"),
    ("4096", '"4096" (text)'),
    (True, "true"),
    ([4096], "a list of 1"),
    ({"size": 4096}, "an object"),
    (10**10, "10000000000"),
]
"""What stands in the file, and how it is shown: as JSON has it, for that is what the person looks at."""


@pytest.mark.parametrize(("value", "words"), WRONG)
@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_key_value_heads", "vocab_size", "head_dim"])
def test_a_wrong_size_is_shown_with_its_key(key: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        architecture_of({**LLAMA, key: value})
    assert caught.value.place == f"config.{key}"
    assert caught.value.message.startswith(f"{words} is not a whole number")


@pytest.mark.parametrize(
    ("more", "place", "words"),
    [
        ({"num_key_value_heads": 3}, "config.num_key_value_heads", "8 heads"),
        ({"tie_word_embeddings": "yes"}, "config.tie_word_embeddings", "neither true nor false"),
        ({"tie_word_embeddings": 1}, "config.tie_word_embeddings", "neither true nor false"),
        ({"attention_dropout": 2}, "config.attention_dropout", "from 0 to 1"),
        ({"attention_dropout": True}, "config.attention_dropout", "from 0 to 1"),
        ({"hidden_act": 3}, "config.hidden_act", "not a string"),
        ({"model_type": 5}, "config.model_type", "no model_type"),
        ({"model_type": ""}, "config.model_type", "no model_type"),
    ],
)
def test_a_wrong_value_is_told(more: Config, place: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        architecture_of({**LLAMA, **more})
    assert caught.value.place == place
    assert words in caught.value.message
    assert str(caught.value).startswith(f"{place}: ")


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_more_layers_than_anyone_builds_are_told(config: Config) -> None:
    """Layers may be listed one by one, so their number is bounded, as a plan bounds it."""
    key = "n_layer" if config["model_type"] == "gpt2" else "num_hidden_layers"
    with pytest.raises(ConfigError) as caught:
        architecture_of({**config, key: 10**9})
    assert caught.value.place == f"config.{key}"


def test_heads_that_do_not_divide_come_with_a_remedy() -> None:
    with pytest.raises(ConfigError) as caught:
        architecture_of({**LLAMA, "num_attention_heads": 7, "num_key_value_heads": 7})
    assert caught.value.place == "config.num_attention_heads"
    assert "not divisible by 7 heads" in caught.value.message
    assert "head_dim" in caught.value.remedy


def test_a_head_size_of_its_own_needs_no_division() -> None:
    assert total(architecture_of({**LLAMA, "num_attention_heads": 7, "num_key_value_heads": 7, "head_dim": 64})) > 0


@pytest.mark.parametrize("config", [MIXTRAL, QWEN3_MOE], ids=["mixtral", "qwen3_moe"])
def test_a_token_can_not_go_to_more_experts_than_there_are(config: Config) -> None:
    with pytest.raises(ConfigError) as caught:
        architecture_of({**config, "num_experts_per_tok": 9})
    assert caught.value.place == "config.num_experts_per_tok"
    assert "9 experts per token" in caught.value.message


@pytest.mark.parametrize(
    "key", ["tie_word_embeddings", "attention_bias", "hidden_act", "attention_dropout", "head_dim"]
)
def test_null_is_the_default(key: str) -> None:
    assert total(architecture_of({**LLAMA, key: None})) == total(architecture_of(LLAMA))


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes"], ids=["object", "set", "bytes"])
def test_what_is_no_json_is_told(value: Any) -> None:
    with pytest.raises(ConfigError, match="not plain JSON"):
        architecture_of({**LLAMA, "extra": value})


@pytest.mark.parametrize("config", [GPT2, OPT], ids=["gpt2", "opt"])
def test_learned_positions_are_counted(config: Config) -> None:
    key = "n_positions" if config is GPT2 else "max_position_embeddings"
    longer = {**config, key: config[key] + 10}
    hidden = config.get("n_embd", config.get("hidden_size"))
    assert total(architecture_of(longer)) - total(architecture_of(config)) == 10 * hidden


@pytest.mark.parametrize("count_key", ["num_local_experts", "num_experts", "n_routed_experts"])
def test_an_unknown_mixture_of_experts_is_not_counted_as_a_dense_model(count_key: str) -> None:
    """An unknown type with experts holds all of them: 3 matrices each, beside attention, router, tables and norms."""
    hidden, width, layers, count, vocab = 512, 256, 4, 16, 1000
    config = {
        "model_type": "never_heard_of",
        "hidden_size": hidden,
        "intermediate_size": 2048,
        "moe_intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "vocab_size": vocab,
        count_key: count,
        "num_experts_per_tok": 2,
    }
    found = architecture_of(config)
    attention = 2 * hidden * hidden + 2 * hidden * 128
    each = attention + count * (3 * hidden * width + hidden) + 2 * hidden
    assert not found.known
    assert total(found) == layers * each + 2 * vocab * hidden + hidden


def test_every_module_of_families_is_looked_through() -> None:
    """A module that has compositions but is not listed would be silently without effect."""
    folder = Path(families.__file__).parent
    having = {path.stem for path in folder.glob("*.py") if "FAMILIES: dict" in path.read_text(encoding="utf-8")}
    assert having - {"__init__"} == set(families.MODULES)


def test_no_model_type_has_two_compositions() -> None:
    names = [name for module in families.MODULES for name in import_module(f"{families.__name__}.{module}").FAMILIES]
    assert len(names) == len(set(names))
