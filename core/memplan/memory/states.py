"""What stays on the device from step to step: weights, adapters, gradients, optimizer states, master weights.

Counts are exact tensor by tensor; each tensor takes whole blocks of the allocator. Optimizer states by optimizer are
those of the reference implementations (PyTorch 2.13, bitsandbytes 0.50, torchao), in bytes per trainable value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Architecture, Layer, Linear, Norm, Table, Weight
from memplan.memory.setup import Setup
from memplan.memory.storage import rounded
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.training import Training

PACKED_BLOCK = 64
"""Values that share one scale in bitsandbytes' 4-bit formats."""
GPTQ_GROUP = 128
"""Values that share one scale in GPTQ's usual files."""
NESTED_BLOCK = 256
"""Scales that share one scale under double quantisation, and values that share one in 8-bit optimizers."""


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """Equal parameter tensors: how many values each has, how often they occur, what they are held in."""

    name: str
    shape: tuple[int, ...]
    count: int
    dtype: str
    trains: bool
    adapter: bool = False
    packed: bool = False
    packed_format: str = "nf4"
    component: str = ""
    idle: bool = False
    """It is said to train, but never gets a gradient."""
    in_partition: bool = False
    """The optimizer sees a part of a flat tensor instead of it, and of no module."""

    @property
    def of_experts(self) -> bool:
        """Whether it holds all experts, one behind the other."""
        return self.component == "experts" and len(self.shape) == 3

    @property
    def values(self) -> int:
        """Values of one of them."""
        return prod(self.shape)

    @property
    def total_values(self) -> int:
        """Values of all of them."""
        return self.values * self.count


@lru_cache(maxsize=512)
def held_tensors(architecture: Architecture, setup: Setup, frozen_layers: int = 0) -> tuple[HeldTensor, ...]:
    """Every parameter tensor of the model and its adapters, in the order of the model's own parameters.

    So many of the first layers do not train.
    """
    tensors = list(outer_tensors(architecture, setup))
    for layer, trains, count in _layers_by_training(architecture, frozen_layers):
        one = layer_tensors(layer, setup if trains else replace(setup, base_trains=False))
        tensors += [replace(tensor, count=count * tensor.count) for tensor in one]
    tensors += [replace(_held(weight, setup), count=count) for weight, count in architecture.idle]
    if setup.adapted:
        tensors += _adapters(architecture, setup)
        tensors += _saved(architecture, setup)
    return tuple(tensors)


def _layers_by_training(architecture: Architecture, frozen_layers: int) -> Iterator[tuple[Layer, bool, int]]:
    """Each kind of layer, whether it trains, and how many of it do or do not."""
    counts: dict[tuple[Layer, bool], int] = {}
    position = 0
    for layer, count in architecture.layers:
        frozen = min(count, max(0, frozen_layers - position))
        for trains, some in ((False, frozen), (True, count - frozen)):
            if some:
                counts[layer, trains] = counts.get((layer, trains), 0) + some
        position += count
    for (layer, trains), count in counts.items():
        yield layer, trains, count


def outer_tensors(architecture: Architecture, setup: Setup) -> list[HeldTensor]:
    """Parameter tensors outside the layers, without adapters."""
    norm = architecture.final_norm.name if architecture.final_norm else ""
    table = f"{architecture.tokens.name}.weight"
    tensors = []
    for weight in architecture.outer_weights():
        if weight.component == "embeddings":
            trains = setup.table_trains(architecture.tied and weight.name == table)
        elif weight.component == "head" or (norm and weight.name.startswith(norm)):
            trains = setup.head_trains
        else:
            trains = setup.embeddings_train and setup.head_trains
        tensor = _held(weight, setup)
        tensors.append(replace(tensor, trains=tensor.trains and trains))
    return tensors


def layer_tensors(layer: Layer, setup: Setup) -> list[HeldTensor]:
    """Parameter tensors of one layer, without adapters."""
    if isinstance(layer.mlp, Experts) and setup.expert_modules(layer.mlp):
        return _with_expert_modules(layer, layer.mlp, setup)
    return [_held(weight, setup) for weight in layer.weights()]


