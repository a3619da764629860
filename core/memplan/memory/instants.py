"""The instants of a training step, by term and as a trace sees them, from the states and the walk."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memplan.architecture.dividing import share
from memplan.architecture.parts import Architecture
from memplan.memory.account import States
from memplan.memory.buffers import position_bytes
from memplan.memory.gathering import Gathering
from memplan.memory.moment import Moment
from memplan.memory.runs import Work
from memplan.memory.setup import Setup
from memplan.memory.sharding import gradients_leave
from memplan.memory.states import PACKED_BLOCK, held_tensors
from memplan.memory.step import Passes, decoding, passes
from memplan.memory.storage import Size, rounded
from memplan.memory.zero import gradients_have_places
from memplan.plan.hardware import Hardware
from memplan.plan.training import Training
from memplan.result import Instant, InstantName, TermName, TraceBytes

_STAGED_BY_UNSLOTH = 3
"""The last layer's input, which is not moved, and two buffers that inputs come back to. Source: unsloth_zoo 2026.10,
gradient_checkpointing.py (LAST_GC_INDEX, GPU_BUFFERS; the second buffer only where memory is left)."""


def _weight_buffer(architecture: Architecture, setup: Setup) -> int:
    """Unsloth unpacks every 4-bit matrix into one buffer, which stays: the largest in 16 bit, its scales in fp32.

    Source: unsloth 2026.10, kernels/utils.py, fast_dequantize (WEIGHT_BUFFERS, ABSMAX_BUFFERS).
    """
    packed = [tensor.values for tensor in held_tensors(architecture, setup) if tensor.packed]
    return max((2 * values + 4 * values // PACKED_BLOCK for values in packed), default=0)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Every instant of the first step and of later ones, tensors alone."""

    later: tuple[Instant, ...]
    first: tuple[Instant, ...]
    bytes: TraceBytes
    walked: Passes
    on_host: int = 0
    """What layers keep that waits in the host's memory, of all micro-batches in flight."""
    decoded: Passes | None = None
    """The next token after a sequence that is cached, where text is generated."""


def timeline(
    work: Work, training: Training, states: States, *, hardware: Hardware, most_gradients: int | None = None
) -> Timeline:
    """Walk the fullest micro-batch and place it on the states.

    With accumulation the last micro-batch is the fullest: gradients of the earlier ones are there already. Context
    parallelism gives each device its part of the sequence. `most_gradients` bounds the gradients of a model whose
    layers were assumed.
    """
    batch, sequence = training.micro_batch, share(training.sequence_length, hardware.context_parallel)
    trains = training.method != "inference"
    walked = _with_others_in_flight(passes(work, batch, sequence, most_gradients), work)
    present = states.gradients if accumulates(work.setup, training, states, hardware) else 0
    positions = position_bytes(work.architecture, sequence)
    ids = ids_bytes(batch, sequence) + positions
    if training.caches_keys:
        return _generation(states, walked, passes(decoding(work, walked), batch, sequence), positions, ids)
    later = _instants(states, walked, present, ids, 2, trains)
    first = _instants(states, walked, present, ids, 1, trains) if trains else ()
    later = (once_loaded(states, positions), *later)
    traced = replace(_trace_bytes(states, walked, present, ids, trains), loaded=states.loaded + positions)
    return Timeline(later, first, traced, walked, share(walked.on_host * work.in_flight, work.virtual_stages))


def _generation(states: States, read: Passes, decoded: Passes, positions: int, ids: int) -> Timeline:
    """The instants of reading a prompt and of making the next token."""
    on = StepStates(states, 0, ids, 2, generates=True)
    base, bytes_ = states.loaded + states.master, _trace_bytes(states, read, 0, ids, trains=False)
    prefill, decode = on.instant("prefill", read.fullest), on.instant("decode", decoded.fullest)
    peaks = base + read.fullest.total, base + decoded.fullest.total
    traced = replace(
        bytes_,
        loaded=states.loaded + positions,
        peak=max(peaks),
        peak_instant="prefill" if peaks[0] >= peaks[1] else "decode",
        decode_peak=peaks[1],
        decode_end=base + decoded.forward_end.total,
        kv_cache=decoded.forward_end.gradients,
    )
    return Timeline((once_loaded(states, positions), prefill, decode), (), traced, read, decoded=decoded)


def work_of(
    architecture: Architecture,
    setup: Setup,
    training: Training,
    states: States,
    *,
    hardware: Hardware,
    frozen_layers: int = 0,
    gathering: Gathering | None = None,
    in_flight: tuple[int, int] = (1, 1),
    buckets: int = 0,
) -> Work:
    """What a scenario walks. With a gathering, `setup` is what modules compute in."""
    stays = accumulates(setup, training, states, hardware)
    leave = gradients_leave(training, hardware)
    if gathering is not None and (stays or leave):
        gathering = gathering.without_gradients()
    return Work(
        architecture,
        setup,
        accumulating=stays and (gathering is None or hardware.sharding.strategy == "zero3"),
        frozen_layers=frozen_layers,
        with_backward=training.method != "inference",
        gathering=gathering,
        offloads=hardware.offload.activations or training.checkpointing == "offload",
        staged=_STAGED_BY_UNSLOTH if training.kernels == "unsloth" and training.checkpointing == "offload" else 0,
        stays_bytes=_weight_buffer(architecture, setup) if training.kernels == "unsloth" else 0,
        applies_gradients=leave,
        in_flight=in_flight[0],
        virtual_stages=in_flight[1],
        backward_buckets=buckets,
    )


