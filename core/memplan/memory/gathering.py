"""Fully sharded data parallel (PyTorch's fully_shard): what gathering weights and reducing gradients holds.

Each layer is a unit; embeddings, final norm and head make the root unit, which stays gathered while the model runs. The
order of events, from torch/distributed/fsdp/_fully_shard (PyTorch 2.13):

- forward: a unit's shards are cast and gathered into one buffer, which is copied out into the unit's weights. The
  buffer stays until the next unit is copied out; the weights go when the unit's forward is over.
- backward: the next unit is gathered while one runs; a unit's gradients are copied into a buffer that is reduced into
  the gradient's shard. That buffer stays until the next unit's gradients are reduced.

FSDP1 (FullyShardedDataParallel) gathers straight into the unit's weights, and in backward into those of the next unit
as well, where `looks_ahead` says so. Gradients are reduced from where autograd puts them together, which goes at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memplan.architecture.dividing import share
from memplan.architecture.parts import Architecture, Layer
from memplan.memory.setup import Setup
from memplan.memory.sharding import CASTS_WEIGHTS, CUTS_TENSORS
from memplan.memory.states import HeldTensor, layer_adapters, layer_tensors, outer_tensors, packed_parts, sharded_tensor
from memplan.memory.storage import rounded
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.hardware import Sharding


@dataclass(frozen=True, slots=True)
class Unit:
    """Bytes of one unit of weights on one device."""

    weights: int
    """Gathered, ready to compute with."""
    buffer: int
    """What the all-gather fills, if not the weights themselves; it stays until the next unit is gathered."""
    ahead: int
    """What is there of it in backward while the unit before it runs."""
    at_end: int
    """What is there of it when backward of the unit before it is nearly through."""
    cast: int
    """The device's own shards in the dtype that is gathered, if they are held in another."""
    reduce_buffer: int
    """What the reduce-scatter reads: gradients in the reduction's dtype."""
    behind: int
    """What is there of that buffer in backward while the unit after it runs."""
    gradients: int
    """The device's share of the gradients."""


