"""Exports: read back they are the same scenario, as far as the format can say it; what it cannot is named.

What a format can say is written down here, from the trainers' own documentation, independently of the writers.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memplan.cli.ending import run
from memplan.cli.exchange_commands import FORMAT_IDS
from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.exchange.documents import parse_document
from memplan.exchange.export import EXPORT_FORMATS, export_scenario
from memplan.exchange.importing import import_documents
from memplan.exchange.settling import field_applies, field_paths
from memplan.plan.edit import value_at
from memplan.plan.file import save_plan
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Plan, Scenario
from memplan.plan.training import Training
from memplan.units import format_bytes
from tests.core.plan_strategies import scenarios, sections

Content = dict[str, Any]
MODEL = {"catalog": "meta-llama/Llama-3.2-1B"}
"""Stored in bf16, and torchtune has a builder of it."""
DEVICE = "a100-80gb-sxm"
LLAMA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def made(training: Content, hardware: Content) -> Scenario:
    content = {"model": MODEL, "training": training, "hardware": hardware}
    return Scenario.model_validate_json(json.dumps(content))


def sizes() -> st.SearchStrategy[Content]:
    return st.fixed_dictionaries(
        {
            "micro_batch": st.integers(1, 64),
            "sequence_length": st.integers(1, 1_000_000),
            "gradient_accumulation": st.integers(1, 512),
        }
    )


def adapters(dtype: str = "fp32", *, layers: bool = False) -> st.SearchStrategy[Content]:
    """Adapters; with `layers`, on the last ones of 16 alone as well."""
    targets = st.just("all-linear") | st.lists(st.sampled_from(LLAMA_TARGETS), min_size=1, unique=True)
    return st.fixed_dictionaries(
        {
            "rank": st.integers(1, 512),
            "targets": targets,
            "dropout": st.sampled_from([0.0, 0.05, 0.1]),
            "adapter_dtype": st.just(dtype),
            "modules_to_save": st.sampled_from([[], ["embed_tokens", "lm_head"]]),
            "last_layers": st.none() | st.integers(1, 16) if layers else st.none(),
        }
    )


def merged(*parts: st.SearchStrategy[Content]) -> st.SearchStrategy[Content]:
    return st.tuples(*parts).map(lambda contents: {key: value for one in contents for key, value in one.items()})


def fixed(**values: Any) -> st.SearchStrategy[Content]:
    return st.just(values)


def one_of(name: str, *values: Any) -> st.SearchStrategy[Content]:
    return st.sampled_from(values).map(lambda value: {name: value})


def packed(*formats: str) -> st.SearchStrategy[Content]:
    return st.sampled_from(formats).flatmap(
        lambda form: st.booleans().map(
            lambda double: {
                "method": "qlora",
                "quantization": {"format": form, "double_quant": double or form == "int8", "fp32_unquantized": False},
            }
        )
    )


HF_OPTIMIZERS = one_of(
    "optimizer",
    "adamw_8bit",
    "adamw_4bit",
    "paged_adamw_8bit",
    "paged_adamw_32bit",
    "adafactor",
    "lion",
    "galore",
) | merged(fixed(optimizer="adamw"), one_of("optimizer_impl", "fused", "foreach"))
MUON = fixed(optimizer="muon")
"""transformers' Trainer has none, trainers on it have."""
AXOLOTL_PRECISION = st.sampled_from(
    [
        {"weights_dtype": "bf16", "autocast": "bf16", "trainer": "accelerate"},
        {"weights_dtype": "bf16", "autocast": "none", "trainer": "accelerate"},
        {"weights_dtype": "fp16", "autocast": "fp16", "trainer": "accelerate"},
        {"weights_dtype": "fp32", "autocast": "none", "trainer": "accelerate"},
    ]
)
KEPT = one_of("checkpointing", "none", "full", "offload")
ATTENTION = one_of("attention", "eager", "sdpa", "flash")


