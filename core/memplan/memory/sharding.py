"""What each device of a data-parallel group holds of the states.

Strategies that divide weights gather them again unit by unit (`gathering`); buckets are `zero`'s.
"""

from __future__ import annotations

from dataclasses import replace

from memplan.architecture.dividing import share
from memplan.memory.account import States
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training

SHARDS_STATES = ("zero1", "zero2", "zero3", "fsdp1", "fsdp2", "megatron")
SHARDS_GRADIENTS = ("zero2", "zero3", "fsdp1", "fsdp2")
SHARDS_WEIGHTS = ("zero3", "fsdp1", "fsdp2")
CASTS_WEIGHTS = ("fsdp1", "fsdp2")
"""They gather in another dtype than the shards' under mixed precision; DeepSpeed's shards have the model's."""
CUTS_TENSORS = ("fsdp2",)
"""Each tensor is cut along its first axis and padded there; the others flatten a unit's tensors and divide evenly."""


def data_parallel_devices(hardware: Hardware) -> int:
    """Devices that hold the same part of the model and see different data."""
    return max(
        1, hardware.devices // (hardware.tensor_parallel * hardware.pipeline_parallel * hardware.context_parallel)
    )


def expert_parallel_of(hardware: Hardware) -> int:
    """How many devices share out the experts: no more than there are to do so."""
    return min(hardware.expert_parallel, data_parallel_devices(hardware))


def sharded(states: States, hardware: Hardware, all_experts: States | None = None) -> States:
    """One device's states. What is divided is divided once: by `all_experts`, where `states` are of a device's share of
    the experts.

    Equation, d devices: ZeRO-1 divides optimizer states and master weights by d, ZeRO-2 gradients too, ZeRO-3 and FSDP
    weights too, but not the scales of packed ones. Source: Rajbhandari et al., "ZeRO", 2020, figure 1.
    """
    strategy, d = hardware.sharding.strategy, data_parallel_devices(hardware)
    if strategy not in SHARDS_STATES or d == 1:
        return states
    whole = all_experts or states
    divided = replace(
        states,
        optimizer=share(whole.optimizer, d),
        optimizer_unrounded=share(whole.optimizer_unrounded, d),
        paged=share(whole.paged, d),
        master=share(whole.master, d),
        step_temporary=share(whole.step_temporary, d),
    )
    if strategy in SHARDS_GRADIENTS:
        divided = replace(divided, gradients=share(whole.gradients, d))
    if strategy in SHARDS_WEIGHTS:
        weights = share(whole.weights - whole.scales, d) + whole.scales
        divided = replace(divided, weights=weights, adapters=share(whole.adapters, d))
    return divided


def gradients_leave(training: Training, hardware: Hardware) -> bool:
    """Whether a layer's gradients are gone from the device once it is through: applied, or moved to the host.

    Source: DeepSpeed 0.19, stage_1_and_2.py and stage3.py with offload_optimizer (stage 1 keeps whole gradients until
    its step); PyTorch 2.13, CPUOffloadPolicy; torch.optim's optimizer-in-backward tutorial.
    """
    strategy, offload = hardware.sharding.strategy, hardware.offload
    to_host = (offload.optimizer and strategy in ("zero2", "zero3")) or offloads_all(hardware)
    return training.optimizer_in_backward or (to_host and training.method != "inference")


def offloads_all(hardware: Hardware) -> bool:
    """Whether parameters take gradients and states with them: FSDP moves its shards whole.

    Source: PyTorch 2.13, torch/distributed/fsdp, CPUOffloadPolicy and CPUOffload.
    """
    return hardware.offload.parameters and hardware.sharding.strategy in ("fsdp1", "fsdp2")


def off_device(states: States, scenario: Scenario) -> States:
    """One device's states without what lives on the host, and without gradients that do not stay.

    Source: DeepSpeed's ZeRO-Offload (Ren et al., 2021): states, master weights and the update move to the host.
    """
    hardware = scenario.hardware
    if hardware.offload.optimizer or offloads_all(hardware):
        states = replace(states, optimizer=0, optimizer_unrounded=0, master=0, step_temporary=0)
    if hardware.offload.parameters:
        states = replace(states, weights=0)
    if gradients_leave(scenario.training, hardware):
        states = replace(states, gradients=0, step_temporary=0)
    return states
