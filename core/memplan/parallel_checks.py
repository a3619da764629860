"""Advice about how a run is split over devices: sizes that do not divide, and settings that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.expert_parts import Experts
from memplan.architecture.linear_parts import StateMixer
from memplan.architecture.parts import Architecture, Attention, Layer
from memplan.memory.gathering import gathered_dtype
from memplan.memory.setup import Setup
from memplan.memory.sharding import CUTS_TENSORS, SHARDS_STATES, data_parallel_devices, expert_parallel_of
from memplan.memory.states import HeldTensor, layer_tensors, sharded_tensor
from memplan.number_formats import BYTES_PER_VALUE
from memplan.number_style import number
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.result import Advice
from memplan.translation import tr
from memplan.units import format_bytes

_DEEPSPEED = ("zero1", "zero2", "zero3")
_WORTH_SAYING = 0.03
"""Of the need: what padding costs before it is spoken of."""


def parallel_advice(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    """What a person who has run such a split would say before starting this one."""
    yield from _about_sizes(scenario)
    yield from _about_tensors(scenario, architecture)
    yield from _about_stages(scenario, architecture)
    yield from _about_sequences(scenario)
    yield from _about_experts(scenario, architecture)
    yield from _about_strategy(scenario)
    yield from _about_offload(scenario)


def padding_advice(scenario: Scenario, setup: Setup, architecture: Architecture, need_bytes: int) -> Iterator[Advice]:
    """Say where FSDP2 cuts a tensor of fewer rows than devices, and pads it to a row for each.

    A gathered layer stands there twice: in the buffer that is gathered, and copied out into its weights.
    Source: PyTorch 2.13, torch/distributed/fsdp/_fully_shard/_fsdp_param.py (_init_sharded_param).
    """
    hardware = scenario.hardware
    devices = data_parallel_devices(hardware)
    if devices == 1 or hardware.sharding.strategy not in CUTS_TENSORS:
        return
    each = [_padded_tensors(layer, setup, hardware, devices) for layer in architecture.kinds]
    short = max(each, key=lambda layer: sum(one[0] for one in layer), default=[])
    padded, plain = sum(one[0] for one in short), sum(one[1] for one in short)
    if 2 * (padded - plain) <= _WORTH_SAYING * need_bytes:
        return
    *_, widest, among = max(short, key=lambda one: one[0])
    rows, experts = widest.shape[0], widest.of_experts
    of = ("expert" if rows == 1 else "experts") if experts else f"rows of {widest.name}"
    others = "FSDP1 and ZeRO-3 do not pad" + (", expert parallelism pads less" if experts else "")
    yield Advice(
        "hardware.sharding.strategy",
        tr(
            "{rows} {of} over {among} devices: FSDP2 pads them to a row for each device, so that a layer gathers "
            "{padded} of them and not {plain}; {others}."
        ).format(
            rows=number(rows),
            of=of,
            among=number(among),
            padded=format_bytes(padded),
            plain=format_bytes(plain),
            others=others,
        ),
    )


def _padded_tensors(
    layer: Layer, setup: Setup, hardware: Hardware, devices: int
) -> list[tuple[int, int, HeldTensor, int]]:
    """A layer's tensors of fewer rows than devices: bytes gathered with padding and without, among how many devices."""
    found = []
    for tensor in layer_tensors(layer, setup):
        among = devices // expert_parallel_of(hardware) if tensor.of_experts else devices
        if not tensor.packed and tensor.shape[0] < among:
            width = BYTES_PER_VALUE[gathered_dtype(hardware.sharding, tensor.dtype)] * tensor.count
            padded = among * sharded_tensor(tensor, among).values
            found.append((padded * width, tensor.values * width, tensor, among))
    return found


def keeps_masters(scenario: Scenario) -> bool:
    """Whether the strategy keeps fp32 weights beside 16-bit ones whatever is asked for."""
    hardware = scenario.hardware
    return hardware.devices > 1 and hardware.sharding.strategy in (*_DEEPSPEED, "megatron")