def _with_expert_modules(layer: Layer, experts: Experts, setup: Setup) -> list[HeldTensor]:
    """The layer's tensors, where each expert (and the router) is made of linear modules."""
    fused = {f"{experts.name}.{weight.name}" for weight in experts.expert_weights()}
    router = setup.router_module(experts)
    if router is not None:
        fused.add(f"{experts.name}.{router.name}.weight")
    tensors = [_held(weight, setup) for weight in layer.weights() if weight.name not in fused]
    for linear, count in module_linears(experts, setup):
        tensors += [replace(_held(weight, setup), count=count) for weight in linear.weights()]
    return tensors


def module_linears(experts: Experts, setup: Setup) -> Iterator[tuple[Linear, int]]:
    """The linear modules that router and experts are made of, with how often each occurs; none where they are not."""
    router = setup.router_module(experts)
    if router is not None:
        yield router, 1
    for linear in setup.expert_modules(experts):
        yield linear, experts.count


def _held(weight: Weight, setup: Setup) -> HeldTensor:
    packed = weight.linear and setup.packs(weight.component)
    unpacked = (setup.norms_dtype if weight.component == "norms" else "") or setup.unpacked_dtype
    dtype = weight.held_in or (setup.weights_dtype if packed else unpacked)
    trains, idle = setup.base_trains and not weight.frozen, weight.idle
    return HeldTensor(
        weight.name,
        weight.shape,
        1,
        dtype,
        trains and not idle,
        idle=trains and idle,
        packed=packed,
        packed_format=setup.packed_format,
        component=weight.component,
    )


