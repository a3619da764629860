"""Which software runs: the platform's kernels and the library's generation decide which copies are kept.

Sources: transformers 4.45.2, 4.48.1 and 5.24; PyTorch 2.13, aten/src/ATen/native (SoftMax, Dropout, layer_norm).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memplan.plan.training import Kernels, Training

NEWEST = (5, 24)
"""The transformers version that the walk follows when a plan names none."""

OLDEST = (4, 20)
"""The oldest that measured runs were held against."""

LITGPT_BNB_043 = (0, 5)
"""The first litgpt whose releases ask for bitsandbytes 0.43 or later."""

_VERSION = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:[.a-z+-][.a-z0-9+-]*)?")
"""Major, minor, and what may stand behind: 4.48.1, 5.0.dev0, 4.45rc1."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What the walk must know of platform and versions. Hashable."""

    on_device: bool = True
    """A device's kernels; otherwise those of the CPU that traces run on."""
    version: tuple[int, int] = NEWEST
    releases_outputs: bool = False
    """The trainer keeps the loss alone: logits go when forward is over."""
    kernels: Kernels = "transformers"
    """Whose modules run."""
    keeps_packed_inputs: bool = False
    """4-bit products keep their input, as bitsandbytes' did before 0.43."""
    repeats_keys: bool = False
    """Keys and values are copied for every query head before a fused kernel takes them."""

    @property
    def unfused_attention(self) -> bool:
        """Whether training runs attention as single operations whatever a plan says: MLX does."""
        return self.kernels == "mlx"

    @property
    def runs_out_of_order(self) -> bool:
        """Whether backward's order is the stack's own: MLX evaluates a graph, and holds more than a walk in order."""
        return self.kernels == "mlx"

    @property
    def packs_head(self) -> bool:
        """Whether the head is packed in 4 bit as all linear modules are (Lightning's plug-in for bitsandbytes)."""
        return self.kernels == "litgpt"

    @property
    def asks_inputs_for_gradients(self) -> bool:
        """Whether embeddings are told to need gradients where checkpoints need some: PEFT does so, and transformers 5.

        Checkpoints that need none leave layers alone before which nothing trains. Sources: mlx-lm 0.32.2,
        tuner/trainer.py (grad_checkpoint: a gradient is asked for what trains and for what comes of it); torchtitan at
        238fa9953e4a, distributed/activation_checkpoint.py (PyTorch's own checkpoints, which are not reentrant).
        """
        return self.kernels not in ("litgpt", "torchtune", "megatron", "mlx", "torchtitan")

    @property
    def reentrant(self) -> bool:
        """Checkpoints before transformers 5 recompute a layer to its end and hold its output through its backward; so
        do Megatron's.
        """
        return self.version < (5, 0) or self.kernels == "megatron"

    @property
    def checkpoints_around_units(self) -> bool:
        """Whether FSDP's units run inside checkpoints, and know nothing of gradients before backward reaches them.

        Before transformers 4.52 a model calls each layer through its checkpoint, and what it calls is the unit; since
        then a layer checkpoints itself (modeling_layers.py, GradientCheckpointingLayer), inside the unit.
        """
        return self.version < (4, 52)

    @property
    def experts_are_modules(self) -> bool:
        """Before transformers 5 most mixtures held each expert as linear modules of its own, not all in 3-D tensors."""
        return self.version < (5, 0)

    @property
    def caches_latents(self) -> bool:
        """Whether latent attention caches what keys and values are made of; before transformers 5 it cached these."""
        return self.version >= (5, 0)

    @property
    def selects_experts_to_decode(self) -> bool:
        """Whether generation decodes with copies of the matrices of the experts chosen: on devices, in transformers 5.

        Source: transformers 5.24, generation/utils.py (_optimize_model_for_decode), integrations/moe.py.
        """
        return self.version >= (5, 0)

    @property
    def upcasts_in_model(self) -> bool:
        """Up to 4.45 the model itself turns its logits into fp32, which frees the 16-bit ones."""
        return self.version < (4, 46)

    @property
    def copies_shifted_logits(self) -> bool:
        """Before 4.49 the logits are moved by one and copied; since then the targets are."""
        return self.version < (4, 49)


TRACED = Stack(on_device=False)
"""What traces run on."""


def traced(stack: Stack) -> Stack:
    """The same stack as its traces run it: on a CPU, with the newest versions."""
    return replace(TRACED, kernels=stack.kernels, keeps_packed_inputs=stack.keeps_packed_inputs)


_GQA_IN_SDPA = (4, 54)
"""The first transformers that hands PyTorch's fused kernel fewer keys than queries (integrations/sdpa_attention.py)."""
_ONE_FLASH_FUNCTION = (4, 48)
"""The first that has one function for all models' flash attention (integrations/flash_attention.py)."""
_REPEATED_FOR_FLASH = ("jamba", "mistral", "mixtral", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen2_vl", "starcoder2")
"""Models whose own FlashAttention2 repeated keys and values before that (transformers 4.45.2, 4.47.1, models/*/)."""


def stack_of(training: Training, *, model_type: str = "", own_modules: bool = True) -> Stack:
    """The stack of a scenario; transformers where the kernels' own modules are not walked.

    Versions before 5 are taken to run under the Trainer, which drops the outputs.
    """
    kernels = kernels_that_run(training)
    if kernels == "litgpt" and own_modules:
        version = version_of_stack(training)
        return Stack(kernels="litgpt", keeps_packed_inputs=version is not None and version < LITGPT_BNB_043)
    if kernels == "mlx":
        return Stack(kernels="mlx")
    if kernels in ("torchtune", "megatron") and own_modules:
        return Stack(kernels=kernels)
    version = _library_version(training) if kernels == training.kernels else NEWEST
    return Stack(
        version=version,
        kernels=kernels if kernels == "torchtitan" else "transformers",
        releases_outputs=training.trainer != "none" or version < (5, 0),
        repeats_keys=_repeats_keys(training.attention, version, model_type),
    )


def _library_version(training: Training) -> tuple[int, int]:
    """The version of transformers. Of kernels that run its modules, a version of their own says nothing of it."""
    version = version_of(training.kernels_version)
    return version if training.kernels == "transformers" or version >= OLDEST else NEWEST


def _repeats_keys(attention: str, version: tuple[int, int], model_type: str) -> bool:
    if attention == "flash":
        return version < _ONE_FLASH_FUNCTION and model_type in _REPEATED_FOR_FLASH
    return attention == "sdpa" and version < _GQA_IN_SDPA


def kernels_that_run(training: Training) -> Kernels:
    """Whose modules are walked: where text is generated, transformers', whatever a plan names."""
    return "transformers" if training.caches_keys else training.kernels


def version_of_stack(training: Training) -> tuple[int, int] | None:
    """The version of the kernels that a plan names, if it names one that can be read."""
    text = training.kernels_version or ""
    return version_of(text) if is_version(text) else None


def version_of(text: str | None) -> tuple[int, int]:
    """Major and minor of a version; the newest known when there is none to read.

    >>> version_of("4.48.1"), version_of(None), version_of("5"), version_of("banana")
    ((4, 48), (5, 24), (5, 0), (5, 24))
    """
    found = _VERSION.fullmatch((text or "").strip())
    return (int(found[1]), int(found[2] or 0)) if found else NEWEST


def is_version(text: str) -> bool:
    """Whether a version can be read in it."""
    return _VERSION.fullmatch(text.strip()) is not None
