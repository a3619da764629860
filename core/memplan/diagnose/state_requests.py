"""What loading, set-up and the optimizer's step ask for: weights, states, and what sharding makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from memplan.allocation import Allocation
from memplan.architecture.dividing import share
from memplan.diagnose.request import Request
from memplan.memory.gathering import gathered_dtype
from memplan.memory.optimizers import RULES, state_dtype, state_tensors
from memplan.memory.sharding import CUTS_TENSORS, SHARDS_STATES, data_parallel_devices
from memplan.memory.states import (
    HeldTensor,
    gradient_dtype,
    has_master,
    held_tensors,
    layer_tensors,
    outer_tensors,
    packed_parts,
    sharded_tensor,
)
from memplan.number_formats import BYTES_PER_VALUE
from memplan.result import InstantName, TermName

SUB_GROUP_VALUES = 10**9
"""ZeRO-3 works through its partition in groups of so many values (deepspeed/runtime/zero/config.py, sub_group_size)."""
BUCKET_VALUES = 500_000_000
"""Values of ZeRO's buckets (reduce_bucket_size, allgather_bucket_size), unless a config sets them."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """A moment in a run: its instant, and what tensors hold from when it begins to when it ends."""

    instant: InstantName
    held_low: int
    held_high: int

    def request(
        self, what: str, of: str, shape: tuple[int, ...], dtype: str, num_bytes: int, term: TermName, why: str = ""
    ) -> Request:
        return Request(
            what, of, shape, dtype, num_bytes, self.instant, term, self.held_low, self.held_high, not why, why
        )


def state_requests(held: Allocation) -> Iterator[Request]:
    """Every tensor that is no part of a micro-batch."""
    states, divides = held.states, _divides(held)
    loaded = states.weights + states.adapters
    before = loaded + states.master + states.gradients
    loading = _Scene("loaded", 0, max(loaded, held.whole.weights))
    first_step = _Scene("optimizer_step", before, before + states.optimizer)
    with_states = before + states.optimizer  # PyTorch makes all states before it updates the first weight
    updating = _Scene("optimizer_step", with_states, with_states + states.step_temporary)
    tensors = held_tensors(held.stage.part, held.setup) if held.chosen.exact else ()
    yield from _loading(held, tensors, loading)
    if held.scenario.training.method == "inference":
        return
    strategy = held.scenario.hardware.sharding.strategy
    if divides and strategy not in CUTS_TENSORS:
        yield from _flat(held, loading, first_step, updating)
    else:
        yield from _tensor_by_tensor(held, tensors, first_step, updating)
    if divides:
        yield from _gathered(held)


def _divides(held: Allocation) -> bool:
    hardware = held.scenario.hardware
    return hardware.sharding.strategy in SHARDS_STATES and data_parallel_devices(hardware) > 1


def _loading(held: Allocation, tensors: tuple[HeldTensor, ...], loading: _Scene) -> Iterator[Request]:
    """Weights as they arrive, in the plan's dtype and in others that a script may load them in."""
    double_quant = held.scenario.training.quantization.double_quant
    for t in tensors:
        if t.packed:
            part = packed_parts(t, double_quant=double_quant)[0]
            yield loading.request("weight", t.name, t.shape, t.packed_format, part, "weights")
            yield from _unpacked(held, t)
        for dtype in _in_16_and_32(t.dtype):
            why = "" if dtype == t.dtype and not t.packed else f"the plan holds it in {_form(t)}"
            size = t.values * BYTES_PER_VALUE[dtype]
            term: TermName = "adapters" if t.adapter else "weights"
            yield loading.request(
                "weight, not packed" if t.packed else "weight", t.name, t.shape, dtype, size, term, why
            )
    whole = held.chosen.parameters
    for dtype in ("bf16", "fp32"):
        size = whole * BYTES_PER_VALUE[dtype]
        yield loading.request(
            "all weights in one buffer", "", (whole,), dtype, size, "weights", "the whole model copied at once"
        )
    if not tensors:
        yield from _ends_of_a_size(held, loading)


def _ends_of_a_size(held: Allocation, loading: _Scene) -> Iterator[Request]:
    """Of a model known by its size: the tables of its vocabulary."""
    model = held.stage.part
    for name, shape in (
        (model.tokens.name, (model.tokens.rows, model.tokens.width)),
        (model.head.name, (model.head.outputs, model.head.inputs)),
    ):
        for dtype in _in_16_and_32(held.setup.weights_dtype):
            why = "" if dtype == held.setup.weights_dtype else f"the plan holds it in {held.setup.weights_dtype}"
            size = prod(shape) * BYTES_PER_VALUE[dtype]
            yield loading.request("weight", f"{name}.weight", shape, dtype, size, "weights", why)


def _tensor_by_tensor(
    held: Allocation, tensors: tuple[HeldTensor, ...], first_step: _Scene, updating: _Scene
) -> Iterator[Request]:
    """Gradients, states and temporaries of each tensor (of the largest share of it, where tensors are cut)."""
    training, devices = held.scenario.training, data_parallel_devices(held.scenario.hardware)
    cut = held.scenario.hardware.sharding.strategy in CUTS_TENSORS and devices > 1
    backward = _Scene("backward", first_step.held_low - held.states.gradients, first_step.held_low)
    steps = 1 if RULES[training.optimizer].counts_steps else 0
    makes_copies = held.states.step_temporary > 0
    for whole in tensors:
        if not whole.trains:
            continue
        t = sharded_tensor(whole, devices) if cut else whole
        of = f"{t.name}, one device's part" if cut else t.name
        dtype, kept = gradient_dtype(t, training), state_dtype(t, training)
        if not cut:
            size = t.values * BYTES_PER_VALUE[dtype]
            yield backward.request("gradient", of, t.shape, dtype, size, "gradients")
        for position, size in enumerate(state_tensors(t, training)[steps:]):
            name = _STATE_NAMES[min(position, 1)] if RULES[training.optimizer].moments == 2 else "optimizer state"
            yield first_step.request(name, of, t.shape, kept, size, "optimizer states")
        if makes_copies:
            size = t.values * BYTES_PER_VALUE[kept]
            what = f"the {training.optimizer_impl} step's copy of second moments"
            yield updating.request(what, of, t.shape, kept, size, "temporary buffers")
        if has_master(t, training):
            yield first_step.request("fp32 master weight", of, t.shape, "fp32", 4 * t.values, "master weights")


