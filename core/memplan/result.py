"""What an estimate answers: instants, terms, band, verdict, recipe, warnings. Frozen data, no arithmetic of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

TermName = Literal[
    "weights",
    "adapters",
    "gradients",
    "optimizer states",
    "master weights",
    "KV cache",
    "activations",
    "logits and loss",
    "temporary buffers",
    "communication buffers",
    "framework",
    "allocator slack",
]
TERMS: tuple[TermName, ...] = (
    "weights",
    "adapters",
    "gradients",
    "optimizer states",
    "master weights",
    "KV cache",
    "activations",
    "logits and loss",
    "temporary buffers",
    "communication buffers",
    "framework",
    "allocator slack",
)
"""Every term, in the order in which charts stack and tables list them."""

InstantName = Literal["loaded", "forward", "loss", "backward", "optimizer_step", "prefill", "decode"]
INSTANT_TITLES: dict[InstantName, str] = {
    "loaded": "Loaded",
    "forward": "Forward",
    "loss": "Loss",
    "backward": "Backward",
    "optimizer_step": "Optimizer step",
    "prefill": "Prefill",
    "decode": "Decode",
}
Verdict = Literal["fits", "tight", "does_not_fit"]
Basis = Literal["traced", "measured", "published", "extrapolated"]


UNTIL_FORWARD_ENDS = "until forward is over"
"""The note of tensors that backward does not read."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Equal tensors that one module kind holds: name, shape in symbols and numbers, dtype, bytes of all of them."""

    name: str
    shape: str
    dtype: str
    count: int
    total_bytes: int
    note: str = ""
    first_layer: int = 0
    """The first of the layers that hold them, one each, counted from 1; 0 where they are of no layer."""


@dataclass(frozen=True, slots=True)
class Instant:
    """The fullest moment of one part of a training step, or of generating text, by term."""

    name: InstantName
    step: int
    """1 for the first step (optimizer states appear in it), 2 for every later one, 0 for loaded."""
    where: str
    """Where inside the instant the peak stands: "layer 32 of 32, recomputed"; may be empty."""
    bytes_by_term: Mapping[TermName, int]
    """Non-zero terms only, in the order of TERMS; framework and allocator slack included."""

    @property
    def title(self) -> str:
        """The instant's name for a person."""
        return INSTANT_TITLES[self.name]

    @property
    def total_bytes(self) -> int:
        """Everything that the process holds then."""
        return sum(self.bytes_by_term.values())


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """A moment of the course of a step, with how far along it stands."""

    instant: Instant
    """What is held then; its `where` names the layer."""
    at: float
    """Where it starts, in widths of a layer from the start of its step."""
    width: float
    """How long it stays so; 0 for a moment inside a layer, from and to which memory changes."""
    layer: int
    """The layer that it stands in, counted from 1; 0 outside the layers."""
    layers_held: int
    """The first so many layers may hold what they keep for backward."""
    begins: bool = False
    """What is held as a layer begins. Every other point is a fullest moment."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term: what it holds at the peak and at most, by which formula, made of which tensors."""

    name: TermName
    bytes_at_peak: int
    largest_bytes: int
    formula: str
    """The formula with this scenario's numbers in it."""
    source: str
    tensors: tuple[LedgerRow, ...] = ()
    """Everything that is known tensor by tensor, whenever it is there."""
    rows_at: Callable[[Instant], tuple[LedgerRow, ...]] = field(default=lambda instant: (), repr=False, compare=False)
    """What the term is made of at an instant: rows that add up to it, of which the last names what no other does. Empty
    where the formula says all."""


@dataclass(frozen=True, slots=True)
class TraceBytes:
    """Tensors alive on the fullest device as a trace of the framework sees them: the second step, then the first.

    Of generating text `forward_…` are of prefill, and what follows the first step is of decoding; None elsewhere.
    """

    loaded: int
    optimizer_state: int
    forward_end: int
    forward_peak: int
    backward_peak: int
    backward_end: int
    step_peak: int
    step_end: int
    zeroed: int
    peak: int
    peak_instant: str
    first_step: Mapping[str, int]
    decode_peak: int | None = None
    decode_end: int | None = None
    kv_cache: int | None = None
    """What is cached once the next token is made."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Counts of the whole model, not of one device's share."""

    total: int
    trainable: int
    active: int
    """Parameters that one token passes through; differs from total with experts only."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Dtypes of weights, gradients, master copy and states in words, and the bytes per parameter that follow."""

    text: str
    bytes_per_parameter: float


