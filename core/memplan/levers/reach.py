"""How far backward comes in a set-up: to which layers, which of them train, which are recomputed."""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.architecture.flops import Reach
from memplan.architecture.parts import Architecture
from memplan.architecture.stacks import is_run_by, run_by
from memplan.architecture.stages import layers_of
from memplan.chosen_model import chosen_model
from memplan.memory.setup import Setup
from memplan.memory.stack import kernels_that_run, stack_of, version_of_stack
from memplan.memory.states import saved_modules
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training


def reach_of(scenario: Scenario) -> Reach | None:
    """How far backward comes; None where nothing trains."""
    training = scenario.training
    if training.method == "inference":
        return None
    kernels = kernels_that_run(training)
    architecture = run_by(chosen_model(scenario.model).architecture, kernels, version_of_stack(training))
    own_modules = is_run_by(architecture, kernels)
    setup = Setup.of(training, stack_of(training, model_type=architecture.model_type, own_modules=own_modules))
    layers = architecture.num_layers
    return Reach(
        num_layers=layers,
        begins=_begins(architecture, setup, training, scenario.hardware),
        frozen=layers if setup.adapted else frozen_layers(training, architecture),
        head_trains=setup.head_trains or setup.saves(architecture.head.name),
        every=_every(training),
    )


def frozen_layers(training: Training, architecture: Architecture) -> int:
    """How many layers, from the first, do not train under `freeze`; none under any other method."""
    if training.method != "freeze":
        return 0
    return max(0, architecture.num_layers - training.freeze.trainable_layers)


def _begins(architecture: Architecture, setup: Setup, training: Training, hardware: Hardware) -> int:
    """How many layers backward does not come to: those before the first that trains, unless their input needs a
    gradient all the same.
    """
    if setup.first_input(architecture.tokens, architecture.tied)[1]:
        return 0
    if not setup.adapted:
        return frozen_layers(training, architecture)
    last = training.lora.last_layers
    if last is None or last >= architecture.num_layers or _adapts_before(architecture, setup):
        return 0
    bare = architecture.num_layers - last
    stages = min(hardware.pipeline_parallel, architecture.num_layers)
    # What a later stage receives needs a gradient (torch.distributed.pipelining, stage.py).
    return min(bare, layers_of(architecture.num_layers, stages)[0]) if stages > 1 else bare


def _adapts_before(architecture: Architecture, setup: Setup) -> bool:
    """Whether something before the layers trains, or of every layer: modules trained whole, and adapters on experts,
    for which PEFT counts no layers.
    """
    after = {part.name for part in (architecture.final_norm, architecture.head) if part is not None}
    if setup.saved and any(setup.saves(name) for name in saved_modules(architecture, setup).keys() - after):
        return True
    projections = (*architecture.projections[:1], *(architecture.streams.projections if architecture.streams else ()))
    mixtures = (layer.mlp for layer in architecture.kinds if isinstance(layer.mlp, Experts))
    return any(map(setup.outside.adapts, projections)) or any(
        setup.adapts_parameter(one, weight.name) for one in mixtures for weight in one.weights()
    )


def _every(training: Training) -> int:
    if training.checkpointing not in ("full", "offload"):
        return 0
    return training.checkpoint_every if training.checkpointing == "full" else 1