def _about_sizes(scenario: Scenario) -> Iterator[Advice]:
    hardware = scenario.hardware
    together = hardware.tensor_parallel * hardware.pipeline_parallel * hardware.context_parallel
    if together > hardware.devices:
        words = tr("Its parallel sizes take {together} devices, and the run has {devices}.").format(
            together=number(together), devices=number(hardware.devices)
        )
        yield Advice("hardware.devices", words)
    elif hardware.devices % together:
        below = hardware.devices // together * together
        words = tr(
            "The parallel sizes take {together} devices together, which do not divide {devices}: "
            "{below} or {above} would do."
        ).format(
            together=number(together),
            devices=number(hardware.devices),
            below=number(below),
            above=number(below + together),
        )
        yield Advice("hardware.devices", words)
    elif data_parallel_devices(hardware) % hardware.expert_parallel:
        words = tr("Experts are shared out among data-parallel devices: {count} here.").format(
            count=number(data_parallel_devices(hardware))
        )
        yield Advice("hardware.expert_parallel", words)
    if 1 < hardware.devices_per_node < hardware.tensor_parallel <= hardware.devices:
        words = tr("A node has {devices} devices: products would wait for the network in every layer.").format(
            devices=number(hardware.devices_per_node)
        )
        yield Advice("hardware.tensor_parallel", words)


