"""What a walk through the model needs to know of a scenario: the recipe, who trains, which kernels run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Component, Layer, Linear, Table
from memplan.memory.stack import TRACED, Stack
from memplan.plan.training import Training


@dataclass(frozen=True, slots=True)
class Setup:
    """The part of a training set-up that decides which tensors are kept. Hashable: walks are cached by it."""

    weights_dtype: str
    autocast: str | None
    attention: Literal["eager", "sdpa", "flash"]
    checkpointing: bool
    selective: bool
    """Whether the attention's core is recomputed where a stack can do so."""
    base_trains: bool
    """Whether the layers' own weights train."""
    trains: bool
    """Whether anything trains: dropout is off and nothing is kept in inference."""
    embeddings_train: bool
    head_trains: bool
    """Whether the final norm and the head train."""
    adapted: bool
    rank: int
    targets: tuple[str, ...] | None
    """None: all linear modules, but the head only where `adapts_head`."""
    dropout: float
    adapter_dtype: str
    packed: bool
    """The base is held in 4 bit (or 8)."""
    packed_format: str
    """How, where it is: as `training.quantization.format` names it."""
    unpacked_dtype: str
    """dtype of what is not packed (embeddings, norms, head)."""
    loss: Literal["plain", "chunked", "fused"]
    stack: Stack
    norms_dtype: str = ""
    """dtype of norms where it is not that of what else is not packed."""
    adapts_head: bool = False
    chosen_layers: bool = False
    """Adapters stand on chosen layers alone; outside the layers only a head has one, and only where it is named."""
    bare: bool = False
    """What is walked is not among these layers: its linear modules have no adapters."""
    saved: tuple[str, ...] = ()
    """Modules of which PEFT makes a copy that trains whole."""
    sequence_parts: int = 1
    """Devices that divide norms and residuals along the sequence."""
    context_parts: int = 1
    """Devices that divide the sequence of everything, attention included."""
    expert_parts: int = 1
    """Devices that divide the experts, so that tokens travel to them and back."""
    recasts_weights: bool = False
    """Whether linear modules hold no cast of autocast's beyond the product that reads it: DeepSpeed's under ZeRO-3."""
    cache: Literal["none", "prefill", "cut", "last", "decode"] = "none"
    """Whether keys and values are cached: as a prompt is read, or as the next token is made on top of it.

    In a layer that reads a prompt's last token alone: "cut" is the first one, whose input is a view of all tokens.
    """

    @classmethod
    def of(cls, training: Training, stack: Stack = TRACED) -> Setup:
        """The set-up of a scenario's training on a stack."""
        lora, packed, method = training.lora, training.method == "qlora", training.method
        freezes = method == "freeze"
        # TRL 0.13, peft_module_casting_to_bf16: after the upcast all but the norms are cast back.
        recast = packed and training.trainer == "trl" and training.weights_dtype != "fp32"
        upcast = packed and training.quantization.fp32_unquantized and not recast
        return cls(
            weights_dtype=training.weights_dtype,
            autocast=None if training.autocast == "none" else training.autocast,
            attention=training.attention,
            checkpointing=training.checkpointing in ("full", "offload"),
            selective=training.checkpointing == "selective",
            base_trains=method in ("full", "freeze"),
            trains=method != "inference",
            embeddings_train=method == "full" or (freezes and training.freeze.embeddings),
            head_trains=method == "full" or (freezes and training.freeze.head),
            adapted=method in ("lora", "qlora"),
            rank=lora.rank,
            targets=None if isinstance(lora.targets, str) else tuple(lora.targets),
            adapts_head=lora.targets == "all-linear+lm_head",
            dropout=lora.dropout,
            adapter_dtype=lora.adapter_dtype,
            chosen_layers=lora.last_layers is not None,
            packed=packed,
            packed_format=training.quantization.format if packed else "nf4",
            unpacked_dtype="fp32" if upcast else training.weights_dtype,
            norms_dtype="fp32" if recast else "",
            loss="fused" if training.kernels == "liger" else training.loss,
            stack=stack,
            saved=lora.modules_to_save if method in ("lora", "qlora") else (),
            cache="prefill" if training.caches_keys else "none",
        )

    def of_layer(self, layer: Layer) -> Setup:
        """The set-up that the layer's modules see."""
        setup = self if layer.adapted or not self.adapted else replace(self, bare=True)
        return setup if layer.checkpointed or not setup.checkpointing else replace(setup, checkpointing=False)

    @property
    def outside(self) -> Setup:
        """The set-up that modules outside the layers see.

        A name among the targets reaches a module outside the layers only where it is the module's whole name, which is
        the head's.
        Source: peft 0.21.2, tuners/tuners_utils.py (check_target_module_exists); mlx-lm 0.32.2, tuner/utils.py
        (linear_to_lora_layers).
        """
        if not self.chosen_layers:
            return self
        return replace(
            self, targets=tuple(name for name in HEAD_NAMES if self.adapts_head or name in (self.targets or ()))
        )

    @property
    def makes_inputs_need_gradients(self) -> bool:
        """Whether embeddings are told to need gradients: with checkpoints PEFT asks for it, and transformers 5."""
        if not self.stack.asks_inputs_for_gradients:
            return False
        return self.checkpointing and self.trains and (self.adapted or self.stack.version >= (5, 0))

    def table_trains(self, tied: bool) -> bool:
        """Whether the token table trains; a tied one does when the head does."""
        return self.embeddings_train or (tied and self.head_trains)

    def first_input(self, table: Table, tied: bool) -> tuple[str, bool]:
        """dtype of the first layer's input, and whether it needs a gradient."""
        trains = self.table_trains(tied) or self.saves(table.name)
        return self.unpacked_dtype, trains or self.makes_inputs_need_gradients

    def first_input_is_bare(self, table: Table, tied: bool) -> bool:
        """Whether autocast takes embeddings that nothing trains, but that need gradients, for a weight."""
        trains = self.table_trains(tied) or self.saves(table.name)
        return self.autocast is not None and self.makes_inputs_need_gradients and not trains

    def saves(self, module: str) -> bool:
        """Whether a copy of this module trains whole beside the adapters."""
        return any(names_module(name, module) for name in self.saved)

    def adapts_parameter(self, experts: Experts, name: str) -> bool:
        """Whether PEFT puts an adapter on a router or on experts, which are plain parameters.

        It does so for the model types whose modules it knows from before they were fused, under their old names, and on
        every layer: it asks for no layer's number there (peft 0.21.2, tuners/tuners_utils.py, _inject_parameters).
        """
        if not self.adapted or self.packed or self.expert_modules(experts):
            return False
        old_names = _OLD_NAMES[experts.adapter_names].get(name, ())
        return bool(old_names) and (self.targets is None or all(old in self.targets for old in old_names))

    def expert_modules(self, experts: Experts) -> tuple[Linear, ...]:
        """Gate, up and down of one expert, where each is made of linear modules; none where all are in one tensor.

        Those are the mixtures whose modules' old names PEFT still knows.
        """
        names = _OLD_NAMES[experts.adapter_names]
        if not (names and self.stack.experts_are_modules and experts.gated):
            return ()
        gate, up = names["experts.gate_up_proj"]
        (down,) = names["experts.down_proj"]
        hidden, width = experts.inner, experts.width
        return (
            Linear(gate, hidden, width, component="experts"),
            Linear(up, hidden, width, component="experts"),
            Linear(down, width, hidden, component="experts"),
        )

    def router_module(self, experts: Experts) -> Linear | None:
        """The router, where it is a linear module as the experts are."""
        router = experts.router
        if not self.expert_modules(experts) or router.fp32 or router.bias:
            return None
        return Linear(router.name, experts.hidden, experts.count, component="experts")

    def packs(self, component: Component) -> bool:
        """Whether a linear module's matrix is packed: all but the head's, unless the stack packs that too."""
        return self.packed and (component != "head" or self.stack.packs_head)

    def adapted_heads(self, linear: Linear) -> tuple[int, ...]:
        """Of a matrix with parts: how many heads each part is wide that gets an adapter."""
        if not self.adapted or self.bare:
            return ()
        return tuple(heads for name, heads in linear.parts if self.targets is None or name in self.targets)

    def adapts(self, linear: Linear) -> bool:
        """Whether this linear module gets an adapter.

        PEFT compares the whole name, or its end behind a dot.
        """
        if not self.adapted or self.bare or not (linear.adaptable or self.packed):
            return False
        if linear.parts:
            return bool(self.adapted_heads(linear))
        if self.targets is None:
            return self.adapts_head or linear.name not in HEAD_NAMES
        return linear.name in self.targets


