"""What a model holds beside its parameters: buffers, and what a sequence makes of them."""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Architecture
from memplan.architecture.positions import rotary_tables
from memplan.memory.storage import Size, rounded
from memplan.number_formats import BYTES_PER_VALUE


def position_bytes(architecture: Architecture, sequence: Size) -> Size:
    """Cosines and sines of the longest sequence, in fp32, where they are buffers of the model."""
    layers = [layer for layer in architecture.kinds if layer.attention.rotary.buffered]
    half = any(layer.attention.rotary.form == "half_cosines" for layer in layers)
    return sum(2 * 4 * sequence * width // (2 if half else 1) for _, width in rotary_tables(layers))


def buffer_bytes(architecture: Architecture, dtype: str) -> int:
    """Buffers that come with the model: two copies of each table's rotary frequencies, corrections of routers, an
    embedding scale, positions in the model's dtype, and those that the composition names.
    """
    kinds = [layer for layer in architecture.kinds if not layer.attention.rotary.buffered]
    made = [layer for layer in kinds if not layer.attention.rotary.stored]
    rotary = sum(2 * int(rounded(4 * (width // 2))) for _, width in rotary_tables(made))
    experts = ((layer.mlp, count) for layer, count in architecture.kinds.items() if isinstance(layer.mlp, Experts))
    corrections = sum(count * int(rounded(mlp.buffer_bytes)) for mlp, count in experts)
    named = sum(int(rounded(one)) for one in architecture.buffer_sizes(BYTES_PER_VALUE[dtype]))
    return rotary + corrections + named + (int(rounded(1)) if architecture.embedding_scale == "buffer" else 0)
