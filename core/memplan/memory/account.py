"""What one device holds: the states, tensor by tensor or from a count alone, divided by the sharding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from memplan.architecture.parts import Architecture
from memplan.memory.buffers import buffer_bytes
from memplan.memory.optimizer_steps import step_temporary_bytes
from memplan.memory.optimizers import (
    RULES,
    follows_shapes,
    paged_tensors,
    state_bytes,
    state_dtype,
    state_tensors,
)
from memplan.memory.setup import Setup
from memplan.memory.states import (
    NESTED_BLOCK,
    HeldTensor,
    gradient_bytes,
    gradient_dtype,
    has_master,
    held_tensors,
    packed_scale_bytes,
    scale_bytes,
    sharded_tensor,
    weight_bytes,
)
from memplan.memory.storage import rounded
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.training import Training


@dataclass(frozen=True, slots=True)
class States:
    """What stays from step to step, in bytes of one device (or of the whole model before sharding)."""

    weights: int
    adapters: int
    gradients: int
    optimizer: int
    optimizer_unrounded: int
    """As `optimizer`, without rounding up to whole blocks: what a trace sums up."""
    master: int
    step_temporary: int
    trainable: int
    """Parameters that train."""
    adapter_parameters: int
    paged: int = 0
    """Optimizer states in the host's memory, beside those of `optimizer`."""
    scales: int = 0
    """Of `weights`: the scales of packed ones, which no sharding divides."""

    @property
    def loaded(self) -> int:
        """Alive once the model is built."""
        return self.weights + self.adapters


def exact_states(
    architecture: Architecture,
    setup: Setup,
    training: Training,
    frozen_layers: int,
    shards: int = 1,
    expert_parallel: int = 1,
    *,
    flat: bool = False,
) -> States:
    """States tensor by tensor; with shards, of the device that holds the largest part of each.

    Tensors are cut along their first axis. Packed values lie in one column of bytes, which is cut evenly.
    Experts that `expert_parallel` devices share out already are cut among the others alone.
    Of flat partitions an optimizer knows neither rows nor columns, nor which of them are embeddings.
    Source: DeepSpeed 0.19, stage_1_and_2.py and stage3.py (the groups' params become flat fp32 partitions);
    bitsandbytes 0.50, optim/optimizer.py (check_overrides, which looks for the module's own weight in the groups).
    """
    # What is kept of a step plays no part here: set-ups that differ in nothing else share their states.
    plain = replace(
        setup,
        checkpointing=False,
        selective=False,
        loss="plain",
        attention="sdpa",
        autocast=None,
        recasts_weights=False,
        dropout=0.0,
        cache="none",
    )
    recipe = Training(
        method=training.method,
        optimizer=training.optimizer,
        optimizer_state_dtype=training.optimizer_state_dtype,
        optimizer_impl=training.optimizer_impl,
        master_weights=training.master_weights,
        gradients_dtype=training.gradients_dtype,
        quantization=training.quantization,
        kernels=training.kernels,
        trainer=training.trainer,
        # Only MLX's trainer holds earlier gradients in the update, and then however many there were.
        gradient_accumulation=min(2, training.gradient_accumulation) if training.kernels == "mlx" else 1,
    )
    return _exact_states(architecture, plain, recipe, frozen_layers, shards, expert_parallel, flat)


