"""Levers that keep numbers in fewer bits, or fewer numbers for each weight: other dtypes, other optimizers."""

from __future__ import annotations

from memplan.levers.lever import ALWAYS, Changes, Lever, adapts, device_in, never, setting
from memplan.memory.optimizers import RULES
from memplan.plan.scenario import Scenario
from memplan.translation import tr

_SHARDS_IN_BF16 = ("fsdp1", "fsdp2", "zero3")


def _has_bf16(scenario: Scenario) -> bool:
    device = device_in(scenario)
    return device is None or device.bf16_supported


def _autocast(scenario: Scenario) -> Changes:
    return {"training.autocast": "bf16" if _has_bf16(scenario) else "fp16"}


def _autocast_why_not(scenario: Scenario) -> str | None:
    training, hardware = scenario.training, scenario.hardware
    if training.weights_dtype != "fp32":
        return tr("weights are in 16 bit already")
    casts = hardware.devices > 1 and hardware.sharding.mixed_precision
    if casts and hardware.sharding.strategy in _SHARDS_IN_BF16:
        return tr("sharded weights are cast to bf16 as they are gathered")
    return None


def _bf16_why_not(scenario: Scenario) -> str | None:
    return None if _has_bf16(scenario) else tr("the device has no bf16 arithmetic of its own")


def _gradients_why_not(scenario: Scenario) -> str | None:
    return tr("weights, and so gradients, are in fp32") if scenario.training.weights_dtype == "fp32" else None


def _master_why_not(scenario: Scenario) -> str | None:
    return None if scenario.training.master_weights else tr("there are no master weights")


def _adapters_why_not(scenario: Scenario) -> str | None:
    return None if adapts(scenario) else tr("there are no adapters")


def _packed_why_not(scenario: Scenario) -> str | None:
    return None if scenario.training.method == "qlora" else tr("the base is not packed")


def _rest_why_not(scenario: Scenario) -> str | None:
    if scenario.training.weights_dtype == "fp32":
        return tr("weights are loaded in fp32")
    return _packed_why_not(scenario)


def _double_why_not(scenario: Scenario) -> str | None:
    if scenario.training.quantization.format not in ("nf4", "fp4"):
        return tr("only bitsandbytes' 4-bit formats have scales to pack again")
    return _packed_why_not(scenario)


def _on_cuda_only(scenario: Scenario) -> str | None:
    device = device_in(scenario)
    if scenario.hardware.offload.optimizer:
        return tr("bitsandbytes' optimizers run on the device alone")
    if scenario.training.kernels == "mlx":
        return tr("bitsandbytes does not run under MLX")
    return tr("bitsandbytes does not run on Apple's GPUs") if device is not None and device.vendor == "Apple" else None


def _paged_why_not(scenario: Scenario) -> str | None:
    device = device_in(scenario)
    if device is not None and device.vendor != "NVIDIA":
        return tr("pages come and go by CUDA's unified memory")
    return tr("device and host share one memory") if device is not None and device.device_class == "unified" else None


def _torchao_why_not(scenario: Scenario) -> str | None:
    return tr("torchao does not run under MLX") if scenario.training.kernels == "mlx" else None