def _about_tensors(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    parts = scenario.hardware.tensor_parallel
    heads = {layer.attention.heads for layer in architecture.kinds if not isinstance(layer.attention, StateMixer)}
    if any(count % parts for count in heads):
        words = tr("{heads} heads can not be divided by {parts}.").format(heads=_either(heads), parts=number(parts))
        yield Advice("hardware.tensor_parallel", words)
        return
    mixers = [layer.attention for layer in architecture.kinds if isinstance(layer.attention, Attention)]
    shared = {one.kv_heads for one in mixers if one.kv_heads % parts and parts % one.kv_heads}
    if shared:
        words = tr("{shared} key and value heads can neither be divided by {parts} nor repeated evenly.").format(
            shared=_either(shared), parts=number(parts)
        )
        yield Advice("hardware.tensor_parallel", words)
    if parts > 1 and any(isinstance(layer.attention, StateMixer) for layer in architecture.kinds):
        words = tr("Layers without attention have no rule for their parts: each device is taken to hold them whole.")
        yield Advice("hardware.tensor_parallel", words)


def _about_stages(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    stages, layers = scenario.hardware.pipeline_parallel, architecture.num_layers
    if stages > layers:
        words = tr("The model has {layers} layers: some stages have none.").format(layers=number(layers))
        yield Advice("hardware.pipeline_parallel", words)
    elif layers % stages:
        words = tr("{layers} layers can not be divided by {stages}: some stages have one more. Megatron refuses.")
        words = words.format(layers=number(layers), stages=number(stages))
        yield Advice("hardware.pipeline_parallel", words)
    yield from _about_virtual_stages(scenario, layers)
    if stages > 1 and scenario.training.gradient_accumulation < stages and scenario.training.method != "inference":
        words = tr(
            "With fewer micro-batches than the {stages} stages of the pipeline, some of them are always idle."
        ).format(stages=number(stages))
        yield Advice("training.gradient_accumulation", words)
    if stages > 1 and scenario.hardware.sharding.strategy in ("zero2", "zero3"):
        words = tr("DeepSpeed's pipelines take ZeRO-1 alone; they refuse ZeRO-2 and ZeRO-3.")
        yield Advice("hardware.sharding.strategy", words)


def _about_virtual_stages(scenario: Scenario, layers: int) -> Iterator[Advice]:
    """Megatron-LM, core/pipeline_parallel/schedules.py and arguments.py: what interleaving asks for."""
    parts, stages = scenario.hardware.virtual_stages, scenario.hardware.pipeline_parallel
    if parts == 1:
        return
    if stages == 1:
        yield Advice("hardware.virtual_stages", tr("It takes a pipeline to run parts of the model in turn."))
    elif layers % (stages * parts):
        words = tr("{layers} layers can not be divided by {stages} stages of {parts} parts. Megatron refuses.")
        words = words.format(layers=number(layers), stages=number(stages), parts=number(parts))
        yield Advice("hardware.virtual_stages", words)
    elif scenario.training.gradient_accumulation % stages:
        words = tr("Interleaved stages take a number of micro-batches that {stages} divides.").format(
            stages=number(stages)
        )
        yield Advice("training.gradient_accumulation", words)


def _about_sequences(scenario: Scenario) -> Iterator[Advice]:
    hardware, tokens = scenario.hardware, scenario.training.sequence_length
    if hardware.context_parallel > tokens:
        words = tr("A sequence has {tokens} tokens: some devices get none.").format(tokens=number(tokens))
        yield Advice("hardware.context_parallel", words)
    elif hardware.context_parallel > 1 and tokens % (2 * hardware.context_parallel):
        words = tr("Ring attention cuts a sequence in {pieces} pieces; pad it to a multiple.").format(
            pieces=number(2 * hardware.context_parallel)
        )
        yield Advice("training.sequence_length", words)
    if not hardware.sequence_parallel:
        return
    if hardware.tensor_parallel == 1:
        yield Advice("hardware.sequence_parallel", tr("It takes tensor-parallel devices to divide a sequence among."))
    elif tokens // hardware.context_parallel % hardware.tensor_parallel:
        words = tr("A device's {tokens} tokens can not be divided by {devices}; pad them to a multiple.").format(
            tokens=number(tokens // hardware.context_parallel), devices=number(hardware.tensor_parallel)
        )
        yield Advice("training.sequence_length", words)


def _about_experts(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    shared_by = scenario.hardware.expert_parallel
    counts = {layer.mlp.count for layer in architecture.kinds if isinstance(layer.mlp, Experts)}
    if shared_by > 1 and not counts:
        yield Advice("hardware.expert_parallel", tr("The model has no experts to share out."))
    elif any(count % shared_by for count in counts):
        words = tr("{counts} experts can not be shared out by {shared_by}.").format(
            counts=_either(counts), shared_by=number(shared_by)
        )
        yield Advice("hardware.expert_parallel", words)


def _about_strategy(scenario: Scenario) -> Iterator[Advice]:
    hardware, training = scenario.hardware, scenario.training
    strategy = hardware.sharding.strategy
    alone = hardware.devices > 1 and data_parallel_devices(hardware) == 1
    if strategy in SHARDS_STATES and alone:
        words = tr("The parallel sizes take every device, so there is none left to divide states among.")
        yield Advice("hardware.sharding.strategy", words)
    if not keeps_masters(scenario) or training.method != "full":
        return
    if training.weights_dtype != "fp32" and not training.master_weights:
        whose = "Megatron" if strategy == "megatron" else "DeepSpeed"
        words = tr(
            "{whose} keeps fp32 master weights and states beside 16-bit weights: 12 bytes a parameter, divided."
        ).format(whose=whose)
        yield Advice("training.master_weights", words)
    if strategy in _DEEPSPEED and training.optimizer_in_backward:
        yield Advice("training.optimizer_in_backward", tr("DeepSpeed applies gradients itself, in its own step."))


def _about_offload(scenario: Scenario) -> Iterator[Advice]:
    offload, strategy = scenario.hardware.offload, scenario.hardware.sharding.strategy
    if offload.parameters and strategy in ("zero1", "zero2"):
        yield Advice("hardware.offload.parameters", tr("DeepSpeed moves parameters to the host under ZeRO-3 alone."))
    if offload.optimizer and not offload.parameters and strategy in ("fsdp1", "fsdp2"):
        words = tr("FSDP has no switch for states alone: it moves parameters, gradients and states together.")
        yield Advice("hardware.offload.optimizer", words)


def _either(counts: set[int]) -> str:
    return " or ".join(number(count) for count in sorted(counts))
