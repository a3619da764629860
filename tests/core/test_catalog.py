"""Looking entries up by name and by the words that a person types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan import catalog
from memplan.catalog import device, devices, model, models, search_devices, search_models
from memplan.errors import MemplanError, UnknownEntryError


def ids(entries: tuple[catalog.CatalogModel, ...] | tuple[catalog.Device, ...]) -> list[str]:
    return [entry.id for entry in entries]


@pytest.mark.parametrize(
    "name",
    [
        "meta-llama/Llama-3.1-8B",
        "META-LLAMA/llama-3.1-8b",
        "meta-llama/Llama-3.1-8B-Instruct",
        "Llama-3.1-8B",
        " llama 3.1 8b ",
    ],
)
def test_a_model_answers_to_its_id_its_aliases_and_its_bare_name(name: str) -> None:
    assert model(name).id == "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a100-80gb-sxm", "a100-80gb-sxm"),
        ("A100-80GB", "a100-80gb-sxm"),
        ("h100", "h100-sxm"),
        ("RTX 4090", "rtx-4090"),
        # The names that drivers report.
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"),
        ("Tesla T4", "t4"),
        ("AMD Instinct MI300X", "mi300x"),
    ],
)
def test_a_device_answers_to_its_id_and_to_what_its_driver_calls_it(name: str, found: str) -> None:
    assert device(name).id == found


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.id)
def test_every_name_of_a_model_leads_to_it(entry: catalog.CatalogModel) -> None:
    assert all(model(name) is entry for name in (entry.id, *entry.aliases))


@pytest.mark.parametrize("entry", devices(), ids=lambda entry: entry.id)
def test_every_name_of_a_device_leads_to_it(entry: catalog.Device) -> None:
    assert all(device(name) is entry for name in (entry.id, *entry.aliases))


@pytest.mark.parametrize(
    ("look_up", "name", "message"),
    [
        (
            model,
            "meta-llama/Lama-3.1-8B",
            'no model "meta-llama/Lama-3.1-8B" in the catalog. Did you mean meta-llama/Llama-3.1-8B, ',
        ),
        (
            device,
            "a100",
            'no device "a100" in the catalog. Did you mean a100-80gb-sxm, a100-80gb-pcie or a100-40gb-sxm?',
        ),
        (device, "rtx-4099", 'no device "rtx-4099" in the catalog. Did you mean rtx-4090, '),
        (device, "zzzzzz", 'no device "zzzzzz" in the catalog. `memplan catalog devices` lists them.'),
        (model, "", 'no model "" in the catalog. `memplan catalog models` lists them.'),
    ],
)
def test_an_unknown_name_is_told_with_the_closest(look_up: object, name: str, message: str) -> None:
    assert callable(look_up)
    with pytest.raises(UnknownEntryError) as caught:
        look_up(name)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("llama 8b", ["meta-llama/Llama-3.1-8B", "meta-llama/Meta-Llama-3-8B"]),
        ("8b llama", ["meta-llama/Llama-3.1-8B", "meta-llama/Meta-Llama-3-8B"]),
        ("llama3.1", ["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-405B"]),
        ("qwen3 moe", ["Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-235B-A22B", "Qwen/Qwen3-Coder-480B-A35B-Instruct"]),
        ("Qwen2.5-7B", ["Qwen/Qwen2.5-7B"]),
        ("phi-4", ["microsoft/phi-4", "microsoft/Phi-4-mini-instruct"]),
        ("deepseek v3", ["deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3.2"]),
        ("codellama 34b", ["codellama/CodeLlama-34b-hf"]),
        ("mixtral", ["mistralai/Mixtral-8x7B-v0.1"]),
        ("llama vision", ["meta-llama/Llama-3.2-11B-Vision"]),
        ("magistral", ["mistralai/Mistral-Small-24B-Base-2501"]),
    ],
)
def test_model_search_puts_first_what_a_person_expects(query: str, first: list[str]) -> None:
    assert ids(search_models(query))[: len(first)] == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("h100", ["h100-sxm", "h100-pcie", "h100-nvl"]),
        ("h10", ["h100-sxm"]),
        ("a100", ["a100-80gb-sxm"]),
        ("a100 40gb", ["a100-40gb-sxm", "a100-40gb-pcie"]),
        ("4090", ["rtx-4090", "rtx-4090-laptop"]),
        ("rtx4090", ["rtx-4090", "rtx-4090-laptop"]),
        ("m4 max 64", ["apple-m4-max-64gb"]),
        ("l4", ["l4", "l40", "l40s"]),
        ("amd mi300", ["mi300x"]),
        ("spark", ["dgx-spark-gb10"]),
        ("rtx 6000", ["rtx-6000-ada"]),
    ],
)
def test_device_search_puts_first_what_a_person_expects(query: str, first: list[str]) -> None:
    assert ids(search_devices(query))[: len(first)] == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("qwen 32b", ["Qwen/Qwen3-32B", "Qwen/Qwen2.5-32B", "Qwen/Qwen1.5-32B"]),
        ("llama 70b", ["meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.1-70B"]),
        ("mistral small", ["mistralai/Mistral-Small-4-119B-2603", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"]),
        ("gemma 27b", ["google/gemma-3-27b-pt", "google/gemma-2-27b"]),
    ],
)
def test_of_a_series_the_newest_comes_first(query: str, first: list[str]) -> None:
    """Generations by the models' own names: who types a family and a size means its newest model."""
    assert ids(search_models(query))[: len(first)] == first