def axolotl() -> st.SearchStrategy[Scenario]:
    adapter = adapters(layers=True).map(lambda lora: {"method": "lora", "lora": lora})
    method = fixed(method="full") | adapter | merged(adapter, packed("nf4", "fp4", "int8"))
    loss = st.sampled_from(
        [{}, {"loss": "fused"}, {"loss": "chunked"}, {"loss": "fused", "kernels": "liger"}, {"kernels": "liger"}]
    )
    optimizer = HF_OPTIMIZERS | MUON | fixed(optimizer="adamw_fp8")
    training = merged(sizes(), optimizer, AXOLOTL_PRECISION, KEPT, ATTENTION, method, loss)
    copies = fixed(devices=8, sharding={"strategy": "ddp"})
    experts = merged(copies, one_of("expert_parallel", 1, 2))
    # Its ring needs flash attention; Liger's losses do not go with divided matrices.
    ring = st.builds(made, merged(training, fixed(attention="flash")), merged(copies, fixed(context_parallel=2)))
    eager_loss = merged(training, fixed(loss="plain"))
    matrices = st.builds(made, eager_loss, merged(copies, fixed(tensor_parallel=2)))
    return (
        st.builds(made, training, experts)
        | ring
        | matrices
        | st.builds(made, whole_shards(method), sharded(freed=True))
    )


def whole_shards(method: st.SearchStrategy[Content]) -> st.SearchStrategy[Content]:
    """What FSDP trains under bf16: fp32 where all weights train, the stored dtype beside adapters."""
    mixed = {"autocast": "bf16", "trainer": "accelerate"}
    return merged(sizes(), HF_OPTIMIZERS, KEPT, ATTENTION, method).map(
        lambda some: {**some, **mixed, "weights_dtype": "fp32" if some["method"] == "full" else "bf16"}
    )


def sharded(*, freed: bool = False) -> st.SearchStrategy[Content]:
    """Both FSDPs; `freed`: where the first always frees its units."""
    kinds = [("fsdp1", True), ("fsdp2", True), ("fsdp2", False), *([] if freed else [("fsdp1", False)])]
    return st.builds(
        lambda kind, host: {
            "devices": 8,
            "sharding": {"strategy": kind[0], "reshard_after_forward": kind[1]},
            "offload": {"optimizer": host, "parameters": host},
        },
        st.sampled_from(kinds),
        st.booleans(),
    )


def llama_factory() -> st.SearchStrategy[Scenario]:
    adapter = adapters().map(lambda lora: {"method": "lora", "lora": lora})
    whole = fixed(method="full", weights_dtype="fp32", autocast="bf16", trainer="accelerate")
    pure = fixed(method="full", weights_dtype="bf16", trainer="accelerate")
    frozen = st.builds(
        lambda layers, embeddings, head: {"method": "freeze", "freeze": {"trainable_layers": layers, "embeddings": embeddings, "head": head}},
        st.integers(1, 12), st.booleans(), st.booleans(),
    )  # fmt: skip
    part = merged(frozen, fixed(weights_dtype="fp32", autocast="bf16", trainer="accelerate"))
    beside = merged(adapter, fixed(weights_dtype="bf16", autocast="bf16", trainer="accelerate"))
    method = whole | pure | part | beside | merged(beside, packed("nf4", "fp4", "int8"))
    liger = st.sampled_from([{}, {"loss": "fused", "kernels": "liger"}])
    training = merged(sizes(), HF_OPTIMIZERS | MUON, method, KEPT, ATTENTION, liger)
    both = fixed(method="full") | adapters().map(lambda lora: {"method": "lora", "lora": lora})
    copies = st.builds(made, training, fixed(devices=8, sharding={"strategy": "ddp"}))
    return copies | st.builds(made, merged(whole_shards(both), liger), sharded())