HEAD_NAMES = ("lm_head", "embed_out", "output_projection", "decoder")
"""What families call their head, which PEFT leaves out of "all-linear"."""

_OLD_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "none": {},
    "qwen": {
        "gate.weight": ("gate",),
        "experts.gate_up_proj": ("gate_proj", "up_proj"),
        "experts.down_proj": ("down_proj",),
    },
    "mixtral": {
        "gate.weight": ("gate",),
        "experts.gate_up_proj": ("w1", "w3"),
        "experts.down_proj": ("w2",),
    },
}
"""Names that target a parameter of a mixture of experts (PEFT 0.21, transformers_weight_conversion)."""


def names_of_experts(experts: Experts) -> tuple[str, ...]:
    """The names under which PEFT puts adapters on a router and experts that are no linear modules; none for most."""
    return tuple(name for names in _OLD_NAMES[experts.adapter_names].values() for name in names)


def names_module(name: str, module: str) -> bool:
    """Whether an entry of PEFT's modules_to_save reaches a module: ends are compared, whatever stands before them.

    >>> names_module("model.embed_tokens", "embed_tokens"), names_module("norm", "model.norm"), names_module("", "norm")
    (True, True, False)
    """
    return bool(name) and (module.endswith(name) or name.endswith(f".{module}"))