def test_every_word_must_match() -> None:
    assert ids(search_devices("4090 laptop")) == ["rtx-4090-laptop"]
    assert search_devices("4090 apple") == ()
    assert all("hopper" in entry.architecture.casefold() for entry in search_devices("hopper 80gb"))
    assert {entry.advertised_gb for entry in search_devices("hopper 80gb")} == {80}


def test_a_size_does_not_match_inside_another_number() -> None:
    found = ids(search_models("8b"))
    assert "Qwen/Qwen3-8B" in found
    assert not {"Qwen/Qwen3.5-0.8B", "Qwen/Qwen1.5-1.8B", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"} & set(found)


def test_an_empty_query_finds_everything_in_order() -> None:
    assert search_models("") == models()
    assert search_devices(" - ") == devices()
    assert search_models("no such thing") == ()


def test_a_name_and_its_number_may_be_typed_apart_or_together() -> None:
    assert ids(search_models("qwen 2.5 7b"))[0] == "Qwen/Qwen2.5-7B"
    assert set(ids(search_models("qwen2.5"))) <= set(ids(search_models("qwen 2.5")))
    assert ids(search_devices("a 100"))[0] == "a100-80gb-sxm"


def test_signs_are_no_words() -> None:
    assert search_models(".*") == ()
    assert search_devices("[") == ()


def test_a_long_name_is_shortened_where_it_is_repeated() -> None:
    with pytest.raises(MemplanError) as caught:
        model("x" * 5000 + "\x1b")
    assert len(str(caught.value)) < 200
    assert "\x1b" not in str(caught.value)


def test_the_catalog_is_read_once() -> None:
    assert models() is models()
    assert devices() is devices()


@pytest.fixture
def catalog_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that takes the place of resources/catalog."""
    monkeypatch.setattr(catalog, "resource", lambda *parts: tmp_path / parts[-1])
    catalog._model_index.cache_clear()
    yield tmp_path
    catalog._model_index.cache_clear()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"models": []}',
        '{"format": 2, "models": []}',
        '{"format": 1, "models": [{}]}',
        '{"format": 1, "models": [3]}',
    ],
)
def test_a_damaged_catalog_is_told_with_its_file_and_the_remedy(catalog_in: Path, content: str) -> None:
    (catalog_in / "models.json").write_text(content, encoding="utf-8")
    with pytest.raises(MemplanError) as caught:
        models()
    assert caught.value.place == str(catalog_in / "models.json")
    assert str(caught.value).endswith("The installation is damaged: install memplan again.")


def test_what_stands_in_the_file_is_what_the_entry_says(catalog_in: Path) -> None:
    written = {
        "id": "a/B-1b", "aliases": ["a/B-1b-chat"], "family": "b", "config": {"model_type": "llama"},
        "parameters": {"total": 5, "active": None, "text_only": None, "basis": "x", "published": None, "published_source": None},
        "count_verified": True, "dtype_published": "float32", "licence": None, "sources": ["s"], "unverified": [], "notes": ["n"],
    }  # fmt: skip
    (catalog_in / "models.json").write_text(json.dumps({"format": 1, "models": [written]}), encoding="utf-8")
    (entry,) = models()
    assert (entry.id, entry.name, entry.model_type, entry.parameters.total) == ("a/B-1b", "B-1b", "llama", 5)
    assert (entry.aliases, entry.sources, entry.unverified, entry.notes) == (("a/B-1b-chat",), ("s",), (), ("n",))
    assert model("b-1b-chat") is entry


def test_a_name_and_its_size_may_be_typed_together() -> None:
    assert ids(search_models("qwen32b")) == ids(search_models("qwen 32b")) != []
    assert ids(search_models("llama70b")) == ids(search_models("llama 70b")) != []