def torchtune() -> st.SearchStrategy[Scenario]:
    dtype = st.sampled_from(["bf16", "fp32"])
    optimizer = one_of(
        "optimizer", "paged_adamw_8bit", "paged_adamw_32bit", "adamw_8bit", "sgd", "sgd_momentum", "adafactor"
    ) | merged(fixed(optimizer="adamw"), one_of("optimizer_impl", "fused", "foreach"))

    def with_dtype(name: str) -> st.SearchStrategy[Content]:
        attention = st.lists(st.sampled_from(LLAMA_TARGETS[:4]), min_size=1, max_size=3, unique=True)
        targets = st.just("all-linear") | attention | attention.map(lambda names: [*names, *LLAMA_TARGETS[4:]])
        adapter = st.builds(
            lambda rank, names: {"method": "lora", "lora": {"rank": rank, "targets": names, "adapter_dtype": name}},
            st.integers(1, 64), targets,
        )  # fmt: skip
        base = {"method": "qlora", "quantization": {"fp32_unquantized": False}}
        return merged(fixed(weights_dtype=name), fixed(method="full") | adapter | merged(adapter, st.just(base)))

    rest = merged(one_of("loss", "plain", "chunked"), fixed(kernels="torchtune"))
    training = merged(sizes(), dtype.flatmap(with_dtype), optimizer, KEPT, rest)
    whole = merged(sizes(), dtype.map(lambda name: {"weights_dtype": name}), optimizer, KEPT, rest)
    in_backward = merged(whole, fixed(optimizer_in_backward=True, gradient_accumulation=1))
    sharding = st.booleans().map(
        lambda freed: {"sharding": {"strategy": "fsdp2", "mixed_precision": False, "reshard_after_forward": freed}}
    )
    offload = st.booleans().map(lambda host: {"offload": {"optimizer": host, "parameters": host}})
    hardware = merged(fixed(devices=4), sharding, offload)
    # The recipe for adapters divides no matrices, the one for all weights only without a fused step.
    divided = merged(whole, fixed(optimizer="adamw", optimizer_impl="foreach"))
    matrices = merged(hardware, fixed(tensor_parallel=2))
    return st.builds(made, training | in_backward, hardware) | st.builds(made, divided, matrices)


def mlx() -> st.SearchStrategy[Scenario]:
    adapter = adapters(layers=True).map(lambda lora: {"method": "lora", "lora": {**lora, "modules_to_save": []}})
    last = st.integers(1, 16).map(
        lambda layers: {"method": "freeze", "freeze": {"trainable_layers": layers, "head": False}}
    )
    optimizer = one_of("optimizer", "adamw", "adafactor", "sgd", "muon")
    training = merged(sizes(), adapter | last, optimizer, one_of("checkpointing", "none", "full"), fixed(kernels="mlx"))
    return st.builds(made, training, fixed(device="apple-m3-max-64gb"))


def script() -> st.SearchStrategy[Scenario]:
    precision = st.sampled_from(
        [
            {"weights_dtype": weights, "autocast": cast, "trainer": "accelerate"}
            for weights in ("fp32", "bf16", "fp16")
            for cast in ("none", "bf16", "fp16")
        ]
    )
    adapter = adapters(layers=True).map(lambda lora: {"method": "lora", "lora": lora})
    frozen = st.builds(
        lambda layers, head: {"method": "freeze", "freeze": {"trainable_layers": layers, "head": head}},
        st.integers(0, 12),
        st.booleans(),
    )
    method = fixed(method="full") | frozen | adapter | merged(adapter, packed("nf4", "fp4", "int8"))
    training = merged(sizes(), HF_OPTIMIZERS, precision, one_of("checkpointing", "none", "full"), ATTENTION, method)
    return st.builds(made, training, fixed(devices=2, sharding={"strategy": "ddp"}))


def deepspeed() -> st.SearchStrategy[Scenario]:
    training = st.builds(
        lambda some, dtype, optimizer: {
            **some, "sequence_length": 2048, "weights_dtype": dtype, "master_weights": True, **optimizer,
        },
        sizes(), st.sampled_from(["bf16", "fp16"]),
        st.sampled_from([{"optimizer_impl": "fused"}, {"optimizer": "adagrad"}, {"optimizer": "lion"}, {"optimizer": "muon"}]),
    )  # fmt: skip
    zero = st.sampled_from([("zero1", False), ("zero2", False), ("zero3", False), ("zero3", True)])
    size = st.none() | st.integers(0, 10**9)
    stages = {
        "zero1": {"reduce_bucket": size, "overlap_comm": st.booleans()},
        "zero3": {"reduce_bucket": size, "prefetch_bucket": size, "persistence_threshold": size, "reuse_distance": st.integers(0, 10**9)},
    }  # fmt: skip
    stages["zero2"] = stages["zero1"]
    hardware = st.tuples(zero, st.booleans()).flatmap(
        lambda drawn: st.fixed_dictionaries(stages[drawn[0][0]]).map(
            lambda buckets: {
                "devices": 8,
                "sharding": {"strategy": drawn[0][0], **buckets},
                "offload": {"optimizer": drawn[1], "parameters": drawn[0][1]},
            }
        )
    )
    return st.builds(made, training, hardware)


