"""Advice. What is right: the field it stands at, and that it comes exactly when its reason is there."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.result import Advice
from tests.core.small_models import GPT2, LLAMA, Config
from tests.core.truth_cases import cases, scenario_of
from tools.make_evidence import TRACED

CAREFUL = {"weights_dtype": "fp32", "autocast": "bf16"}
"""A set-up that nothing is to be said about."""


NAMES = itemgetter("id")


def warnings(
    training: dict[str, Any] | None = None, hardware: dict[str, Any] | None = None, config: Config = LLAMA
) -> dict[str, str]:
    """What is said, by the field it is said of."""
    found = estimate(
        Scenario.model_validate(
            {"model": {"config": config}, "training": {**CAREFUL, **(training or {})}, "hardware": hardware or {}}
        )
    )
    return {one.path: one.message for one in found.warnings}


def basis(
    training: dict[str, Any] | None = None, hardware: dict[str, Any] | None = None, config: Config = LLAMA
) -> str:
    scenario = {"model": {"config": config}, "training": {**CAREFUL, **(training or {})}, "hardware": hardware or {}}
    return estimate(Scenario.model_validate(scenario)).basis


@pytest.mark.parametrize(("upcast", "dtype"), [(True, "fp32"), (False, "16 bit")])
def test_experts_that_4_bit_leaves_are_said_to_be_held_as_they_are_counted(upcast: bool, dtype: str) -> None:
    training = {"method": "qlora", "quantization": {"fp32_unquantized": upcast}}
    model = {"catalog": "mistralai/Mixtral-8x7B-v0.1"}
    found = estimate(Scenario.model_validate({"model": model, "training": training}))
    words = {one.path: one.message for one in found.warnings}["training.quantization.format"]
    assert words.endswith(f"are held in {dtype}.")


def test_nothing_is_said_of_a_careful_set_up() -> None:
    assert warnings() == {}
    assert basis() == "traced"


EXTRAPOLATED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"kernels": "liger"}, {}, "training.kernels"),
    ({"kernels": "unsloth"}, {}, "training.kernels"),
    ({"optimizer": "galore"}, {}, "training.optimizer"),
    ({"optimizer": "muon"}, {"devices": 8, "sharding": {"strategy": "fsdp2"}}, "training.optimizer"),
    *(
        ({"optimizer": optimizer}, {"devices": 8, "sharding": {"strategy": strategy}}, "training.optimizer")
        for optimizer in (
            "adamw_8bit",
            "paged_adamw_8bit",
            "adamw_4bit",
            "adamw_fp8",
            "lion",
            "adafactor",
            "ademamix_8bit",
        )
        for strategy in ("fsdp1", "fsdp2")
    ),
    (
        {"weights_dtype": "bf16", "master_weights": True},
        {"devices": 8, "sharding": {"strategy": "fsdp2"}},
        "training.master_weights",
    ),
    ({"optimizer_in_backward": True}, {}, "training.optimizer_in_backward"),
    ({"checkpointing": "selective"}, {}, "training.checkpointing"),
    ({"checkpointing": "offload"}, {}, "training.checkpointing"),
    ({"method": "lora", "lora": {"modules_to_save": ["score"]}}, {}, "training.lora.modules_to_save"),
    ({"method": "qlora", "quantization": {"format": "int8"}}, {}, "training.quantization.format"),
    ({}, {"devices": 8, "tensor_parallel": 2}, "hardware.tensor_parallel"),
    ({}, {"devices": 8, "tensor_parallel": 2, "sequence_parallel": True}, "hardware.sequence_parallel"),
    ({}, {"devices": 8, "pipeline_parallel": 2}, "hardware.pipeline_parallel"),
    ({}, {"devices": 8, "context_parallel": 2}, "hardware.context_parallel"),
    ({}, {"offload": {"optimizer": True}}, "hardware.offload.optimizer"),
    ({}, {"offload": {"parameters": True}}, "hardware.offload.parameters"),
    ({}, {"offload": {"activations": True}}, "hardware.offload.activations"),
    ({}, {"devices": 8}, "hardware.devices"),
    ({}, {"devices": 8, "sharding": {"strategy": "ddp"}}, "hardware.devices"),
    *(
        ({}, {"devices": 8, "sharding": {"strategy": strategy}}, "hardware.sharding.strategy")
        for strategy in ("zero1", "zero2", "zero3", "megatron")
    ),
]


@pytest.mark.parametrize(("training", "hardware", "path"), EXTRAPOLATED, ids=str)
def test_what_was_never_held_against_truth_says_so(
    training: dict[str, Any], hardware: dict[str, Any], path: str
) -> None:
    said = warnings(training, hardware)
    assert path in said
    assert said[path].endswith(".")
    assert basis(training, hardware) == "extrapolated"


@pytest.mark.parametrize("case", [one for file in TRACED for one in cases(file) if "sharding" in one], ids=NAMES)
def test_what_was_traced_in_shards_is_said_to_be(case: dict[str, Any]) -> None:
    """Every trace of sharded training: AdamW, SGD and momentum, fp32 and 16-bit weights, adapters."""
    assert estimate(scenario_of(case)).basis == "traced"


def test_master_weights_that_nothing_needs_are_no_extrapolation() -> None:
    """fp32 weights, and PEFT's fp32 adapters on a 16-bit base, have no copy: there is nothing unproved."""
    sharded = {"devices": 8, "sharding": {"strategy": "fsdp2"}}
    for training in ({"weights_dtype": "fp32"}, {"weights_dtype": "bf16", "method": "lora"}):
        assert basis({**training, "master_weights": True}, sharded) == "traced"


