"""A model as another stack than transformers holds and runs it: the same counts of layers and widths, other modules."""

from __future__ import annotations

from functools import lru_cache

from memplan.architecture.parts import Architecture
from memplan.architecture.stacks.litgpt import of_litgpt
from memplan.architecture.stacks.megatron import of_megatron
from memplan.architecture.stacks.torchtune import of_torchtune
from memplan.plan.training import Kernels


@lru_cache(maxsize=512)
def run_by(architecture: Architecture, kernels: Kernels, version: tuple[int, int] | None = None) -> Architecture:
    """The model as a stack's own modules hold it, those of the newest version where none is given.

    It stays as it is where they are not known.
    """
    if kernels == "litgpt":
        return of_litgpt(architecture) or architecture
    if kernels == "megatron":
        return of_megatron(architecture) or architecture
    if kernels == "torchtune":
        return of_torchtune(architecture, version) or architecture
    return architecture


def is_run_by(architecture: Architecture, kernels: Kernels) -> bool:
    """Whether every layer is walked as the stack's own modules run it."""
    return all(layer.modules_of == kernels for layer in architecture.kinds)