@lru_cache(maxsize=1024)
def _exact_states(
    architecture: Architecture,
    setup: Setup,
    training: Training,
    frozen_layers: int,
    shards: int,
    expert_parallel: int,
    flat: bool,
) -> States:
    tensors = held_tensors(architecture, setup, frozen_layers)
    if flat:
        tensors = tuple(_in_partition(t, training) if t.trains else t for t in tensors)
    if shards > 1:
        fewer = shards // expert_parallel
        tensors = tuple(t if t.packed else sharded_tensor(t, fewer if t.of_experts else shards) for t in tensors)
    double_quant = training.quantization.double_quant
    trains = [tensor for tensor in tensors if tensor.trains]
    paged = sum(t.count * sum(paged_tensors(t, training)) for t in trains)
    return States(
        weights=sum(weight_bytes(t, double_quant=double_quant, devices=shards) for t in tensors if not t.adapter)
        + buffer_bytes(architecture, setup.weights_dtype),
        adapters=sum(weight_bytes(t, double_quant=double_quant) for t in tensors if t.adapter),
        gradients=sum(gradient_bytes(t, training) for t in trains),
        optimizer=sum(state_bytes(t, training) for t in trains),
        optimizer_unrounded=sum(t.count * sum(state_tensors(t, training)) for t in trains) - paged,
        master=sum(t.count * int(rounded(4 * t.values)) for t in trains if has_master(t, training)),
        step_temporary=step_temporary_bytes(tensors, training),
        trainable=sum(t.total_values for t in tensors if t.trains or t.idle),
        adapter_parameters=sum(t.total_values for t in tensors if t.adapter),
        paged=paged,
        scales=sum(scale_bytes(t, double_quant=double_quant) for t in tensors),
    )


def _in_partition(tensor: HeldTensor, training: Training) -> HeldTensor:
    """The tensor as an optimizer sees it in a flat partition: neither rows nor columns, if it asks for them."""
    shape = (tensor.values,) if RULES[training.optimizer].format == "factored" else tensor.shape
    return replace(tensor, shape=shape, in_partition=True)


def states_of_size(parameters: int, assumed: int, setup: Setup, training: Training, exact: States) -> States:
    """States from a count alone: count × bytes per parameter, no rounding.

    Adapters come from `trainable_fraction`, or from the architecture that was assumed (of `assumed` parameters).

    Equation: weights P·b_w; gradients N·b_g; states N·(bytes per parameter of the optimizer); N of P train.
    Source: the arithmetic of every guide (16 bytes a parameter for fp32 Adam: 4 + 4 + 8).
    """
    adapters = exact.adapter_parameters
    if setup.adapted and training.trainable_fraction is not None:
        adapters = round(parameters * training.trainable_fraction)
    share = exact.trainable / assumed if assumed else 0
    trainable = adapters if setup.adapted else round(parameters * share)
    dtype = setup.adapter_dtype if setup.adapted else setup.weights_dtype
    one = HeldTensor("all", (trainable,), 1, dtype, trains=True)
    rule = RULES[training.optimizer]
    weights, scales = parameters * BYTES_PER_VALUE[setup.weights_dtype], 0
    if setup.packed:
        scales = packed_scale_bytes(parameters, double_quant=training.quantization.double_quant)
        weights = parameters // 2 + scales
    if follows_shapes(training):
        part = trainable / exact.trainable if exact.trainable else 0
        states, paged = round(exact.optimizer_unrounded * part), round(exact.paged * part)
    else:
        paged = sum(paged_tensors(one, training))
        whole = replace(one, shape=(-(-trainable // NESTED_BLOCK) * NESTED_BLOCK,)) if rule.in_blocks else one
        states = sum(state_tensors(whole, training)[1 if rule.counts_steps else 0 :]) - paged if trainable else 0
    foreach = training.optimizer_impl == "foreach" and exact.step_temporary > 0
    one_copy = trainable * BYTES_PER_VALUE[state_dtype(one, training)]
    if training.kernels == "mlx" and exact.trainable:  # new states, and more
        one_copy = round(exact.step_temporary * trainable / exact.trainable)
    return States(
        weights=weights,
        adapters=adapters * BYTES_PER_VALUE[setup.adapter_dtype] if setup.adapted else 0,
        gradients=trainable * BYTES_PER_VALUE[gradient_dtype(one, training)],
        optimizer=states,
        optimizer_unrounded=states,
        master=4 * trainable if has_master(one, training) else 0,
        step_temporary=one_copy if foreach else exact.step_temporary,
        trainable=trainable,
        adapter_parameters=adapters if setup.adapted else 0,
        paged=paged,
        scales=scales,
    )
