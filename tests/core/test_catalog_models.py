"""Every model in the catalog: complete, consistent, and with a count that stands on its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from memplan.catalog import CatalogModel, model, models
from memplan.resources import resource

every_model = pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.id)


def test_the_catalog_is_as_large_as_promised() -> None:
    assert len(models()) >= 280
    assert sum(entry.parameters.total is not None for entry in models()) >= 280
    assert sum(entry.count_verified for entry in models()) >= 280


def test_names_are_unique() -> None:
    names = [name.casefold() for entry in models() for name in (entry.id, *entry.aliases)]
    assert len(names) == len(set(names))


def test_the_file_holds_one_entry_a_line() -> None:
    lines = resource("catalog", "models.json").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line.removesuffix(",")) for line in lines if line.startswith('{"id"')]
    assert [entry["id"] for entry in entries] == [entry.id for entry in models()]


@every_model
def test_an_entry_says_where_it_comes_from_and_what_is_not_verified(entry: CatalogModel) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.id)
    assert entry.family
    assert entry.sources
    assert all(text.strip() for text in (*entry.sources, *entry.unverified, *entry.notes))
    assert entry.licence is not None or any(text.startswith("licence") for text in entry.unverified)
    assert entry.dtype_published is not None or any(text.startswith("dtype") for text in entry.unverified)
    assert entry.config.get("dtype") in {"float32", "bfloat16", "float16", None}
    assert entry.count_verified != any(text.startswith("config not built: ") for text in entry.unverified)


@every_model
def test_counts_are_sane(entry: CatalogModel) -> None:
    counts = entry.parameters
    if counts.total is None:
        assert not entry.count_verified
        assert "parameters: no count found" in entry.unverified
        return
    assert counts.total > 0
    assert counts.basis
    assert counts.active is None or 0 < counts.active < counts.total
    assert counts.text_only is None or 0 < counts.text_only < counts.total
    assert counts.untied is None or counts.untied > counts.total
    assert (counts.published is None) == (counts.published_source is None)
    if counts.published is not None and counts.published != counts.total:
        assert any(f"{abs(counts.published - counts.total):,}" in note for note in entry.notes)


@every_model
def test_the_size_in_the_name_is_the_size_of_the_model(entry: CatalogModel) -> None:
    """Catches a misplaced factor: names round, mostly down (gemma-7b has 8.5e9), but never by half."""
    sizes = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", entry.name.casefold())
    experts = re.search(r"(\d+)x(\d+)b", entry.name.casefold())
    if entry.parameters.total is None or not (sizes or experts):
        return
    # Eight experts share their attention: 8x7B has 47e9, not 56e9.
    claims = [float(size) * {"b": 1e9, "m": 1e6}[unit] for size, unit in sizes]
    claims += [int(experts[1]) * int(experts[2]) * 1e9] if experts else []
    counts = (entry.parameters.total, entry.parameters.active, entry.parameters.text_only)
    assert any(0.79 < count / claim < 1.75 for claim in claims for count in counts if count is not None)


def gated_mlp(config: Mapping[str, Any], width: int) -> int:
    return 3 * config["hidden_size"] * width


def attention(config: Mapping[str, Any]) -> int:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head = config.get("head_dim", hidden // heads)
    query, key_value = heads * head, config["num_key_value_heads"] * head
    count = 2 * hidden * query + 2 * hidden * key_value
    if config["model_type"] in {"qwen2", "qwen2_moe"}:
        count += query + 2 * key_value
    if config.get("attention_bias"):
        count += query + 2 * key_value + hidden
    if config["model_type"] in {"qwen3", "qwen3_moe"}:
        count += 2 * head
    if config["model_type"] in {"olmo2", "olmo3"}:
        count += query + key_value
    return count


def llama_like(config: Mapping[str, Any]) -> int:
    """Embedding, layers of attention and gated MLP with their norms, a last norm, the head unless it is tied."""
    hidden, kind = config["hidden_size"], config["model_type"]
    if kind in {"mixtral", "granitemoe"}:
        experts = config["num_local_experts"]
        mlp = experts * (gated_mlp(config, config["intermediate_size"]) + hidden)
    elif kind == "qwen3_moe":
        mlp = config["num_experts"] * (gated_mlp(config, config["moe_intermediate_size"]) + hidden)
    else:
        mlp = gated_mlp(config, config["intermediate_size"])
    if config.get("mlp_bias"):
        mlp += 2 * config["intermediate_size"] + hidden
    norms = (4 if kind == "gemma2" else 2) * hidden
    embedding = config["vocab_size"] * hidden * (1 if config["tie_word_embeddings"] else 2)
    return embedding + config["num_hidden_layers"] * (attention(config) + mlp + norms) + hidden


def gpt2(config: Mapping[str, Any]) -> int:
    width, layers = config["n_embd"], config["n_layer"]
    return (config["vocab_size"] + config["n_positions"]) * width + layers * (12 * width**2 + 13 * width) + 2 * width


def gpt_neox(config: Mapping[str, Any]) -> int:
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    layer = 4 * hidden**2 + 4 * hidden + 2 * hidden * inner + inner + hidden + 4 * hidden
    return 2 * config["vocab_size"] * hidden + config["num_hidden_layers"] * layer + 2 * hidden


def opt(config: Mapping[str, Any]) -> int:
    hidden, inner, narrow = config["hidden_size"], config["ffn_dim"], config["word_embed_proj_dim"]
    layer = 4 * hidden**2 + 4 * hidden + 2 * hidden * inner + inner + hidden + 4 * hidden
    # Positions begin at 2; a narrow embedding is projected to the hidden size and back.
    embedding = config["vocab_size"] * narrow + (config["max_position_embeddings"] + 2) * hidden
    projections = 0 if narrow == hidden else 2 * narrow * hidden
    last_norm = 2 * hidden if config["do_layer_norm_before"] else 0
    return embedding + projections + config["num_hidden_layers"] * layer + last_norm


def bloom(config: Mapping[str, Any]) -> int:
    hidden = config["hidden_size"]
    return config["vocab_size"] * hidden + config["n_layer"] * (12 * hidden**2 + 13 * hidden) + 4 * hidden


LLAMA_LIKE = "llama mistral qwen2 qwen3 gemma gemma2 phi3 granite smollm3 olmo2 olmo3 mixtral granitemoe qwen3_moe"
COUNTS = {
    **dict.fromkeys(LLAMA_LIKE.split(), llama_like),
    "gpt2": gpt2,
    "gpt_neox": gpt_neox,
    "opt": opt,
    "bloom": bloom,
}
COUNTABLE = [entry for entry in models() if entry.model_type in COUNTS]


def test_most_of_the_catalog_can_be_counted_by_hand() -> None:
    assert len(COUNTABLE) > 150


@pytest.mark.parametrize("entry", COUNTABLE, ids=lambda entry: entry.id)
def test_the_config_gives_the_count(entry: CatalogModel) -> None:
    """Each weight matrix of the architecture, summed here from the config alone."""
    assert COUNTS[entry.model_type](entry.config) == entry.parameters.total


@pytest.mark.parametrize(
    ("name", "total"),
    [
        # Hugging Face safetensors metadata, of repositories that store nothing but parameters.
        ("meta-llama/Llama-3.1-8B", 8_030_261_248),
        ("meta-llama/Llama-3.1-70B", 70_553_706_496),
        ("meta-llama/Llama-3.1-405B", 405_853_388_800),
        ("meta-llama/Llama-3.2-1B", 1_235_814_400),
        ("mistralai/Mistral-7B-v0.3", 7_248_023_552),
        ("mistralai/Mixtral-8x7B-v0.1", 46_702_792_704),
        ("Qwen/Qwen2.5-7B", 7_615_616_512),
        ("Qwen/Qwen3-30B-A3B", 30_532_122_624),
        ("google/gemma-2-9b", 9_241_705_984),
        ("microsoft/phi-2", 2_779_683_840),
        ("openai/gpt-oss-20b", 20_914_757_184),
        ("deepseek-ai/DeepSeek-V2-Lite", 15_706_484_224),
        ("EleutherAI/pythia-1.4b", 1_414_647_808),
        # Known from the models' papers and from every library that loads them.
        ("openai-community/gpt2", 124_439_808),
        ("openai-community/gpt2-xl", 1_557_611_200),
        ("facebook/opt-1.3b", 1_315_758_080),
        ("google-t5/t5-small", 60_506_624),
    ],
)
def test_counts_known_from_elsewhere(name: str, total: int) -> None:
    assert model(name).parameters.total == total


def test_a_mixture_says_how_many_parameters_a_token_uses() -> None:
    assert model("mistralai/Mixtral-8x7B-v0.1").parameters.active == 12_879_925_248  # "12.9B active"
    assert model("Qwen/Qwen3-30B-A3B").parameters.active_published == "3.3B"
    assert model("meta-llama/Llama-3.1-8B").parameters.active is None


@every_model
def test_a_listed_pattern_covers_every_layer(entry: CatalogModel) -> None:
    config = entry.config.get("text_config", entry.config)
    layers = config.get("num_hidden_layers")
    for key in ("layer_types", "mlp_layer_types", "indexer_types", "hybrid_layer_pattern", "moe_layer_freq"):
        if isinstance(config.get(key), list):
            assert len(config[key]) == layers, key


@every_model
def test_shapes_are_whole(entry: CatalogModel) -> None:
    config = entry.config.get("text_config", entry.config)
    assert config.get("vocab_size", 0) > 1000
    heads, groups = config.get("num_attention_heads"), config.get("num_key_value_heads")
    if heads and groups:
        assert heads % groups == 0
    if heads and "head_dim" not in config and "qk_nope_head_dim" not in config:
        assert config["hidden_size"] % heads == 0
