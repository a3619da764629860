"""A tape that tells each tensor it makes: what asks for memory, how much, and what is held already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from memplan.memory.storage import Meter, Size
from memplan.memory.tape import Grads, Node, Parameter, Tape, Tensor

Pass = Literal["forward", "backward", "recomputing"]


@dataclass(slots=True)
class Seen:
    """One tensor as it was made."""

    module: str
    """The module whose forward made it, or in whose backward step it was made."""
    shape: tuple[Size, ...]
    dtype: str
    num_bytes: Size
    during: Pass
    held_bytes: Size
    """What the walk held before it."""
    role: str = ""
    """What backward reads it as; empty for what nothing keeps."""


class Witness(Tape):
    """A tape with a list of every tensor, in the order in which they were made."""

    def __init__(self, meter: Meter | None = None, *, autocast: str | None = None, on_device: bool = False) -> None:
        super().__init__(meter, autocast=autocast, on_device=on_device)
        self.seen: list[Seen] = []
        self._by_storage: dict[int, Seen] = {}
        self._in_backward = False

    def new(self, shape: tuple[Size, ...], dtype: str) -> Tensor:
        """A fresh tensor, noted."""
        held = self.meter.now
        tensor = super().new(shape, dtype)
        if tensor.storage.num_bytes:
            during: Pass = "recomputing" if self.recomputes else "backward" if self._in_backward else "forward"
            seen = Seen(self.module, shape, dtype, tensor.storage.num_bytes, during, held)
            self.seen.append(seen)
            self._by_storage[id(tensor.storage)] = seen
        return tensor

    def keep(self, tensor: Tensor, role: str) -> Tensor | None:
        """Note what it is kept as."""
        seen = self._by_storage.get(id(tensor.storage))
        if seen is not None and not seen.role:
            seen.role = role
        return super().keep(tensor, role)

    def node(
        self,
        inputs: Sequence[Tensor | Parameter | None],
        run: Callable[[list[Tensor | None]], Grads],
        num_outputs: int = 1,
    ) -> Node:
        """A backward step that remembers its module."""
        module = self.module

        def told(grads: list[Tensor | None]) -> Grads:
            before, self.module = self.module, module
            try:
                return run(grads)
            finally:
                self.module = before

        return super().node(inputs, told, num_outputs)

    def backward(self, output: Tensor, *, until_held: bool = False) -> Size:
        """Walk back; what is made meanwhile is backward's."""
        before, self._in_backward = self._in_backward, True
        try:
            return super().backward(output, until_held=until_held)
        finally:
            self._in_backward = before