@dataclass(frozen=True, slots=True)
class Process:
    """What the device's monitor will likely show: allocated, reserved, total, and the band around the total."""

    allocated: int
    reserved: int
    total: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Need:
    """What the run cannot do without: a band, low to high."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class HostMemory:
    """What a run takes of the hosts' memory for what its devices do not hold; the program's own comes on top."""

    bytes_by_term: Mapping[TermName, int]
    """Of one device, non-zero terms only, in the order of TERMS; temporary buffers are copies on their way."""
    pinned_bytes: int
    """How much of it is page-locked. PyTorch rounds such blocks up to powers of two: up to twice as much is taken."""
    devices_on_node: int
    """Devices of the run that share one host."""

    @property
    def device_bytes(self) -> int:
        """For one device."""
        return sum(self.bytes_by_term.values())

    @property
    def node_bytes(self) -> int:
        """For all devices of one host."""
        return self.device_bytes * self.devices_on_node


@dataclass(frozen=True, slots=True)
class StageShare:
    """What one stage of a pipeline has, and what a device of it holds at its peak."""

    rank: int
    """Which stage, from 0; of `alike` equal ones the first, which has the most in flight."""
    ranks: int
    alike: int
    first_layer: int
    """From 0."""
    layers: int
    has_embeddings: bool
    has_head: bool
    """Head and loss."""
    in_flight: int
    """Micro-batches whose kept tensors it holds at once."""
    peak_bytes: int
    """Tensors of one device at its peak."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Peaks of a real run of the scenario, beside what its tensors were estimated to take."""

    allocated_bytes: int | None
    reserved_bytes: int | None
    process_bytes: int | None
    estimated_bytes: int
    """Tensors and workspaces by the estimate."""
    narrows: bool
    """Whether the band of the need is narrowed by it."""


@dataclass(frozen=True, slots=True)
class UsableFrom:
    """What `Estimate.usable_bytes` is left of."""

    given_bytes: int
    """What a process can get of the device, with nothing else on it."""
    others_bytes: int
    """What other programs hold of it."""
    headroom: float
    """Fraction of the rest that is left free on purpose."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A word about one field: unwise but possible, or an assumption that was made."""

    path: str
    """The field inside the scenario, `training.optimizer`."""
    message: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer for one scenario."""

    name: str
    model_name: str
    parameters: Parameters
    recipe: Recipe
    trace: Callable[[], TraceBytes] = field(repr=False, compare=False)
    """Works out `bytes`, which only those who hold estimates against traces ask for."""
    instants: tuple[Instant, ...]
    """Loaded, then forward, loss, backward and optimizer step of every later step; prefill and decode of generation."""
    first_step: tuple[Instant, ...]
    """Forward, loss, backward and optimizer step of the first step."""
    peak: Instant
    explain: Callable[[], tuple[Term, ...]] = field(repr=False, compare=False)
    """Works out `terms`: a search over many set-ups asks for none."""
    process: Process
    need: Need
    device_id: str
    device_name: str
    usable_bytes: int
    verdict: Verdict
    basis: Basis
    runs_alone: bool = False
    """Whether the run is divided over several devices, and those of this kind cannot share one."""
    measured: Measurement | None = None
    """What a run was seen to take; None where nothing was measured."""
    advise: Callable[[], tuple[Advice, ...]] = field(default=tuple, repr=False, compare=False)
    """Puts `warnings` in words."""
    host: HostMemory = HostMemory({}, 0, 1)
    """What lives in the hosts' memory instead of on the devices."""
    usable_from: UsableFrom | None = None
    """What is taken off for `usable_bytes`; None where that is not known."""
    stages: tuple[StageShare, ...] = ()
    """The kinds of stages of a pipeline, the fullest first: the estimate is of that one's devices. Empty without."""

    walk_course: Callable[[], tuple[CoursePoint, ...]] = field(default=tuple, repr=False, compare=False)
    """Works out `course`, which only those who draw it ask for."""

    @property
    def course(self) -> tuple[CoursePoint, ...]:
        """Memory over a step, layer by layer: loaded, then the first step, then a later one. Its top is the peak."""
        return self.walk_course()

    @property
    def bytes(self) -> TraceBytes:
        """Tensors alive as a trace sees them: on a CPU, with the newest library. `process` is the hardware's."""
        return self.trace()

    @property
    def warnings(self) -> tuple[Advice, ...]:
        """What is unwise, what may be meant otherwise, and what was assumed."""
        return self.advise()

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every term that is there at any instant, with its formula and its tensors, in the order of TERMS."""
        return self.explain()

    @property
    def peak_bytes(self) -> int:
        """Tensors alive at the peak (allocated), without framework and slack."""
        return self.process.allocated

    @property
    def need_bytes(self) -> int:
        """The peak of the whole process, inside the need's band: the one figure that sentence, chart and table give."""
        return self.peak.total_bytes

    @property
    def headroom_bytes(self) -> int:
        """Usable less need; negative by how much it does not fit."""
        return self.usable_bytes - self.need_bytes