def test_selective_checkpointing_is_never_taken_for_full() -> None:
    """What it recomputes differs from library to library; a verdict must not rest on the most that could be."""

    def activations(checkpointing: str) -> int:
        training = {"checkpointing": checkpointing, "sequence_length": 2048}
        found = estimate(Scenario.model_validate({"model": {"config": LLAMA}, "training": training}))
        return max(one.bytes_by_term.get("activations", 0) for one in found.instants)

    assert activations("full") < activations("selective") == activations("none")


def test_an_unknown_model_type_is_extrapolated() -> None:
    unknown = {**LLAMA, "model_type": "newest"}
    assert basis(config=unknown) == "extrapolated"
    assert "newest" in warnings(config=unknown)["model"]


@pytest.mark.parametrize(
    ("strategy", "found"), [("megatron", "traced"), ("fsdp2", "traced"), ("zero3", "extrapolated")]
)
def test_sharding_over_one_device_is_no_sharding_but_for_deepspeeds_buckets(strategy: str, found: str) -> None:
    assert basis(hardware={"devices": 1, "sharding": {"strategy": strategy}}) == found


UNWISE: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"autocast": "none"}, {}, "training.weights_dtype", "fp32"),
    ({"weights_dtype": "bf16", "autocast": "none"}, {}, "training.master_weights", "lost to rounding"),
    ({"weights_dtype": "fp16", "autocast": "none"}, {}, "training.weights_dtype", "scaler refuses fp16"),
    ({"master_weights": True}, {}, "training.master_weights", "fp32 already"),
    ({"optimizer_in_backward": True, "gradient_accumulation": 2}, {}, "training.gradient_accumulation", "accumulated"),
    ({"weights_dtype": "bf16", "master_weights": True}, {}, "training.autocast", "in that dtype already"),
    ({"method": "lora", "lora": {"targets": ["query"]}}, {}, "training.lora.targets", "q_proj"),
    ({}, {"devices": 6, "tensor_parallel": 4}, "hardware.devices", "do not divide"),
    (
        {},
        {"devices": 8, "pipeline_parallel": 2, "sharding": {"strategy": "zero3"}},
        "hardware.sharding.strategy",
        "refuse ZeRO-2",
    ),
    ({}, {"devices": 1, "tensor_parallel": 4}, "hardware.devices", "take 4 devices"),
    ({}, {"devices": 7, "tensor_parallel": 7}, "hardware.tensor_parallel", "can not be divided by 7"),
    ({}, {"devices": 999, "pipeline_parallel": 999}, "hardware.pipeline_parallel", "have none"),
    ({"sequence_length": 3}, {"devices": 4, "context_parallel": 4}, "hardware.context_parallel", "get none"),
    ({}, {"devices": 8, "pipeline_parallel": 4}, "training.gradient_accumulation", "always idle"),
    ({"sequence_length": 100}, {"devices": 8, "context_parallel": 8}, "training.sequence_length", "in 16 pieces"),
    ({}, {"devices": 8, "sequence_parallel": True}, "hardware.sequence_parallel", "tensor-parallel devices"),
    (
        {"sequence_length": 101},
        {"devices": 2, "tensor_parallel": 2, "sequence_parallel": True},
        "training.sequence_length",
        "101 tokens can not be divided by 2",
    ),
    (
        {},
        {"devices": 4, "pipeline_parallel": 4, "sharding": {"strategy": "zero1"}},
        "hardware.sharding.strategy",
        "none left to divide",
    ),
    (
        {"weights_dtype": "bf16", "autocast": "none"},
        {"devices": 8, "sharding": {"strategy": "zero2"}},
        "training.master_weights",
        "DeepSpeed keeps fp32 master weights",
    ),
    (
        {"optimizer_in_backward": True},
        {"devices": 8, "sharding": {"strategy": "zero2"}},
        "training.optimizer_in_backward",
        "in its own step",
    ),
    (
        {},
        {"devices": 8, "sharding": {"strategy": "zero2"}, "offload": {"parameters": True}},
        "hardware.offload.parameters",
        "under ZeRO-3 alone",
    ),
    (
        {},
        {"devices": 8, "sharding": {"strategy": "fsdp2"}, "offload": {"optimizer": True}},
        "hardware.offload.optimizer",
        "no switch for states alone",
    ),
    (
        {},
        {"devices": 8, "devices_per_node": 2, "tensor_parallel": 4},
        "hardware.tensor_parallel",
        "wait for the network",
    ),
    ({}, {"devices": 8, "expert_parallel": 8}, "hardware.expert_parallel", "no experts"),
    ({}, {"devices": 1, "expert_parallel": 8}, "hardware.expert_parallel", "among data-parallel devices"),
    ({"method": "lora", "lora": {"targets": []}}, {}, "training.lora.targets", "nothing trains"),
    ({"method": "lora", "lora": {"targets": ["q_proj", "query"]}}, {}, "training.lora.targets", "called query"),
    ({"method": "lora", "lora": {"rank": 4096}}, {}, "training.lora.rank", "narrowest matrix"),
    ({"method": "lora", "lora": {"last_layers": 5}}, {}, "training.lora.last_layers", "has 4 layers"),
    (
        {"method": "freeze", "freeze": {"trainable_layers": 0, "head": False}},
        {},
        "training.freeze.trainable_layers",
        "Nothing trains",
    ),
    ({"trainable_fraction": 0.01}, {}, "training.trainable_fraction", "rank and targets count"),
    ({"kernels_version": "banana"}, {}, "training.kernels_version", "not a version"),
    ({"kernels_version": "99"}, {}, "training.kernels_version", "Newer"),
    ({"kernels_version": "0.1"}, {}, "training.kernels_version", "Older"),
    ({"attention": "flash"}, {"device": "t4"}, "training.attention", "no kernels for Turing"),
    ({}, {"device": "t4"}, "training.autocast", "no bf16"),
]


