"""What reading an out-of-memory message gives. Frozen data; a number that is not stated is None, never 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memplan.diagnose.amounts import Amount, total_of
from memplan.result import InstantName, TermName

MessageKind = Literal[
    "cuda",
    "hip",
    "xpu",
    "npu",
    "hpu",
    "mps",
    "mlx",
    "metal",
    "xla",
    "tensorflow",
    "bitsandbytes",
    "driver",
    "batch_search",
    "host",
    "unknown",
]
MESSAGE_KINDS: dict[MessageKind, str] = {
    "cuda": "PyTorch on CUDA",
    "hip": "PyTorch on ROCm (HIP)",
    "xpu": "PyTorch on an Intel GPU (XPU)",
    "npu": "PyTorch on Ascend (NPU)",
    "hpu": "PyTorch on Intel Gaudi (HPU)",
    "mps": "PyTorch on Apple silicon (MPS)",
    "mlx": "MLX",
    "metal": "Metal",
    "xla": "XLA (JAX, PyTorch/XLA or TPU)",
    "tensorflow": "TensorFlow",
    "bitsandbytes": "bitsandbytes",
    "driver": "the device's driver or one of its libraries",
    "batch_search": "accelerate's search for a batch that fits",
    "host": "the host's memory (RAM)",
    "unknown": "an unknown source",
}
"""Who wrote the message."""


@dataclass(frozen=True, slots=True)
class OtherProcess:
    """A process that the message names, and what it holds on the card."""

    pid: int
    held: Amount


@dataclass(frozen=True, slots=True)
class Message:
    """One out-of-memory message. Amounts are as stated; None stands for "not stated"."""

    kind: MessageKind
    device: int | None = None
    """Which card, as the process counts them."""
    rank: int | None = None
    asked: Amount | None = None
    """What could not be had."""
    total: Amount | None = None
    """The card's capacity, as the framework sees it."""
    limit: Amount | None = None
    """What the process may take, where that is less than the card."""
    allocated: Amount | None = None
    """In tensors."""
    pools: Amount | None = None
    """Of what is in tensors: in pools of their own (CUDA graphs)."""
    active: Amount | None = None
    reserved: Amount | None = None
    """What the allocator took for tensors."""
    unallocated: Amount | None = None
    """Reserved, but in no tensor."""
    free: Amount | None = None
    contiguous: Amount | None = None
    """The largest free piece."""
    process: Amount | None = None
    """All that this process holds on the card, context and libraries included."""
    outside: Amount | None = None
    """What the framework says it holds beside tensors (Apple's driver and graphs)."""
    others: tuple[OtherProcess, ...] = ()
    out_of: Literal["memory", "buffers", "shared memory"] = "memory"
    """What ran out: Metal also counts the buffers of a process, and a host's shared memory has a limit of its own."""
    killed: bool = False
    """A process was ended by signal 9, and nothing says why: mostly, but not always, for want of the host's memory."""
    buffers: int | None = None
    """How many buffers a process may have, where they ran out."""
    exact: bool = False
    """What was asked for is told as it was requested, before an allocator rounds it up."""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    instant: InstantName | None = None
    """Where in a step it happened, as the traceback says."""
    place: str = ""
    """The same in words: "in the optimizer's step"; empty where nothing tells."""
    makes: TermName | None = None
    """What was being made there, where the traceback says so."""
    in_warning: bool = False
    """It stands in a warning: the run went on."""
    notes: tuple[str, ...] = ()
    """What was read and not believed, and why."""
    line: int = 1
    repeats: int = 1
    """How often the text says the same."""

    @property
    def states_nothing(self) -> bool:
        """Whether no figure is stated at all, nor a shape."""
        amounts = (self.asked, self.total, self.limit, self.allocated, self.reserved, self.free, self.process)
        return not any(amounts) and not self.others and self.shape is None and self.buffers is None

    @property
    def is_of_a_program(self) -> bool:
        """Whether what was asked for is a whole compiled step: XLA lays one out before it runs."""
        return self.kind == "xla" and self.asked is not None and self.total is not None and self.free is None

    @property
    def is_of_a_tensor(self) -> bool:
        """Whether what was asked for may be a tensor on the card."""
        return self.kind not in ("host", "driver") and self.out_of == "memory" and not self.is_of_a_program

    @property
    def kind_title(self) -> str:
        """Who wrote it, for a person."""
        return MESSAGE_KINDS[self.kind]

    @property
    def reserved_in_all(self) -> Amount | None:
        """What the allocator holds: stated, or tensors and what is reserved beside them."""
        if self.reserved is not None or self.allocated is None or self.unallocated is None:
            return self.reserved
        return self.allocated.plus(self.unallocated)

    @property
    def unallocated_in_all(self) -> Amount | None:
        """Reserved but in no tensor: stated, or the difference of what is."""
        if self.unallocated is not None or self.allocated is None or self.reserved is None:
            return self.unallocated
        return self.reserved.minus(self.allocated)

    @property
    def other_processes(self) -> Amount | None:
        """What the processes that the message names as others hold together."""
        return total_of(other.held for other in self.others)

    @property
    def outside_allocator(self) -> Amount | None:
        """What the card holds beside this process's allocator: contexts, communication, other processes."""
        held = self.reserved_in_all
        if self.total is None or self.free is None or held is None:
            return None
        return self.total.minus(self.free).minus(held)

    @property
    def beside_allocator(self) -> Amount | None:
        """What this process itself holds beside its allocator: context, libraries, communication."""
        held = self.reserved_in_all
        return None if self.process is None or held is None else self.process.minus(held)


@dataclass(frozen=True, slots=True)
class Reading:
    """All that was found in a text."""

    messages: tuple[Message, ...]
    figures: tuple[str, ...] = ()
    """Amounts with the words around them, where no message was found."""
    models: tuple[str, ...] = ()
    """Models of the catalog that the text names."""
    unread: int = 0
    """Places in a long log that look like more of the same and were passed over."""
