"""A small autograd that runs on shapes: which storages are alive at each operation of a forward and a backward pass.

Blocks are written as the framework's own modules are; this tape then follows the framework's rules for what lives how
long. A storage is counted from the operation that makes it until its last reference goes: Python's own reference
counts do that bookkeeping, as they do in the framework, so a block's local variables live here as long as they live
there. Operations that need gradients hold what their backward formula reads (the ledger); the backward walk frees it.

Sizes are whole numbers that nothing here branches on, so that one walk can serve every batch and sequence (`symbols`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from sys import getrefcount
from typing import TypeAlias

from memplan.memory.storage import ACTIVATIONS, GRADIENTS, TEMPORARY, Meter, Size, Storage
from memplan.number_formats import BYTES_PER_VALUE

Kept: TypeAlias = "tuple[str, str, tuple[Size, ...], str, Size]"
"""(module, role, shape, dtype, bytes) of a storage that backward reads."""


class Tensor:
    """A shape and a dtype over a storage; `node` leads to its gradient when it needs one."""

    __slots__ = ("dtype", "node", "shape", "slot", "storage")

    def __init__(self, storage: Storage, shape: tuple[Size, ...], dtype: str, node: Node | None = None, slot: int = 0):
        self.storage, self.shape, self.dtype, self.node, self.slot = storage, shape, dtype, node, slot

    @property
    def needs_grad(self) -> bool:
        return self.node is not None

    def detached(self) -> Tensor:
        """The same storage without the way back (what an operation keeps of its own output)."""
        return Tensor(self.storage, self.shape, self.dtype)


class Gathered(Tensor):
    """A whole sequence, of which each device keeps its own part: it is gathered again in backward."""

    __slots__ = ("part",)
    part: Tensor


class Parameter:
    """A weight of the module that is walked. Its own bytes are counted by the states, its gradient's here."""

    __slots__ = ("cast", "dtype", "grad", "name", "node", "shape", "shared", "trainable")

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str, trainable: bool) -> None:
        self.name, self.shape, self.dtype, self.trainable = name, shape, dtype, trainable
        self.shared = False
        """Used in two places (a tied head): the first gradient waits for the second."""
        self.grad: Tensor | None = None
        self.cast: Tensor | None = None
        self.node: Node | None = None


Grads: TypeAlias = "Sequence[Tensor | None]"


def given(grads: list[Tensor | None]) -> Tensor:
    """The gradient of an operation with one output."""
    grad = grads[0]
    assert grad is not None, "autograd runs a step only when its output has a gradient"
    return grad


class Node:
    """One step of the backward pass: takes its outputs' gradients, gives its inputs'."""

    __slots__ = ("dtypes", "edges", "holds", "kind", "num_outputs", "run", "sequence", "sums", "unpacked_once")

    def __init__(
        self,
        sequence: int,
        edges: list[tuple[Node, int] | None],
        dtypes: list[str],
        run: Callable[[list[Tensor | None]], Grads] | None,
        kind: int,
        num_outputs: int = 1,
    ) -> None:
        self.sequence, self.edges, self.dtypes, self.run = sequence, edges, dtypes, run
        self.kind, self.num_outputs = kind, num_outputs
        self.holds = False
        """Whether its formula reads values held from forward."""
        self.sums: tuple[int, tuple[Size, ...]] | None = None
        """Which of its results is summed up, and to what shape."""
        self.unpacked_once = False
        """Whether a checkpoint gives it those values, and holds them no longer than the formula runs."""

    def __lt__(self, other: Node) -> bool:
        return self.sequence > other.sequence  # the newest first, as autograd's queue has it


CAST = "weight cast to 16 bit"
"""What autocast's copy of a weight is kept as."""
_LAST = 2**62  # gradient accumulation goes before everything else that is ready