def accumulates(setup: Setup, training: Training, states: States, hardware: Hardware) -> bool:
    """Whether gradients are there before a micro-batch begins: of earlier ones, or in buffers of their own."""
    own_dtype = setup.adapter_dtype if setup.adapted else training.weights_dtype
    buffered = training.gradients_dtype not in ("weights", own_dtype) and states.gradients > 0
    buffered = buffered or gradients_have_places(hardware)
    return training.method != "inference" and (training.gradient_accumulation > 1 or buffered)


def ids_bytes(batch: Size, sequence: Size) -> Size:
    """The batch itself: token numbers."""
    return rounded(8 * batch * sequence)


def before_the_walk(states: States, present: int, optimizer: int) -> int:
    """What is alive when a micro-batch begins: weights, states, gradients that are there already."""
    return states.loaded + states.master + optimizer + present


def beside_the_ids(states: States, *, trains: bool) -> int:
    """What is alive in the optimizer step, but for the batch."""
    base = states.loaded + states.master
    return base + (states.optimizer + states.gradients if trains else 0) + states.step_temporary


def _with_others_in_flight(walked: Passes, work: Work) -> Passes:
    """With what other micro-batches keep from forward to backward."""
    others = work.kept_by_others(walked.runs)
    if not others:
        return walked

    return replace(
        walked,
        others=int(others),
        forward=fuller(walked.forward, others),
        loss=fuller(walked.loss, others),
        forward_end=fuller(walked.forward_end, others),
        backward=fuller(walked.backward, others),
    )


def fuller(moment: Moment, activations: int) -> Moment:
    """The moment with what other micro-batches keep."""
    return replace(moment, activations=moment.activations + activations) if activations else moment


@dataclass(frozen=True, slots=True)
class StepStates:
    """What forward and backward of a step stand on: states, and gradients that are there already."""

    states: States
    present: int
    """Bytes of gradients of earlier micro-batches, or in buffers of their own."""
    ids: int
    step: int
    """1 for the first step, 2 for every later one."""
    generates: bool = False
    """Whether what takes the place of gradients is a cache of keys and values."""

    def instant(self, name: InstantName, moment: Moment) -> Instant:
        """A moment of forward, loss or backward on top of them."""
        states = self.states
        terms: dict[TermName, int] = {
            "weights": states.weights,
            "adapters": states.adapters,
            "gradients": 0 if self.generates else self.present + moment.gradients,
            "optimizer states": states.optimizer if self.step > 1 else 0,
            "master weights": states.master,
            "KV cache": moment.gradients if self.generates else 0,
            "activations": moment.activations,
            "logits and loss": moment.logits,
            "temporary buffers": moment.temporary,
            "communication buffers": moment.communication,
        }
        return Instant(name, self.step, moment.where, _without_zeros(terms))

    def at_step(self) -> Instant:
        """The optimizer step, whose states are there from the first on."""
        states = self.states
        terms: dict[TermName, int] = {
            "weights": states.weights,
            "adapters": states.adapters,
            "gradients": states.gradients,
            "optimizer states": states.optimizer,
            "master weights": states.master,
            "activations": self.ids,
            "temporary buffers": states.step_temporary,
        }
        return Instant("optimizer_step", self.step, "", _without_zeros(terms))


def once_loaded(states: States, positions: int) -> Instant:
    """What is there before the first step; `positions` are bytes of the model's buffers."""
    terms: dict[TermName, int] = {"weights": states.weights, "adapters": states.adapters, "activations": positions}
    return Instant("loaded", 0, "", _without_zeros(terms))


def _instants(states: States, walked: Passes, present: int, ids: int, step: int, trains: bool) -> tuple[Instant, ...]:
    on = StepStates(states, present, ids, step)
    found = [on.instant("forward", walked.forward), on.instant("loss", walked.loss)]
    return (*found, on.instant("backward", walked.backward), on.at_step()) if trains else tuple(found)


def _without_zeros(terms: dict[TermName, int]) -> dict[TermName, int]:
    """Of terms that stand in the order of TERMS, those that are there."""
    return {term: size for term, size in terms.items() if size}


def _trace_bytes(states: States, walked: Passes, present: int, ids: int, trains: bool) -> TraceBytes:
    """The instants that tools which trace the framework report, for the second step and the first."""
    later = _trace_step(states, walked, present, ids, states.optimizer, trains)
    first = _trace_step(states, walked, present, ids, 0, trains)
    candidates = [
        (bytes_[key], f"{title} of step {number}")
        for number, bytes_ in ((1, first), (2, later))
        for key, title in (("forward_peak", "forward"), ("backward_peak", "backward"), ("step_peak", "optimizer step"))
    ]
    peak, where = max(candidates, key=lambda one: one[0])
    return TraceBytes(
        loaded=states.loaded,
        optimizer_state=states.optimizer_unrounded,
        peak=peak,
        peak_instant=where,
        first_step=first,
        **later,
    )


def _trace_step(states: States, walked: Passes, present: int, ids: int, optimizer: int, trains: bool) -> dict[str, int]:
    base = states.loaded + states.master
    before = before_the_walk(states, present, optimizer)
    forward_end = before + walked.forward_end.total
    gradients = states.gradients if trains else 0
    after = base + states.optimizer if trains else base
    return {
        "forward_end": forward_end,
        "forward_peak": max(forward_end, before + walked.forward.total, before + walked.loss.total),
        "backward_peak": before + walked.backward.total,
        "backward_end": base + optimizer + gradients + ids,
        "step_peak": beside_the_ids(states, trains=trains) + ids,
        "step_end": after + gradients + ids,
        "zeroed": after + ids,
    }