NOTHING = Unit(0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Gathering:
    """The units of a model."""

    root: Unit
    layers: dict[Layer, Unit]
    reshards: bool
    """Weights go after forward and are gathered again in backward."""
    holds_inputs: bool = False
    """Checkpointed inputs and their gradients stay until backward is over: `holds_checkpoints` says when."""
    at_start: int = 0
    """Gathered for the embeddings alone, where the root unit does not stay."""
    at_loss: int = 0
    """Gathered for the head alone."""
    reused: tuple[int, ...] = ()
    """The last layers' weights, from the last on, that stay from forward to backward though others go."""

    def reused_after(self, layers: int) -> int:
        """What of these is still held once so many layers are through in backward."""
        return sum(self.reused[layers:])

    def gradient_bytes(self, architecture: Architecture) -> int:
        """The device's share of all gradients: one storage for each unit."""
        return self.root.gradients + sum(self.layers[layer].gradients * n for layer, n in architecture.kinds.items())

    def without_gradients(self) -> Gathering:
        """The same when a unit's new share does not stay: it is added to what is there, or applied."""
        layers = {layer: replace(unit, gradients=0) for layer, unit in self.layers.items()}
        return replace(self, root=replace(self.root, gradients=0), layers=layers)


def casts(sharding: Sharding) -> bool:
    """Whether weights are computed with in bf16 whatever the shards are held in."""
    return sharding.mixed_precision and sharding.strategy in CASTS_WEIGHTS


def gathered_dtype(sharding: Sharding, weights_dtype: str) -> str:
    """What weights are gathered and computed in."""
    return "bf16" if casts(sharding) else weights_dtype


def compute_setup(setup: Setup, sharding: Sharding) -> Setup:
    """The set-up that modules see: under mixed precision their weights are bf16."""
    dtype = gathered_dtype(sharding, setup.weights_dtype)
    unpacked = dtype if not setup.packed else setup.unpacked_dtype
    adapters = gathered_dtype(sharding, setup.adapter_dtype) if sharding.strategy == "fsdp2" else setup.adapter_dtype
    return replace(setup, weights_dtype=dtype, unpacked_dtype=unpacked, adapter_dtype=adapters)


def gathering_of(
    architecture: Architecture, setup: Setup, sharding: Sharding, devices: int, *, expert_parallel: int = 1
) -> Gathering:
    """Work out every unit. What `expert_parallel` devices share out already, the others alone divide again."""

    def unit(tensors: Iterable[HeldTensor], adapters: Iterable[HeldTensor] = ()) -> Unit:
        if sharding.strategy == "fsdp2":
            return _unit([*tensors, *adapters], sharding, devices, expert_parallel)
        found = _unit(tensors, sharding, devices, expert_parallel)
        own = _unit(adapters, sharding, devices, expert_parallel)  # FSDP1 has units for adapters, which come and go
        found = replace(found, gradients=found.gradients + own.gradients)
        if sharding.strategy != "fsdp1":
            return found
        at_end = found.weights if looks_ahead(setup) else 0
        return replace(found, buffer=0, ahead=0 if setup.adapted else at_end, at_end=at_end, behind=0)

    return Gathering(
        root=unit(outer_tensors(architecture, setup)),
        layers={layer: unit(layer_tensors(layer, setup), layer_adapters(layer, setup)) for layer in architecture.kinds},
        reshards=sharding.reshard_after_forward,
        holds_inputs=holds_checkpoints(sharding, setup),
    )


def holds_checkpoints(sharding: Sharding, setup: Setup) -> bool:
    """Whether inputs of checkpointed layers, and their gradients, stay until backward is over.

    FSDP1 frees a unit whose weights are all frozen by a hook on the gradient of the unit's input. A reentrant
    checkpoint runs its layer again on a detached input, a leaf; the hook keeps that leaf's accumulator, which holds
    the leaf and its gradient, until all hooks are taken off at backward's end. A unit that trains has its hook on its
    own weights, and a checkpoint that is not reentrant detaches nothing. PEFT puts each adapter into a unit of its own,
    so the layers' are frozen.

    Source: PyTorch 2.13, torch/distributed/fsdp/_runtime_utils.py (_register_post_backward_reshard_only_hook,
    _finalize_params), torch/autograd/graph.py (register_multi_grad_hook), torch/utils/checkpoint.py (detach_variable);
    peft 0.21, utils/other.py (fsdp_auto_wrap_policy). Counted on a CPU, six layers: tensors of an input's size alive as
    each layer of backward begins are 7, 8, 9, 10, 11, 12 with it, and 7, 7, 6, 5, 4, 3 without.
    """
    detaches = setup.checkpointing and setup.stack.reentrant and setup.stack.checkpoints_around_units
    return sharding.strategy == "fsdp1" and detaches and not setup.base_trains


def looks_ahead(setup: Setup) -> bool:
    """Whether FSDP1 gathers the next layer in backward while one runs.

    The unit that ran before in forward is gathered ahead if a hook waits on its outputs. Such hooks are set where
    gradients are recorded: a reentrant checkpoint around a unit runs it without, and sets them when it runs it again,
    as backward reaches it; by then its weights are there. Adapters are units of their own, and ran between the layer
    before and the layer: that one is gathered only as backward comes to the layer's first adapter, when it is nearly
    through.

    Source: PyTorch 2.4 to 2.13, torch/distributed/fsdp/_runtime_utils.py (_register_pre_backward_hooks,
    _get_handle_to_prefetch), _exec_order_utils.py (get_handle_to_backward_prefetch). Measured on two A100: Mixtral with
    LoRA holds one layer of 2.7 GiB.
    """
    return not (setup.checkpointing and setup.stack.reentrant and setup.stack.checkpoints_around_units)


def _share(tensor: HeldTensor, sharding: Sharding, devices: int) -> int:
    """Values of the device that holds the largest part of a tensor."""
    if sharding.strategy in CUTS_TENSORS:
        return sharded_tensor(tensor, devices).values
    return share(tensor.values, devices)


def _unit(tensors: Iterable[HeldTensor], sharding: Sharding, all_devices: int, expert_parallel: int) -> Unit:
    """Weights that come from the host alone (one device) need no buffers of a collective."""
    weights = values = trainable = gradients = cast = 0
    for tensor in tensors:
        devices = all_devices // expert_parallel if tensor.of_experts else all_devices
        if tensor.packed:  # gathered as it is packed, cut evenly; its scales stay whole on each device
            packed, *_ = packed_parts(tensor, double_quant=False)
            weights, values = weights + tensor.count * int(rounded(packed)), values + tensor.count * packed
            continue
        dtype = gathered_dtype(sharding, tensor.dtype)
        padded = devices * _share(tensor, sharding, devices)
        weights += tensor.count * int(rounded(padded * BYTES_PER_VALUE[dtype]))
        padded *= tensor.count
        values += padded * BYTES_PER_VALUE[dtype]
        cast += padded // devices * BYTES_PER_VALUE[dtype] if dtype != tensor.dtype else 0
        if tensor.trains:
            reduced = BYTES_PER_VALUE["fp32" if casts(sharding) else tensor.dtype]
            trainable += padded * reduced
            gradients += padded // devices * BYTES_PER_VALUE[tensor.dtype]
    if all_devices == 1:
        values = trainable = 0
    gathered, reduced = int(rounded(values)), int(rounded(trainable))
    return Unit(
        weights=weights,
        buffer=gathered,
        ahead=gathered,
        at_end=gathered,
        cast=int(rounded(cast)),
        reduce_buffer=reduced,
        behind=reduced,
        gradients=int(rounded(gradients)),
    )