def sharded_tensor(tensor: HeldTensor, devices: int) -> HeldTensor:
    """The largest part of a tensor that is cut along its first axis."""
    return replace(tensor, shape=(-(-tensor.shape[0] // devices), *tensor.shape[1:]))


def layer_adapters(layer: Layer, setup: Setup) -> Iterator[HeldTensor]:
    """The adapters of one layer."""
    setup = setup.of_layer(layer)
    for linear in layer.linears():
        yield from _adapter(linear, setup, 1)
    if isinstance(layer.mlp, Experts):
        for linear, each in module_linears(layer.mlp, setup):
            yield from _adapter(linear, setup, each)
        yield from _expert_adapters(layer.mlp, setup, 1)


def _adapters(architecture: Architecture, setup: Setup) -> Iterator[HeldTensor]:
    for layer, count in architecture.kinds.items():
        for tensor in layer_adapters(layer, setup):
            yield replace(tensor, count=count * tensor.count)
    for linear in (*_around_layers(architecture), *architecture.projections, *_of_head(architecture)):
        yield from _adapter(linear, setup.outside, 1)
    for weight, count in architecture.idle:
        if weight.linear:
            yield from _adapter(_idle_linear(weight), setup.outside, count)


def _around_layers(architecture: Architecture) -> tuple[Linear, ...]:
    """What projects embeddings to the layers' own inputs, and to further streams and back, if anything does."""
    made, streams = architecture.layer_inputs, architecture.streams
    first = (made.projection,) if made is not None and architecture.starts else ()
    return first + (streams.around() if streams is not None else ())


def _of_head(architecture: Architecture) -> tuple[Linear, ...]:
    """The head, behind the matrix that makes what it reads, if there is one."""
    before = architecture.head_transform
    return (architecture.head,) if before is None else (before.dense, architecture.head)


def _idle_linear(weight: Weight) -> Linear:
    """The linear module of a matrix that text does not pass through: PEFT goes by names, and adapts a tower as well."""
    outputs, inputs = weight.shape
    *_, name, _matrix = weight.name.split(".")
    return Linear(name, inputs, outputs, component=weight.component, idle=True)


def saved_modules(architecture: Architecture, setup: Setup) -> dict[str, tuple[tuple[Weight, ...], int]]:
    """The modules that can be trained whole beside adapters: their weights, and in how many layers they stand.

    They are those outside the layers, and in the layers norms and linear modules without adapters.
    """
    found: dict[str, tuple[tuple[Weight, ...], int]] = {}
    for part in _outer_modules(architecture):
        found[part.name] = tuple(part.weights()), 1
    for layer, count in architecture.kinds.items():
        for name, weights in _layer_modules(layer, setup).items():
            before = found[name][1] if name in found else 0
            found[name] = weights, before + count
    return found


def _outer_modules(architecture: Architecture) -> Iterator[Table | Norm | Linear]:
    tokens, norm, positions = architecture.tokens, architecture.embedding_norm, architecture.positions
    first = (tokens, norm, positions) if architecture.starts else ()
    last = (architecture.final_norm, architecture.head) if architecture.ends else ()
    for part in (*first, *last):
        if part is not None:
            yield part


def _layer_modules(layer: Layer, setup: Setup) -> dict[str, tuple[Weight, ...]]:
    found: dict[str, tuple[Weight, ...]] = {}
    setup = setup.of_layer(layer)
    for weight in layer.weights():
        if weight.component == "norms":
            name = weight.name.rpartition(".")[0]
            found[name] = (*found.get(name, ()), weight)
    if setup.packed:
        return found
    for block in (part for part in (layer.attention, layer.mlp) if part is not None):
        for linear in block.linears():
            if not setup.adapts(linear):
                found[f"{block.name}.{linear.name}"] = tuple(linear.weights())
    for linear in (one for part in (layer.streams, layer.layer_input) if part is not None for one in part.linears()):
        if not setup.adapts(linear):
            found[linear.name] = tuple(linear.weights())
    return found


def _saved(architecture: Architecture, setup: Setup) -> Iterator[HeldTensor]:
    """Copies that train whole, in the dtype of what they are copied from; the frozen original stays.

    Source: PEFT 0.21, utils/other.py, ModulesToSaveWrapper.
    """
    if not setup.saved:
        return
    for name, (weights, count) in saved_modules(architecture, setup).items():
        if setup.saves(name):
            for weight in weights:
                copy = _held(weight, setup)
                yield replace(
                    copy, name=f"{copy.name} (trained copy)", count=count, trains=True, adapter=True, packed=False
                )


def _adapter(linear: Linear, setup: Setup, count: int) -> Iterator[HeldTensor]:
    if not setup.adapts(linear):
        return
    rank, idle = setup.rank, linear.idle or linear.bypassed
    shapes = (rank, linear.inputs), (linear.outputs, rank)
    if linear.parts:  # one pair of matrices for all parts that are adapted
        heads = setup.adapted_heads(linear)
        width = linear.outputs // sum(each for _, each in linear.parts)
        shapes = (rank * len(heads), linear.inputs), (sum(heads) * width, rank)
    for name, shape in zip(("lora_A", "lora_B"), shapes, strict=True):
        full = f"{linear.name}.{name}"
        yield HeldTensor(full, shape, count, setup.adapter_dtype, not idle, adapter=True, idle=idle)


def _expert_adapters(experts: Experts, setup: Setup, count: int) -> Iterator[HeldTensor]:
    """PEFT's adapters on 3-D experts: the rank for each expert, twice on gate and up, which are two matrices in one."""
    for weight in experts.weights():
        if setup.adapts_parameter(experts, weight.name):
            rank = setup.rank * (weight.shape[0] if len(weight.shape) == 3 else 1)
            rank *= 2 if "gate_up" in weight.name else 1
            for name, shape in (("lora_A", (rank, weight.shape[-1])), ("lora_B", (weight.shape[-2], rank))):
                yield HeldTensor(f"{weight.name}.{name}", shape, count, setup.adapter_dtype, True, adapter=True)


def linears(architecture: Architecture) -> Iterator[tuple[Linear, int]]:
    """Every linear module with how often it occurs; the head once."""
    for layer, count in architecture.kinds.items():
        for part in layer.linears():
            yield part, count
    for part in _around_layers(architecture):
        yield part, 1
    first, last = architecture.projections[:1], (*architecture.projections[1:], *_of_head(architecture))
    for part in (*(first if architecture.starts else ()), *(last if architecture.ends else ())):
        yield part, 1


def weight_bytes(tensor: HeldTensor, *, double_quant: bool, devices: int = 1) -> int:
    """Bytes of the tensors as they are held. Of packed ones, so many devices divide the values alone.

    Equation: values × bytes per value, each tensor rounded up to 512 bytes. Packed: values / 2, plus one fp32 scale for
    64 values; with double quantisation one byte for 64 values and an fp32 scale for 256 of those. int8: a byte a value
    and an fp32 scale a row. GPTQ: a 16-bit scale and a 4-bit zero for 128 values, and each input's group. MLX: a 16-bit
    scale and offset for 64 values.
    Sources: bitsandbytes 0.50.2, functional.quantize_4bit, nn.modules.Int8Params; auto-gptq 0.7, qlinear_cuda;
    mlx 0.32, mlx.core.quantize.

    >>> weight_bytes(HeldTensor("q_proj", (4096, 4096), 1, "bf16", False), double_quant=True)
    33554432
    >>> weight_bytes(HeldTensor("q_proj", (4096, 4096), 1, "bf16", False, packed=True), double_quant=True) / 4096**2
    0.515869140625
    """
    if not tensor.packed:
        return tensor.count * int(rounded(tensor.values * BYTES_PER_VALUE[tensor.dtype]))
    divided = packed_parts(tensor, double_quant=double_quant)[: _divided_parts(tensor)]
    scales = scale_bytes(tensor, double_quant=double_quant)
    return tensor.count * sum(int(rounded(-(-one // devices))) for one in divided) + scales


def _divided_parts(tensor: HeldTensor) -> int:
    """How many parts of a packed matrix are parameters, which FSDP and ZeRO divide."""
    return 2 if tensor.packed_format == "gptq_int4" else 1


def scale_bytes(tensor: HeldTensor, *, double_quant: bool) -> int:
    """What packed tensors hold beside their values: the scales, which stay whole on each device.

    Source: bitsandbytes 0.50.2, nn/modules.py: `quant_state` and `SCB` are attributes of the parameter, and no
    parameters themselves, which is what FSDP and ZeRO divide; fms-acceleration makes parameters of GPTQ's values and
    zeros alone. torchtune's NF4Tensor divides its scales as well; they are counted whole there, too.
    """
    if not tensor.packed:
        return 0
    scales = packed_parts(tensor, double_quant=double_quant)[_divided_parts(tensor) :]
    return tensor.count * sum(int(rounded(one)) for one in scales)


def packed_parts(tensor: HeldTensor, *, double_quant: bool) -> tuple[int, ...]:
    """Bytes of each tensor that a packed matrix is made of: its values (and GPTQ's zeros), then their scales."""
    values, (outputs, inputs) = tensor.values, (tensor.shape[0], tensor.shape[-1])
    if tensor.packed_format == "int8":
        return values, 4 * outputs
    if tensor.packed_format == "gptq_int4":
        groups = -(-values // GPTQ_GROUP)
        return (values + 1) // 2, groups // 2, 2 * groups, 4 * inputs
    packed, scales = (values + 1) // 2, values // PACKED_BLOCK
    if tensor.packed_format == "mlx_int4":
        return packed, 2 * scales, 2 * scales
    return (packed, scales, 4 * -(-scales // NESTED_BLOCK)) if double_quant else (packed, 4 * scales)


def packed_scale_bytes(values: int, *, double_quant: bool) -> int:
    """Block scales of packed weights known by their count alone, unrounded.

    >>> packed_scale_bytes(7_000_000_000, double_quant=False), packed_scale_bytes(7_000_000_000, double_quant=True)
    (437500000, 111083984)
    """
    scales = values // PACKED_BLOCK
    return scales + 4 * scales // NESTED_BLOCK if double_quant else 4 * scales


def gradient_dtype(tensor: HeldTensor, training: Training) -> str:
    """What a tensor's gradient is held in."""
    return tensor.dtype if training.gradients_dtype == "weights" else training.gradients_dtype


def gradient_bytes(tensor: HeldTensor, training: Training) -> int:
    """Bytes of the gradients that stay until the step."""
    if not tensor.trains:
        return 0
    return tensor.count * int(rounded(tensor.values * BYTES_PER_VALUE[gradient_dtype(tensor, training)]))


def has_master(tensor: HeldTensor, training: Training) -> bool:
    """Whether an fp32 copy stands beside the tensor."""
    return training.master_weights and tensor.trains and tensor.dtype != "fp32"


def trained_dtype(training: Training) -> str:
    """What the parameters that train are held in: adapters have a dtype of their own."""
    return training.lora.adapter_dtype if training.method in ("lora", "qlora") else training.weights_dtype
