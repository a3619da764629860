"""Exports are accepted by the trainers' own parsers: a check for development.

MEMPLAN_LIBRARIES_PYTHON names a Python that has the libraries, or several with the system's path separator between
(torchtune goes with another torchao than the rest). Where a library is in none of them, its check is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memplan.exchange.export import export_scenario
from memplan.exchange.torchtune import torchtune_models
from memplan.plan.scenario import Scenario
from tests.core.exchange.test_export import SAYS

PYTHONS = tuple(one for one in os.environ.get("MEMPLAN_LIBRARIES_PYTHON", "").split(os.pathsep) if one)
PROGRAMS = Path(__file__).parent / "their_parsers"
COUNT = 60
FORMATS = {
    "script": ("transformers", ("transformers", "peft", "bitsandbytes")),
    "deepspeed": ("deepspeed", ("deepspeed", "transformers")),
    "accelerate": ("accelerate", ("accelerate", "deepspeed")),
    "axolotl": ("axolotl", ("axolotl",)),
    "llama-factory": ("llama_factory", ("llamafactory",)),
    "torchtune": ("torchtune", ("torchtune", "omegaconf")),
    "mlx": ("mlx_lm", ("mlx_lm", "mlx")),
}
"""For each format the program that asks its library, and what that program imports."""
MARK = "memplan has it"


@cache
def python_with(modules: tuple[str, ...]) -> str | None:
    """The first Python that imports the modules."""
    for python in PYTHONS:
        program = f"import {', '.join(modules)}; print({MARK!r})"
        told = subprocess.run(
            [python, "-c", program],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "DISABLE_VERSION_CHECK": "1"},
        )
        if MARK in told.stdout:
            return python
    return None


def drawn(strategy: st.SearchStrategy[Scenario]) -> list[Scenario]:
    """Scenarios that the strategy makes, the same ones each time."""
    found: list[Scenario] = []

    @settings(max_examples=COUNT, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(strategy)
    def take(scenario: Scenario) -> None:
        found.append(scenario)

    take()
    return found


def refusals(form: str, texts: list[str], folder: Path) -> dict[str, str]:
    """What the library refuses, by its own words; skips where there is no library."""
    program, modules = FORMATS[form]
    python = python_with(modules)
    if python is None:
        pytest.skip(f"MEMPLAN_LIBRARIES_PYTHON names no Python with {' and '.join(modules)}")
    result = subprocess.run(
        [python, str(PROGRAMS / f"{program}.py")],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert result.returncode == 0, result.stderr[-2000:]
    told = json.loads(result.stdout.splitlines()[-1])
    assert len(told) == len(texts)
    return {words: text for words, text in zip(told, texts, strict=True) if words}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_its_own_parser_accepts_it(form: str, tmp_path: Path) -> None:
    if not PYTHONS:
        pytest.skip("MEMPLAN_LIBRARIES_PYTHON names no Python with the libraries")
    texts = [export_scenario(scenario, form).text for scenario in drawn(SAYS[form]())]
    assert refusals(form, texts, tmp_path) == {}


@pytest.mark.slow
def test_every_model_of_torchtune_has_its_builder(tmp_path: Path) -> None:
    if not PYTHONS:
        pytest.skip("MEMPLAN_LIBRARIES_PYTHON names no Python with the libraries")
    methods = ({"method": "full"}, {"method": "lora", "lora": {"targets": ["q_proj", "lm_head"]}}, {"method": "qlora"})
    texts = [
        export_scenario(Scenario.model_validate_json(json.dumps({"model": {"catalog": name}, "training": method})), "torchtune").text
        for name in torchtune_models()
        for method in methods
    ]  # fmt: skip
    told = refusals("torchtune", texts, tmp_path)
    assert {words: text for words, text in told.items() if "torchvision" not in words} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("script", "arguments = TrainingArguments(output_dir='out', gradient_checkpoint=True)"),
        ("deepspeed", '{"zero_optimization": {"stage": 4}, "bf16": {"enabled": true}, "fp16": {"enabled": false}, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1}'),
        ("accelerate", "distributed_type: FSDP\nnum_processes: 2\nmixed_precision: bf16\nfsdp_config: {fsdp_verzion: 1}\n"),
        ("axolotl", "base_model: m\ndatasets: [{path: a, type: alpaca}]\nmicro_batch_size: many\nlearning_rate: 1e-4\n"),
        ("llama-factory", "model_name_or_path: m\nstage: sft\nfinetuning_typ: lora\noutput_dir: out\n"),
        ("torchtune", "model: {_component_: torchtune.models.llama3_1.llama3_1_8b, layers: 3}\nbatch_size: 1\n"),
        ("mlx", "model: m\ntrain: true\nlora_rank: 8\n"),
    ],
)  # fmt: skip
def test_a_planted_error_is_refused(form: str, text: str, tmp_path: Path) -> None:
    if not PYTHONS:
        pytest.skip("MEMPLAN_LIBRARIES_PYTHON names no Python with the libraries")
    assert refusals(form, [text], tmp_path)