def accelerate() -> st.SearchStrategy[Scenario]:
    whole = {"weights_dtype": "fp32", "autocast": "bf16", "trainer": "accelerate"}
    fsdp = st.builds(
        lambda version, freed, host, kept: (
            {**whole, "checkpointing": kept},
            {"devices": 8, "sharding": {"strategy": version, "reshard_after_forward": freed}, "offload": {"optimizer": host, "parameters": host}},
        ),
        st.sampled_from(["fsdp1", "fsdp2"]), st.booleans(), st.booleans(), st.sampled_from(["none", "full"]),
    )  # fmt: skip
    zero = st.builds(
        lambda stage, count: (
            {"weights_dtype": "bf16", "master_weights": True, "gradient_accumulation": count},
            {"devices": 16, "sharding": {"strategy": stage}},
        ),
        st.sampled_from(["zero1", "zero2", "zero3"]), st.integers(1, 64),
    )  # fmt: skip
    plain = st.builds(lambda devices: ({}, {"devices": devices, "sharding": {"strategy": "ddp"}}), st.integers(2, 64))
    divided = st.builds(
        lambda matrices, sequences: (
            whole,
            {"devices": 8, "sharding": {"strategy": "fsdp2"}, "tensor_parallel": matrices, "context_parallel": sequences},
        ),
        st.sampled_from([1, 2]), st.sampled_from([1, 2]),
    )  # fmt: skip
    return st.builds(lambda both: made(*both), fsdp | zero | plain | divided)


SAYS = {
    "script": script, "deepspeed": deepspeed, "accelerate": accelerate, "axolotl": axolotl,
    "llama-factory": llama_factory, "torchtune": torchtune, "mlx": mlx,
}  # fmt: skip
ONLY_ELSEWHERE = {
    "script": {"hardware.devices", "training.sequence_length"}, "deepspeed": {"hardware.devices"},
    "axolotl": {"hardware.devices"}, "llama-factory": {"hardware.devices"}, "torchtune": {"hardware.devices"},
}  # fmt: skip
"""What the command line that starts the trainer says, or a program."""