@pytest.mark.parametrize(("training", "hardware", "path", "words"), UNWISE, ids=str)
def test_what_is_unwise_is_told_beside_its_field(
    training: dict[str, Any], hardware: dict[str, Any], path: str, words: str
) -> None:
    scenario = Scenario.model_validate(
        {"model": {"config": LLAMA}, "training": {**CAREFUL, **training}, "hardware": hardware}
    )
    found = estimate(scenario).warnings
    assert any(one.path == path and words in one.message for one in found)


@pytest.mark.parametrize(("method", "told"), [("inference", True), ("full", True), ("qlora", False)])
def test_weights_that_are_stored_packed_are_counted_as_trainers_unpack_them_and_that_is_said(
    method: str, told: bool
) -> None:
    """A config.json of GPTQ, AWQ or fp8 weights has `quantization_config` (transformers, quantizers)."""
    config = {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4}}
    scenario = Scenario.model_validate({"model": {"config": config}, "training": {"method": method}})
    assert any("stored packed (gptq)" in one.message for one in estimate(scenario).warnings) is told


def test_advice_is_never_a_refusal() -> None:
    """Unwise values still give an estimate; the verdict says what becomes of them."""
    found = estimate(Scenario.model_validate({"model": {"config": LLAMA}, "training": {"micro_batch": 1_000_000}}))
    assert found.verdict == "does_not_fit"


@pytest.mark.parametrize(
    ("model", "contradicts"),
    [
        ({"parameters": 7 * 10**9, "layers": 80, "hidden_size": 8192}, True),
        ({"parameters": 7 * 10**9, "layers": 32, "hidden_size": 4096}, False),
        ({"parameters": 7 * 10**9}, False),
    ],
)
def test_a_size_that_a_shape_cannot_have(model: dict[str, Any], contradicts: bool) -> None:
    """80 layers of width 8192 have 4 × 8192² parameters each in attention alone: 21B."""
    found = estimate(Scenario.model_validate({"model": model}))
    assert any("contradict" in one.message for one in found.warnings) == contradicts
    gradients = max(one.bytes_by_term.get("gradients", 0) for one in found.instants)
    assert gradients <= 2 * found.parameters.trainable


