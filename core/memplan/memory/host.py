"""What a run takes of its hosts' memory: states, weights and activations that do not stay on the devices."""

from __future__ import annotations

from memplan.architecture.dividing import share
from memplan.memory.account import States
from memplan.memory.sharding import CUTS_TENSORS, SHARDS_STATES, data_parallel_devices, offloads_all
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import TERMS, HostMemory, TermName

_PINS_ALL = ("zero1", "zero2", "zero3", "fsdp1", "fsdp2")
"""Strategies that page-lock everything they hold on the host by default."""


def host_memory(states: States, scenario: Scenario, kept_bytes: int) -> HostMemory:
    """The host's share of one device.

    Equation, by what is offloaded (n values train on the device, b_g and b_w bytes of a gradient and of a weight):

    - optimizer: states and fp32 master weights, and what the update reads and writes. ZeRO: n · 4 for gradients in
      fp32; stages 1 and 2 n · b_w for new weights on their way back, and n · b_w more to accumulate in; stage 3 n · b_g
      for gradients as they arrive. Others: n · b_w for a copy of the weights and n · b_g for the gradients.
    - parameters: the device's weights; FSDP takes gradients and states with them.
    - activations: what the layers keep, for each micro-batch in flight. Paged optimizers: their moments.

    Sources: DeepSpeed 0.19, stage_1_and_2.py (single_partition_of_fp32_groups, param_buffer_of_bit16_for_cpu_offload,
    accumulated_grads_in_cpu) and stage3.py (grad_partitions_flat_buffer, fp32_partitioned_groups_flat); PyTorch 2.13,
    CPUOffloadPolicy; torchao, CPUOffloadOptimizer; bitsandbytes 0.50, get_paged.

    7B in bf16 with fp32 master weights and states, ZeRO-2 over 8 devices: 4 + 8 + 4 + 2 = 18 bytes for each of n / 8.

    >>> from memplan.plan.scenario import Scenario
    >>> recipe = {"master_weights": True, "optimizer_state_dtype": "fp32"}
    >>> hardware = {"devices": 8, "sharding": {"strategy": "zero2"}, "offload": {"optimizer": True}}
    >>> scenario = Scenario.model_validate({"model": {"parameters": 1}, "training": recipe, "hardware": hardware})
    >>> n = 7_000_000_000 // 8
    >>> one_of_eight = States(2 * 8 * n, 0, 2 * n, 8 * n, 8 * n, 4 * n, 0, 8 * n, 0)
    >>> host_memory(one_of_eight, scenario, 0).device_bytes == 18 * n
    True
    """
    training, hardware = scenario.training, scenario.hardware
    terms: dict[TermName, int] = {"optimizer states": states.paged}
    pinned = 0
    if training.method != "inference" and (hardware.offload.optimizer or offloads_all(hardware)):
        terms["optimizer states"] += states.optimizer
        terms["master weights"] = states.master
        _add_update(terms, states, training, hardware)
    if hardware.offload.parameters:
        terms["weights"] = states.weights
    if hardware.sharding.strategy in _PINS_ALL:
        pinned = sum(terms.values()) - states.paged
    elif hardware.offload.optimizer:
        pinned = terms.get("gradients", 0) + terms.get("temporary buffers", 0)
    terms["activations"] = kept_bytes
    on_node = min(hardware.devices, hardware.devices_per_node)
    return HostMemory({name: terms[name] for name in TERMS if terms.get(name)}, pinned + kept_bytes, on_node)


def _add_update(terms: dict[TermName, int], states: States, training: Training, hardware: Hardware) -> None:
    """What an update on the host reads and writes beside states and master weights."""
    strategy, values = hardware.sharding.strategy, _values(states, hardware)
    own = training.weights_dtype if training.method in ("full", "freeze") else training.lora.adapter_dtype
    of_weight = BYTES_PER_VALUE[own]
    of_gradient = of_weight if training.gradients_dtype == "weights" else BYTES_PER_VALUE[training.gradients_dtype]
    if strategy in ("zero1", "zero2"):
        accumulates = training.gradient_accumulation > 1
        terms["gradients"] = values * (4 + (of_weight if accumulates else 0))
        terms["temporary buffers"] = values * of_weight
        if of_gradient == 4 and not states.master:  # the partition that is updated is a copy of fp32 weights
            terms["master weights"] = values * 4
    elif strategy == "zero3":
        terms["gradients"] = values * (4 + of_gradient)
    else:
        terms["gradients"] = values * of_gradient
        if not offloads_all(hardware):
            terms["temporary buffers"] = values * of_weight


def _values(states: States, hardware: Hardware) -> int:
    """Values that train on the device that holds the largest part of them."""
    strategy = hardware.sharding.strategy
    divided = strategy in SHARDS_STATES and strategy not in CUTS_TENSORS
    return share(states.trainable, data_parallel_devices(hardware)) if divided else states.trainable