@pytest.mark.parametrize("form", SAYS)
def test_what_a_format_can_say_comes_back(form: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(SAYS[form]())
    def check(scenario: Scenario) -> None:
        told = {one.path for one in export_scenario(scenario, form).unsaid}
        assert told <= ONLY_ELSEWHERE.get(form, set())

    check()


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_any_scenario_is_written_or_refused_in_words(form: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(scenarios())
    def check(scenario: Scenario) -> None:
        with suppress(MemplanError):
            export_scenario(scenario, form)

    check()


@pytest.mark.parametrize("form", [form for form in SAYS if form != "script"])
def test_a_person_reads_the_same_scenario_back(form: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(SAYS[form]())
    def check(scenario: Scenario) -> None:
        exported = export_scenario(scenario, form)
        name = f"recipe{exported.suffix}"
        document = parse_document(exported.text.encode(), name, exported.suffix[1:])
        hardware = scenario.hardware
        answers = {"hardware.devices": hardware.devices, "hardware.device": hardware.device, "model": MODEL}
        imported = import_documents([document], answers)
        assert imported.scenario is not None
        assert imported.scenario.training == scenario.training
        assert imported.scenario.hardware == scenario.hardware
        assert not [note for note in imported.notes if note.kind in ("misspelt", "ignored") and "known" in note.words]

    check()


NOT_THE_RUNS = {"hardware.device", "hardware.devices_per_node", "hardware.used_by_others_bytes", "hardware.headroom"}


def odd_plans() -> st.SearchStrategy[Scenario]:
    """Any training on any hardware, however unwise; the model and the device are of the catalog."""
    return st.builds(
        lambda training, hardware: Scenario.model_validate(
            {"model": MODEL, "training": training.model_dump(), "hardware": {**hardware.model_dump(), "device": DEVICE}}
        ),
        sections(Training).filter(lambda training: training.method != "inference"),
        sections(Hardware).filter(lambda hardware: hardware.devices == 1 or hardware.sharding.strategy != "none"),
    )


@pytest.mark.parametrize("form", [form for form in SAYS if form != "script"])
def test_an_odd_plan_comes_back_with_what_was_not_said(form: str) -> None:
    """What an export says, and what it says that it does not, are together the scenario."""

    @settings(max_examples=25, deadline=None)
    @given(odd_plans())
    def check(scenario: Scenario) -> None:
        exported = export_scenario(scenario, form)
        document = parse_document(exported.text.encode(), f"recipe{exported.suffix}", exported.suffix[1:])
        told = {one.path: value_at(scenario, one.path) for one in exported.unsaid}
        answers = {path: value for path, value in told.items() if value is not None}
        imported = import_documents([document], {**answers, "hardware.device": DEVICE, "model": MODEL})
        assert imported.scenario is not None
        method, strategy = scenario.training.method, scenario.hardware.sharding.strategy
        for path in field_paths():
            concerns = path.startswith(EXPORT_FORMATS[form].concerns) and path not in NOT_THE_RUNS
            if concerns and field_applies(path, method, strategy) and value_at(scenario, path) is not None:
                assert value_at(imported.scenario, path) == value_at(scenario, path), path

    check()


def test_the_estimate_stands_in_each_format() -> None:
    scenario = made({"method": "lora"}, {})
    for form in EXPORT_FORMATS:
        assert re.search(r"(Fits|Tight|Does not fit): needs [0-9.]+ GiB", export_scenario(scenario, form).text), form


def test_what_is_not_said_is_named() -> None:
    scenario = made({"method": "lora", "lora": {"adapter_dtype": "bf16"}, "optimizer_in_backward": True}, {})
    exported = export_scenario(scenario, "llama-factory")
    assert {one.path for one in exported.unsaid} == {
        "training.optimizer_in_backward",
        "training.trainer",
        "hardware.devices",
    }
    assert "Optimizer in backward yes" in exported.text


def test_the_file_says_what_it_needs_itself() -> None:
    """LLaMA-Factory has no key for the adapters' dtype: its file runs with bf16 adapters, which keep fewer inputs."""
    training = {"method": "lora", "lora": {"rank": 16, "targets": "all-linear", "adapter_dtype": "fp32"}}
    found = export_scenario(made(training, {}), "llama-factory")
    (line,) = [line for line in found.text.splitlines() if "As this file runs" in line]
    document = parse_document(found.text.encode(), "a.yaml")
    alone = import_documents([document], {"hardware.device": "a100-80gb-sxm", "hardware.devices": 1}).scenario
    assert alone is not None
    assert line.endswith(f"needs {format_bytes(estimate(alone).need_bytes)}")


LAST = {"method": "lora", "lora": {"targets": "all-linear", "last_layers": 3}}


def test_layers_are_numbered_for_peft_beside_names() -> None:
    """Llama 3.2 1B has 16 layers; PEFT refuses numbers beside "all-linear" (peft 0.21.2, LoraConfig)."""
    text = export_scenario(made(LAST, {}), "script").text
    assert "layers_to_transform=[13, 14, 15]" in text
    (line,) = [line for line in text.splitlines() if "target_modules" in line]
    assert set(ast.literal_eval(line.partition("=")[2].strip(" ,"))) == set(LLAMA_TARGETS)
    axolotl = yaml.safe_load(export_scenario(made(LAST, {}), "axolotl").text)
    assert (axolotl["peft_layers_to_transform"], axolotl["lora_target_linear"]) == ([13, 14, 15], True)
    assert yaml.safe_load(export_scenario(made(LAST, {}), "mlx").text)["num_layers"] == 3


@pytest.mark.parametrize("form", ["llama-factory", "torchtune"])
def test_layers_are_not_said_where_there_is_no_key(form: str) -> None:
    unsaid = {one.path for one in export_scenario(made(LAST, {}), form).unsaid}
    assert "training.lora.last_layers" in unsaid
    assert "training.lora.targets" not in unsaid


def test_layers_of_a_size_alone_are_not_numbered() -> None:
    content = {"model": {"parameters": 7_000_000_000}, "training": LAST}
    found = export_scenario(Scenario.model_validate(content), "script")
    assert "layers_to_transform" not in found.text
    assert "training.lora.last_layers" in {one.path for one in found.unsaid}


@pytest.mark.parametrize("kept", ["none", "full"])
def test_the_script_makes_inputs_need_gradients_for_checkpoints_alone(kept: str) -> None:
    """Otherwise layers before the first adapter would be recorded, and kbit training would turn checkpoints on."""
    packed = {**LAST, "method": "qlora", "checkpointing": kept, "quantization": {"fp32_unquantized": True}}
    text = export_scenario(made(packed, {}), "script").text
    assert ("model.enable_input_require_grads()" in text) == (kept == "full")
    assert ("use_gradient_checkpointing=False" in text) == (kept == "none")


def test_a_file_that_says_it_all_has_one_need() -> None:
    training = {"method": "full", "weights_dtype": "bf16", "trainer": "accelerate"}
    assert "As this file runs" not in export_scenario(made(training, {}), "llama-factory").text


def test_a_name_with_odd_characters_stays_on_its_line() -> None:
    content = made({}, {}).model_dump(exclude_none=True)
    scenario = Scenario.model_validate({**content, "name": "a\nbase_model: other\x1b[31m"})
    for form in ("axolotl", "script"):
        text = export_scenario(scenario, form).text
        assert "\nbase_model: other" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_inference_has_no_recipe(form: str) -> None:
    with pytest.raises(MemplanError, match="trains nothing"):
        export_scenario(made({"method": "inference"}, {}), form)


def test_a_model_without_a_builder_is_told() -> None:
    scenario = Scenario.model_validate({"model": {"parameters": 7_000_000_000, "name": "own"}})
    with pytest.raises(MemplanError, match="torchtune has no builder of own"):
        export_scenario(scenario, "torchtune")


def test_the_command_names_the_formats_that_there_are() -> None:
    assert set(EXPORT_FORMATS) == set(FORMAT_IDS)


def test_the_command_writes_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(
        scenarios=(
            made({}, {}),
            Scenario.model_validate({**made({"method": "lora"}, {}).model_dump(exclude_none=True), "name": "second"}),
        )
    )
    save_plan(plan, tmp_path / "two.memplan")
    two, recipe = str(tmp_path / "two.memplan"), tmp_path / "recipe.yaml"
    assert run(["export", two, "--as", "axolotl"]) == 2
    assert "Name one with --scenario" in capsys.readouterr().err
    assert run(["export", two, "--as", "axolotl", "--scenario", "second", "-o", str(recipe)]) == 0
    assert "Not said in it: Devices 1." in capsys.readouterr().err
    assert yaml.safe_load(recipe.read_text(encoding="utf-8"))["adapter"] == "lora"
    assert run(["export", two, "--as", "axolot", "--scenario", "1"]) == 2
    assert "Known are script, deepspeed" in capsys.readouterr().err


@settings(max_examples=40, deadline=None)
@given(script())
def test_the_script_is_python(scenario: Scenario) -> None:
    ast.parse(export_scenario(scenario, "script").text)


_NO_PLAN_SAYS = (
    "lora_alpha",
    "learning_rate",
    "lr",
    "dataset",
    "datasets",
    "data",
    "num_epochs",
    "num_train_epochs",
    "iters",
)


@pytest.mark.parametrize("form", ["axolotl", "llama-factory", "torchtune", "mlx", "script"])
def test_what_no_plan_says_is_marked_as_the_persons(form: str) -> None:
    lora = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": {"method": "lora"}})
    text = export_scenario(lora, form).text
    lines = [line for line in text.splitlines() if re.match(rf" *({'|'.join(_NO_PLAN_SAYS)})[:=](?!=)", line)]
    assert len(lines) >= 3
    assert [line for line in lines if "# yours: " not in line] == []
    head = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    assert any("placeholders" in line for line in head)
    assert [line for line in text.splitlines() if re.match(r" *(lora_r|r|micro_batch_size)[:=].*# yours", line)] == []