PRECISION: tuple[Lever, ...] = (
    setting(
        id="double_quantization",
        title="Double quantisation",
        short="Rounds scales",
        price="The block scales of the 4-bit base are rounded to 8 bits.",
        does="The scales of the packed base shrink: about 8% of the base.",
        idle="The base is not packed, or is small beside activations.",
        source="Dettmers et al. 2023, arXiv:2305.14314, section 3",
        group="double_quantization",
        on={"training.quantization.double_quant": True},
        off={"training.quantization.double_quant": False},
        is_on=lambda scenario: scenario.training.quantization.double_quant and _double_why_not(scenario) is None,
        why_not=_double_why_not,
        changes_what="precision",
        counts_as=0.01,
    ),
    setting(
        id="rest_in_16_bit",
        title="Rest in 16 bit",
        short="Not upcast",
        price="Embeddings, norms and head of a 4-bit base stay in 16 bit, not upcast to fp32.",
        does="Halves what is not packed: embeddings, head and norms.",
        idle="The vocabulary is small, so that little is not packed.",
        source="PEFT 0.21, prepare_model_for_kbit_training; Unsloth leaves them in 16 bit",
        group="unquantized",
        on={"training.quantization.fp32_unquantized": False},
        off={"training.quantization.fp32_unquantized": True},
        is_on=lambda scenario: not scenario.training.quantization.fp32_unquantized and _rest_why_not(scenario) is None,
        why_not=_rest_why_not,
        changes_what="precision",
        counts_as=0.02,
    ),
    Lever(
        id="autocast",
        title="Autocast",
        short="16-bit products",
        price="Products run in 16 bit over fp32 weights, which also makes them faster.",
        does="Layers keep what products read in 16 bit instead of 32.",
        idle="Weights, gradients and states are what is too much: they stay in fp32, and a 16-bit copy of "
        "weights comes on top.",
        source="Micikevicius et al. 2017, arXiv:1710.03740; PyTorch documentation, torch.amp",
        group="weights_dtype",
        on=_autocast,
        off={"training.autocast": "none"},
        is_on=lambda scenario: scenario.training.autocast != "none",
        why_not=_autocast_why_not,
        changes_what="precision",
        counts_as=0.03,
        serves=ALWAYS,
    ),
    setting(
        id="adapters_in_16_bit",
        title="16-bit adapters",
        short="Rounds updates",
        price="Adapters, their gradients and states in bf16: small updates can be lost to rounding.",
        does="Halves adapters with their gradients and states, and the inputs that adapters keep.",
        idle="There are no adapters, or activations are recomputed anyway.",
        source="PEFT 0.21, autocast_adapter_dtype",
        group="adapter_dtype",
        on={"training.lora.adapter_dtype": "bf16"},
        off={"training.lora.adapter_dtype": "fp32"},
        is_on=lambda scenario: adapts(scenario) and scenario.training.lora.adapter_dtype != "fp32",
        why_not=_adapters_why_not,
        changes_what="precision",
        counts_as=0.05,
    ),
    setting(
        id="gradients_in_16_bit",
        title="16-bit gradients",
        short="Rounds sums",
        price="Gradients in the weights' 16 bits: sums of many micro-batches lose small parts.",
        does="Gradients take 2 bytes a parameter instead of 4.",
        idle="Few parameters train, or gradients are in 16 bit already, as PyTorch's are beside 16-bit weights.",
        source="DeepSpeed documentation, data_types.grad_accum_dtype",
        group="gradients_dtype",
        on={"training.gradients_dtype": "weights"},
        off={"training.gradients_dtype": "fp32"},
        is_on=lambda scenario: (
            scenario.training.weights_dtype != "fp32" and scenario.training.gradients_dtype != "fp32"
        ),
        why_not=_gradients_why_not,
        changes_what="precision",
        counts_as=0.1,
    ),
    Lever(
        id="no_master_weights",
        title="No master weights",
        short="Loses small updates",
        price="Weights and states in 16 bit alone (pure bf16): small updates can be lost to rounding.",
        does="Takes the fp32 copy away, 4 bytes a parameter, and keeps states in the weights' 16 bits.",
        idle="There is no such copy: PyTorch alone keeps none.",
        source="Micikevicius et al. 2017, arXiv:1710.03740, section 3.1",
        group="master_weights",
        on=lambda scenario: {"training.master_weights": False, "training.optimizer_state_dtype": "weights"},
        off={},
        is_on=never,
        why_not=_master_why_not,
        changes_what="precision",
        counts_as=0.25,
    ),
    setting(
        id="bf16_weights",
        title="bf16 weights",
        short="16-bit rounding",
        price="Weights, and with them gradients and PyTorch's states, in bf16: they are rounded, and small updates can "
        "be lost.",
        does="Halves weights, gradients and PyTorch's states.",
        idle="They are in 16 bit already, or activations are what is too much.",
        source="Micikevicius et al. 2017, arXiv:1710.03740, section 3.1",
        group="weights_dtype",
        on={"training.weights_dtype": "bf16", "training.autocast": "none"},
        off={"training.weights_dtype": "fp32"},
        is_on=lambda scenario: scenario.training.weights_dtype != "fp32",
        why_not=_bf16_why_not,
        changes_what="precision",
        counts_as=0.25,
        serves=ALWAYS,
    ),
)
OPTIMIZERS: tuple[Lever, ...] = (
    setting(
        id="optimizer_8bit",
        title="8-bit optimizer",
        short="8-bit rounding",
        price="States are rounded to 8 bits in blocks; needs bitsandbytes, results are close to those of 32-bit AdamW.",
        does="AdamW's two moments take about 2 bytes a parameter instead of 4 in bf16 or 8 in fp32.",
        idle="Few parameters train, so that there are hardly any states.",
        source="Dettmers et al. 2021, arXiv:2110.02861",
        group="optimizer",
        on={"training.optimizer": "adamw_8bit"},
        off={"training.optimizer": "adamw"},
        is_on=lambda scenario: RULES[scenario.training.optimizer].format in ("8bit", "fp8"),
        why_not=_on_cuda_only,
        changes_what="optimizer",
        counts_as=0.05,
    ),
    setting(
        id="optimizer_paged",
        title="Paged 8-bit optimizer",
        short="8-bit, pages to host",
        price="States are rounded to 8 bits and live in the host's memory, from where they come by pages.",
        does="The moments live in the host's memory and come by pages for the step.",
        idle="Few parameters train, or device and host share one memory.",
        source="Dettmers et al. 2023, arXiv:2305.14314, section 3",
        group="optimizer",
        on={"training.optimizer": "paged_adamw_8bit"},
        off={"training.optimizer": "adamw_8bit"},
        why_not=lambda scenario: _on_cuda_only(scenario) or _paged_why_not(scenario),
        changes_what="optimizer",
        counts_as=0.12,
    ),
    setting(
        id="optimizer_4bit",
        title="4-bit optimizer",
        short="4-bit rounding",
        price="States are rounded to 4 bits in blocks; needs torchao, and is less tried than 8 bits.",
        does="AdamW's two moments take about 1 byte a parameter.",
        idle="Few parameters train, so that there are hardly any states.",
        source="Li et al. 2023, arXiv:2309.01507; torchao documentation, low-bit optimizers",
        group="optimizer",
        on={"training.optimizer": "adamw_4bit"},
        off={"training.optimizer": "adamw"},
        why_not=_torchao_why_not,
        changes_what="optimizer",
        counts_as=0.15,
    ),
    setting(
        id="adafactor",
        title="Adafactor",
        short="Another optimizer",
        price="Another optimizer, which keeps rows and columns of its second moment: wants its own learning rate.",
        does="States shrink to the rows and columns of each matrix, which is next to nothing.",
        idle="Few parameters train, so that there are hardly any states.",
        source="Shazeer and Stern 2018, arXiv:1804.04235",
        group="optimizer",
        on={"training.optimizer": "adafactor"},
        off={"training.optimizer": "adamw"},
        changes_what="optimizer",
        counts_as=0.4,
    ),
    setting(
        id="sgd",
        title="SGD",
        short="Trains worse",
        price="Another optimizer, without states: wants its own learning rate, and trains transformers worse than "
        "AdamW.",
        does="No states at all.",
        idle="Few parameters train, so that there are hardly any states.",
        source="Zhang et al. 2020, arXiv:1912.03194",
        group="optimizer",
        on={"training.optimizer": "sgd"},
        off={"training.optimizer": "adamw"},
        changes_what="optimizer",
        counts_as=1.0,
        is_advised=False,
    ),
)