class Tape:
    """What is alive while a module runs forward and backward."""

    def __init__(self, meter: Meter | None = None, *, autocast: str | None = None, on_device: bool = False) -> None:
        self.meter = meter or Meter()
        self.autocast = autocast
        self.on_device = on_device
        """Whether gradients that meet are added in place (a device) or into a new tensor (the traces' fake tensors)."""
        self.trains = True
        """Whether modules are in training mode; otherwise dropout does nothing and autocast caches every cast."""
        self.has_casts = False
        """Whether autocast has cast every weight already: it goes on from pass to pass, as in generating text."""
        self.recasts_weights = False
        """Whether a linear module's casts go with the product that reads them, as DeepSpeed's do under ZeRO-3."""
        self.accumulating = False
        """Whether gradients of earlier micro-batches are there already."""
        self.kind = TEMPORARY
        """What storages count as until an operation keeps them."""
        self.module = ""
        self.kept: list[Kept] = []
        """Each storage that backward will read, once."""
        self.casts: list[Parameter] = []
        self.bare_input: Storage | None = None
        """An fp32 input that was told to need a gradient: autocast takes it for a weight, and caches its cast."""
        self.bare_cast: Tensor | None = None
        self.watched: list[Tensor] | None = None
        """Where a list of what is held from now on is asked for, that."""
        self.packs = 0
        """How many values operations have held for backward so far, weights included."""
        self._sequence = 0
        self._packs_of_last_node = 0
        self.holding = True
        """Whether operations hold values for backward; not in the forward pass of a checkpoint."""
        self._mute_at = -1

    # making tensors

    def new(self, shape: tuple[Size, ...], dtype: str) -> Tensor:
        """A fresh tensor."""
        num_bytes = self.meter.size(prod(shape) * BYTES_PER_VALUE[dtype]) if self._mute_at != self.packs else 0
        return Tensor(Storage(self.meter, num_bytes, self.kind), shape, dtype)

    def leaf(self, shape: tuple[Size, ...], dtype: str, *, needs_grad: bool) -> Tensor:
        """A tensor that comes from outside the module; its gradient is kept on its node."""
        tensor = self.new(shape, dtype)
        if needs_grad:
            tensor.node = Node(_LAST, [], [], None, self.kind)
        return tensor

    @contextmanager
    def inside(self, module: str, kind: int | None = None) -> Iterator[None]:
        """Name the module whose operations run, and what its storages count as."""
        before, self.module = self.module, module
        kind_before = self.kind
        if kind is not None:
            self.kind = kind
        try:
            yield
        finally:
            self.module, self.kind = before, kind_before

    @contextmanager
    def no_autocast(self) -> Iterator[None]:
        """Inside a kernel of the framework, autocast is off."""
        before, self.autocast = self.autocast, None
        try:
            yield
        finally:
            self.autocast = before

    @contextmanager
    def checkpointed(self) -> Iterator[list[int]]:
        """Run operations that hold nothing for backward. Gives a list that is told how many values they would hold."""
        before, self.holding, start = self.holding, False, self.packs
        held: list[int] = []
        try:
            yield held
        finally:
            self.holding = before
            held.append(self.packs - start)

    @contextmanager
    def recomputing(self, num_packs: int) -> Iterator[None]:
        """Run a checkpointed module again. PyTorch stops when the last value is back: what follows costs nothing.

        A negative number runs it to its end.
        """
        self._mute_at = self.packs + num_packs if num_packs >= 0 else -1
        try:
            yield
        finally:
            self._mute_at = -1

    @property
    def recomputes(self) -> bool:
        """Whether operations run again for a checkpoint."""
        return self._mute_at != -1

    # recording

    def keep(self, tensor: Tensor, role: str) -> Tensor | None:
        """Count a tensor that backward will read, and return what to hold of it."""
        self.packs += 1
        if not self.holding:
            return None
        if tensor.__class__ is Gathered:
            tensor = tensor.part
        storage, kept = tensor.storage, tensor.detached()
        if self.watched is not None:
            self.watched.append(kept)
        if not storage.kept:
            storage.kept = True
            if storage.kind == TEMPORARY:
                storage.become(ACTIVATIONS)
            if storage.meter is not self.meter:
                return kept  # the whole model's; it is listed once, with the model
            self.kept.append((self.module, role, tensor.shape, tensor.dtype, storage.num_bytes))
        return kept

    def keep_weight(self) -> None:
        """Note that backward reads a weight; it is alive anyway."""
        self.packs += 1

    def needs_grad(self, *inputs: Tensor | Parameter | None) -> bool:
        """Whether an operation on these inputs is recorded."""
        for one in inputs:
            if one is not None and (one.trainable if isinstance(one, Parameter) else one.node is not None):
                return True
        return False

    def record(
        self,
        output: Tensor,
        inputs: Sequence[Tensor | Parameter | None],
        run: Callable[[list[Tensor | None]], Grads],
    ) -> Tensor:
        """Attach the backward step to an operation's output."""
        output.node = self.node(inputs, run)
        return output

    def node(
        self,
        inputs: Sequence[Tensor | Parameter | None],
        run: Callable[[list[Tensor | None]], Grads],
        num_outputs: int = 1,
    ) -> Node:
        """A backward step from the inputs that need gradients."""
        edges: list[tuple[Node, int] | None] = []
        dtypes: list[str] = []
        for one in inputs:
            if isinstance(one, Parameter):
                edges.append((self.accumulator(one), 0) if one.trainable else None)
                dtypes.append(one.dtype)
            else:
                edges.append((one.node, one.slot) if one is not None and one.node is not None else None)
                dtypes.append(one.dtype if one is not None else "")
        self._sequence += 1
        node = Node(self._sequence, edges, dtypes, run, self.kind, num_outputs)
        node.holds = self.packs != self._packs_of_last_node
        node.unpacked_once = self.recomputes
        self._packs_of_last_node = self.packs
        return node

    def accumulator(self, parameter: Parameter) -> Node:
        """The node that adds to a parameter's gradient."""
        if parameter.node is None:

            def run(grads: list[Tensor | None]) -> Grads:
                grad = given(grads)
                if self.accumulating and not parameter.shared:
                    return ()  # added to the gradient of earlier micro-batches, then gone
                if parameter.grad is not None and not self.on_device:
                    grad = self.new(grad.shape, grad.dtype)  # the two uses' gradients are summed into a third tensor
                grad.storage.become(GRADIENTS)
                parameter.grad = grad.detached()
                return ()

            parameter.node = Node(_LAST, [], [], run, TEMPORARY)
        return parameter.node

    def cast_bytes(self) -> Size:
        """What autocast's cached copies of weights take."""
        return sum(one.cast.storage.num_bytes for one in self.casts if one.cast is not None)

    def only_cached(self) -> Iterator[Kept]:
        """Autocast's copies that nothing holds for backward."""
        for parameter in self.casts:
            if (cast := parameter.cast) is not None and not cast.storage.kept:
                yield parameter.name, CAST, cast.shape, cast.dtype, cast.storage.num_bytes
        if self.bare_cast is not None and not self.bare_cast.storage.kept:
            cast = self.bare_cast
            yield "layer", "input cast to 16 bit", cast.shape, cast.dtype, cast.storage.num_bytes

    def release_casts(self) -> None:
        """Leave autocast: its cached 16-bit copies of weights go."""
        for parameter in self.casts:
            parameter.cast = None
        self.casts.clear()
        self.bare_cast = None

    # backward

    def backward(self, output: Tensor, *, until_held: bool = False) -> Size:
        """Walk back from an output, whose gradient comes first. Leaves' gradients go when the walk is over.

        With `until_held` the walk ends before the first step that reads something held from forward. Returns the bytes
        alive then, or at the end.
        """
        root = output.node
        assert root is not None, "nothing to walk back through"
        waiting = _count_uses(root)
        buffers: dict[Node, list[Tensor | None]] = {root: [None] * root.num_outputs}
        buffers[root][output.slot] = self.new(output.shape, output.dtype)
        del output
        leaves: dict[Node, Tensor] = {}
        ready = [root]
        kind_before = self.kind
        while ready:
            node = heapq.heappop(ready)
            grads = buffers.pop(node)
            if node.run is None:
                if grads[0] is not None:
                    leaves[node] = grads[0]
                del grads
                continue
            if until_held and node.holds:
                self.kind = kind_before
                return self.meter.now
            self.kind = node.kind
            results = list(node.run(grads))
            lets_go = bool(node.edges) and not until_held
            if lets_go and node.unpacked_once:
                node.run = None
            self._cast_to_inputs(node, results)  # before what it was given, and what it kept, goes
            del grads
            if lets_go:
                node.run = None
            for index, edge in enumerate(node.edges):
                result, results[index] = results[index], None
                if edge is None:
                    continue
                target, slot = edge
                self._receive(buffers, target, slot, result)
                del result
                waiting[target] -= 1
                if waiting[target] == 0:
                    heapq.heappush(ready, target)
            del results
        self.kind = kind_before
        return self.meter.now

    def _cast_to_inputs(self, node: Node, results: list[Tensor | None]) -> None:
        """Gradients take shape and dtype of what they are gradients of (PyTorch, engine.cpp, validate_outputs)."""
        for index, edge in enumerate(node.edges):
            result = results[index]
            if result is not None and node.sums is not None and node.sums[0] == index:
                results[index] = result = self.new(node.sums[1], result.dtype)
            if edge is not None and result is not None and result.dtype != node.dtypes[index]:
                results[index] = self.new(result.shape, node.dtypes[index])

    def _receive(
        self, buffers: dict[Node, list[Tensor | None]], target: Node, slot: int, result: Tensor | None
    ) -> None:
        buffer = buffers.setdefault(target, [None] * target.num_outputs)
        if result is None:
            return
        held = buffer[slot]
        if held is None:
            buffer[slot] = result
        elif not (self.on_device and _is_only_reference(held)):
            buffer[slot] = self.new(held.shape, held.dtype)


def _is_only_reference(held: Tensor) -> bool:
    """Whether autograd may add into a gradient: nobody else refers to it or its storage.

    The counts are those of the buffer, the caller's local and this call's own arguments.
    """
    return getrefcount(held) <= 4 and getrefcount(held.storage) <= 2


def _count_uses(root: Node) -> dict[Node, int]:
    """How many gradients each node waits for."""
    uses: dict[Node, int] = {}
    stack, seen = [root], {root}
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                target = edge[0]
                uses[target] = uses.get(target, 0) + 1
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
    return uses
