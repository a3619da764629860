"""What a walk through the model needs to know of a scenario: the recipe, who trains, which kernels run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memplan.memory.stack import TRACED, Stack
from memplan.plan.training import Training


@dataclass(frozen=True, slots=True)
class Setup:
    """The part of a training set-up that decides which tensors are kept. Hashable: walks are cached by it."""

    weights_dtype: str
    autocast: str | None
    attention: Literal["eager", "sdpa", "flash"]
    checkpointing: bool
    base_trains: bool
    """Whether the layers' own weights train."""
    embeddings_train: bool
    head_trains: bool
    """Whether the final norm and the head train."""
    adapted: bool
    rank: int
    targets: tuple[str, ...] | None
    """None: all linear modules but the head."""
    dropout: float
    adapter_dtype: str
    packed: bool
    """The base is held in 4 bit."""
    unpacked_dtype: str
    """dtype of what is not packed (embeddings, norms, head)."""
    stack: Stack

    @classmethod
    def of(cls, training: Training, stack: Stack = TRACED) -> Setup:
        """The set-up of a scenario's training on a stack."""
        lora, packed, method = training.lora, training.method == "qlora", training.method
        freezes = method == "freeze"
        return cls(
            weights_dtype=training.weights_dtype,
            autocast=None if training.autocast == "none" else training.autocast,
            attention=training.attention,
            checkpointing=training.checkpointing != "none",
            base_trains=method in ("full", "freeze"),
            embeddings_train=method == "full" or (freezes and training.freeze.embeddings),
            head_trains=method == "full" or (freezes and training.freeze.head),
            adapted=method in ("lora", "qlora"),
            rank=lora.rank,
            targets=None if lora.targets == "all-linear" else tuple(lora.targets),
            dropout=lora.dropout,
            adapter_dtype=lora.adapter_dtype,
            packed=packed,
            unpacked_dtype="fp32" if packed and training.quantization.fp32_unquantized else training.weights_dtype,
            stack=stack,
        )

    def first_input(self) -> tuple[str, bool]:
        """dtype of the first layer's input, and whether it needs a gradient."""
        return self.unpacked_dtype, self.embeddings_train or (self.checkpointing and self.adapted)

    @property
    def adapts_experts(self) -> bool:
        """Whether PEFT puts adapters on experts and routers, which are plain parameters: under all-linear it does."""
        return self.adapted and self.targets is None and not self.packed

    def adapts(self, name: str) -> bool:
        """Whether the linear module of this name gets an adapter.

        PEFT compares the whole name, or its end behind a dot.
        """
        if not self.adapted:
            return False
        if self.targets is None:
            return name not in ("lm_head", "embed_out")
        return name in self.targets
