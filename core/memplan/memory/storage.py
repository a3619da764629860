"""Memory behind tensors: what is alive now and at the peak, whole and by kind."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Size: TypeAlias = Any
"""A whole number that walks do nothing with but add, subtract and multiply: it may be a polynomial (`symbols`). Outside
of walks also a numpy array of whole numbers."""

BLOCK_BYTES = 512
"""PyTorch's caching allocator hands out multiples of this (c10/core/AllocatorConfig.h, kMinBlockSize)."""

ACTIVATIONS, LOGITS, TEMPORARY, GRADIENTS = range(4)
"""What a storage counts as; the index into a tally."""
CACHED = GRADIENTS
"""Keys and values that are cached: they take the place of gradients in a tally, which inference has none of."""


def rounded(num_bytes: Size) -> Size:
    """Round bytes up to the allocator's block.

    >>> rounded(1), rounded(512), rounded(513)
    (512, 512, 1024)
    """
    return (num_bytes + (BLOCK_BYTES - 1)) & -BLOCK_BYTES  # a power of two


class Level(NamedTuple):
    """Bytes alive at a moment."""

    total: Size
    gradients: Size
    """Those of the total that are gradients."""


class Meter:
    """Bytes alive now and at the peak, whole and by kind."""

    __slots__ = ("now", "peak", "peak_tally", "tally")

    def __init__(self) -> None:
        self.now: Size = 0
        self.peak: Size = 0
        self.tally: list[Size] = [0, 0, 0, 0]
        self.peak_tally: tuple[Size, ...] = (0, 0, 0, 0)

    def size(self, num_bytes: Size) -> Size:
        """What a tensor of so many bytes takes."""
        return rounded(num_bytes)

    def grow(self, num_bytes: Size, kind: int) -> None:
        """Count memory that is taken."""
        self.now = now = self.now + num_bytes
        tally = self.tally
        tally[kind] = tally[kind] + num_bytes
        if now > self.peak:
            self.peak, self.peak_tally = now, tuple(tally)

    def shrink(self, num_bytes: Size, kind: int) -> None:
        """Count memory that is given back."""
        self.now -= num_bytes
        self.tally[kind] -= num_bytes

    def restart(self) -> None:
        """Forget the peak: what is alive now is the new one."""
        self.peak, self.peak_tally = self.now, tuple(self.tally)


class Storage:
    """Memory behind one or more tensors; alive as long as something refers to it."""

    __slots__ = ("kept", "kind", "meter", "num_bytes")

    def __init__(self, meter: Meter, num_bytes: Size, kind: int) -> None:
        self.meter, self.num_bytes, self.kind, self.kept = meter, num_bytes, kind, False
        meter.grow(num_bytes, kind)

    def __del__(self) -> None:
        self.meter.shrink(self.num_bytes, self.kind)

    def become(self, kind: int) -> None:
        """Count as another kind from now on."""
        self.meter.shrink(self.num_bytes, self.kind)
        self.meter.grow(self.num_bytes, kind)
        self.kind = kind