@pytest.mark.parametrize("version", ["4.20", "4.48.1", "5.24", "v5"])
def test_nothing_is_said_of_a_version_that_is_known(version: str) -> None:
    assert "training.kernels_version" not in warnings({"kernels_version": version})


def test_learned_positions_run_out() -> None:
    assert "training.sequence_length" not in warnings({"sequence_length": 1024}, config=GPT2)
    assert "1024 learned positions" in warnings({"sequence_length": 1025}, config=GPT2)["training.sequence_length"]


@pytest.mark.parametrize(("training", "hardware", "path"), EXTRAPOLATED, ids=str)
def test_every_path_is_a_field_of_the_scenario(training: dict[str, Any], hardware: dict[str, Any], path: str) -> None:
    """The window puts each word beside its field: the path must lead to one."""
    scenario = Scenario.model_validate({"model": {"config": LLAMA}, "training": training, "hardware": hardware})
    for one in estimate(scenario).warnings:
        assert one == Advice(one.path, one.message)
        node: Any = scenario
        for name in one.path.split("."):
            assert name in type(node).model_fields, one.path
            node = getattr(node, name)
    assert replaced(scenario, "name", "same").training == scenario.training


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"checkpointing": "full", "checkpoint_every": 4}, ""),
        ({"checkpointing": "full", "checkpoint_every": 5}, "4 layers"),
        ({"checkpointing": "selective", "checkpoint_every": 2}, "treat all alike"),
        ({"checkpointing": "offload", "checkpoint_every": 2}, "treat all alike"),
        ({"checkpointing": "offload"}, ""),
        ({"checkpoint_every": 5}, ""),
    ],
)
def test_layers_between_checkpoints_are_said_to_be_what_is_counted(training: dict[str, Any], said: str) -> None:
    """Four layers: none's number can be divided by 5; and `checkpoint_every` belongs to full checkpointing."""
    found = warnings(training).get("training.checkpoint_every", "")
    assert said in found
    assert bool(said) == bool(found)


def test_checkpoints_that_take_bare_layers_into_backward_are_said_to() -> None:
    """peft 0.21.2, prepare_model_for_gradient_checkpointing; transformers 5.24, modeling_utils.py (gradient_checkpointing_
    enable asks for gradients of inputs); mlx-lm and torchtitan have nothing of the kind."""
    few = {"method": "lora", "lora": {"last_layers": 2}, "checkpointing": "full"}
    assert "PEFT" in warnings(few)["training.checkpointing"]
    for other in ({"checkpointing": "none"}, {"lora": {"last_layers": 4}}, {"kernels": "mlx"}):
        assert "training.checkpointing" not in warnings({**few, **other})
    frozen = {"method": "freeze", "freeze": {"trainable_layers": 2}, "checkpointing": "full"}
    assert "transformers 5" in warnings(frozen)["training.checkpointing"]
    trained = {**frozen, "freeze": {"trainable_layers": 2, "embeddings": True}}
    for other in (trained, {**frozen, "kernels_version": "4.57"}):
        assert "training.checkpointing" not in warnings(other)


VISION = {
    "model_type": "siglip_vision_model", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "image_size": 56, "patch_size": 14,
}  # fmt: skip


def test_towers_are_said_to_be_left_as_they_are_where_all_else_trains() -> None:
    """A weight without a gradient is not updated and has no states (PyTorch 2.13, optim/adamw.py: p.grad is None)."""
    config = {"model_type": "llava", "text_config": LLAMA, "vision_config": VISION}
    found = warnings(config=config)["training.method"]
    assert "not as trained" in found
    for others in (warnings({"method": "lora"}, config=config), warnings()):
        assert "not as trained" not in others.get("training.method", "")


def test_targets_of_which_none_is_there_are_refused_by_peft() -> None:
    """peft 0.21.2, tuners/tuners_utils.py (inject_adapter): it raises where nothing matched, and not where some did."""
    none = warnings({"method": "lora", "lora": {"targets": ["attn", "ffn"]}})["training.lora.targets"]
    assert "No module is called attn or ffn: PEFT refuses" in none
    some = warnings({"method": "lora", "lora": {"targets": ["q_proj", "ffn"]}})["training.lora.targets"]
    assert "No module is called ffn. This model's are" in some