def _in_16_and_32(dtype: str) -> tuple[str, str]:
    """The two widths that weights are loaded in; of the 16-bit dtypes the plan's own."""
    return (dtype if BYTES_PER_VALUE[dtype] == 2 else "bf16"), "fp32"


def _form(tensor: HeldTensor) -> str:
    return tensor.packed_format if tensor.packed else tensor.dtype


def _unpacked(held: Allocation, t: HeldTensor) -> Iterator[Request]:
    """A packed weight as its product reads it. bitsandbytes computes in float32 unless a config says otherwise."""
    level = [one.total_bytes for one in held.timeline.later if one.name in ("forward", "backward")]
    scene = _Scene("forward", min(held.states.weights, *level), max(level))
    for dtype in _in_16_and_32("bf16"):
        why = "" if dtype == "bf16" else "bnb_4bit_compute_dtype is float32 unless it is set"
        size = t.values * BYTES_PER_VALUE[dtype]
        yield scene.request("4-bit weight, unpacked", t.name, t.shape, dtype, size, "temporary buffers", why)


_STATE_NAMES = ("optimizer state (first moment)", "optimizer state (second moment)")


def _flat(held: Allocation, loading: _Scene, first_step: _Scene, updating: _Scene) -> Iterator[Request]:
    """What flattening strategies hold in one piece: a unit of FSDP1, a device's partition of ZeRO and Megatron."""
    hardware, training = held.scenario.hardware, held.scenario.training
    devices, strategy = data_parallel_devices(hardware), hardware.sharding.strategy
    for unit, values in _pieces(held, strategy):
        part = share(values, devices)
        of = f"{unit}, one of {devices} parts"
        yield loading.request("fp32 weights", of, (part,), "fp32", 4 * part, "weights")
        for dtype in ("fp32", "bf16"):
            size = part * BYTES_PER_VALUE[dtype]
            kept = "fp32" if training.master_weights or strategy.startswith("zero") else held.setup.weights_dtype
            why = "" if dtype == kept else f"the plan keeps states in {kept}"
            for name in _STATE_NAMES:
                yield first_step.request(name, of, (part,), dtype, size, "optimizer states", why)
            what = "the optimizer step's temporary"
            yield updating.request(what, of, (part,), dtype, size, "temporary buffers", why)
            yield first_step.request("gradients", of, (part,), dtype, size, "gradients", why)
    if strategy.startswith("zero"):
        for dtype in ("bf16", "fp32"):
            size = BUCKET_VALUES * BYTES_PER_VALUE[dtype]
            what = "a bucket of 500M values (reduce or all-gather)"
            backward = _Scene("backward", first_step.held_low, first_step.held_high)
            yield backward.request(what, "", (BUCKET_VALUES,), dtype, size, "communication buffers")


def _pieces(held: Allocation, strategy: str) -> Iterator[tuple[str, int]]:
    """What is flattened into one tensor, with how many values it has on all devices."""
    trainable, devices = held.whole.trainable, data_parallel_devices(held.scenario.hardware)
    if strategy == "fsdp1":
        yield from _units(held)
    elif strategy == "zero3":
        yield "all trained weights", min(trainable, SUB_GROUP_VALUES * devices)
        yield from _units(held)
    else:
        yield "all trained weights", trainable


def _units(held: Allocation) -> Iterator[tuple[str, int]]:
    """Layers, and what stands around them."""
    for number, layer in enumerate(held.stage.part.kinds):
        values = sum(t.total_values for t in layer_tensors(layer, held.setup))
        yield ("a layer" if len(held.stage.part.kinds) == 1 else f"a layer of kind {number + 1}"), values
    yield "embeddings, final norm and head", sum(t.total_values for t in outer_tensors(held.stage.part, held.setup))


def _gathered(held: Allocation) -> Iterator[Request]:
    """Whole units on one device for a moment: weights to compute with, gradients to be reduced."""
    hardware, line = held.scenario.hardware, held.timeline
    if hardware.sharding.strategy not in ("zero3", "fsdp1", "fsdp2"):
        return
    held_bytes = [one.total_bytes for one in line.later if one.name in ("forward", "backward")]
    states = held.states.weights + held.states.optimizer + held.states.master
    low, high = min(states, *held_bytes), max(held_bytes)
    gathered = gathered_dtype(hardware.sharding, held.setup.weights_dtype)
    for unit, values in _units(held):
        for dtype in ("bf16", "fp32"):
            why = "" if dtype == gathered else f"the plan gathers in {gathered}"
            size = values * BYTES_PER_VALUE[dtype]
            term: TermName = "communication buffers"
            forward, backward = _Scene("forward", low, high), _Scene("backward", low, high)
            yield forward.request("gathered weights", unit, (values,), dtype, size, term, why)
            yield backward.request("gradients to be reduced", unit, (values,), dtype, size, term, why)
    for t in held_tensors(held.stage.part, held.setup) if held.chosen.exact else ():
        size = t.values * BYTES_PER_VALUE[gathered]
        yield _Scene("forward", low, high).request(
            "gathered weight", t.name, t.shape, gathered, size, "communication buffers"
        )
