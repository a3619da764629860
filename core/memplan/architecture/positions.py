"""How positions turn heads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memplan.architecture.parts import Layer


@dataclass(frozen=True, slots=True)
class Rotary:
    """How positions turn heads, where it is not llama's way."""

    form: Literal["cosines", "half_cosines", "complex"] = "cosines"
    """What the tables hold: half as many cosines, for halves that are turned one by one and joined (GPT-OSS), or
    complex numbers (DeepSeek-V2, Llama 4)."""
    joins: bool = False
    """The turned part and the rest of each head are joined, even when the rest is empty (GPT-NeoX)."""
    table: int = 0
    """Which of the model's tables of positions: sliding and full layers may have one each (Gemma 3)."""
    inline: bool = False
    """Turned inside the attention's own function, which holds the parts until it returns (Phi)."""
    by_token: bool = False
    """Heads are turned before they are moved forward (GPT-J)."""
    stored: bool = False
    """Cosines and sines are rows of a stored table (GPT-J)."""
    buffered: bool = False
    """Cosines and sines of the longest sequence are buffers of the model, in fp32 (litgpt, torchtune)."""
    pairs: bool = False
    """Neighbours are turned, not halves of the head (Cohere, GLM)."""
    spread: Literal["no", "once", "each"] = "no"
    """Each layer spreads cosines and sines out again, once (GLM) or for queries and keys each (GPT-J)."""
    per_row: bool = False
    """The tables have a row for each sequence of the batch (Qwen3.5)."""
    fp32_tables: bool = False
    """Cosines and sines stay in fp32 (OLMo)."""
    fp32_heads: bool = False
    """Heads are cast to fp32 and turned in it (Cohere)."""
    fp32_products: bool = False
    """Heads are cast to fp32 for each product, their halves swapped before that (ERNIE 4.5)."""


def rotary_tables(layers: Iterable[Layer]) -> tuple[tuple[int, int], ...]:
    """The tables of rotary positions that these layers read, as (number, width)."""
    found = {(layer.attention.rotary.table, layer.attention.rotary_dim) for layer in layers}
    return tuple(sorted(one for one in found if one[1]))
