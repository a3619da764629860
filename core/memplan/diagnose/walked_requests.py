"""What forward, loss and backward ask for, tensor by tensor, with what is held when they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memplan.allocation import Allocation
from memplan.diagnose.request import Request
from memplan.memory.blocks.caching import CACHE, CACHED_BEFORE
from memplan.memory.gathering import compute_setup
from memplan.memory.peak import tape_for
from memplan.memory.runs import Run
from memplan.memory.setup import Setup
from memplan.memory.step import Passes
from memplan.memory.storage import Meter
from memplan.memory.walk_ends import walk_ends_on
from memplan.memory.walk_layer import walk_layer_on
from memplan.memory.witness import Seen, Witness
from memplan.result import Instant, InstantName, TermName

LEAST_BYTES = 2**20
"""Smaller tensors come out of segments that say nothing of them."""
_OVER_TOKENS: tuple[TermName, ...] = ("activations", "logits and loss", "temporary buffers")


@dataclass(frozen=True, slots=True)
class _Held:
    """What stands beside a walk at its first and its last layer."""

    first: int
    last: int

    def range(self, walked: int) -> tuple[int, int]:
        return min(self.first, self.last) + walked, max(self.first, self.last) + walked


def walked_requests(held: Allocation) -> Iterator[Request]:
    """Every tensor of 1 MiB and more that a micro-batch makes."""
    if (decoded := held.timeline.decoded) is None:
        yield from _training_requests(held)
        return
    states, setup = _states(held.timeline.later[-1]), _computing(held)
    yield from _generation_requests(held, held.timeline.walked, setup, "prefill", states)
    yield from _generation_requests(held, decoded, replace(setup, cache="decode"), "decode", states)


def _generation_requests(
    held: Allocation, walked: Passes, setup: Setup, instant: InstantName, states: int
) -> Iterator[Request]:
    """What a pass asks for that reads a prompt or makes the next token: caches of earlier layers are there."""
    before = sum(run.count * run.walk.cached_before for run in walked.runs)
    after = sum(run.count * run.walk.cache for run in walked.runs)
    start = states + walked.ends.held_in_forward
    for run in _kinds(walked.runs):
        beside = _Held(start + before - run.walk.cached_before, start + after - run.walk.cache)
        for seen in _layer_seen(held, run, setup):
            yield _request(held, seen, beside.range(int(seen.held_bytes)), instant)
    around = _Held(states + before, states + after)
    for seen in _ends_seen(held, walked.runs[-1], setup):
        yield _request(held, seen, around.range(int(seen.held_bytes)), instant)


def _training_requests(held: Allocation) -> Iterator[Request]:
    walked, setup = held.timeline.walked, _computing(held)
    states = {one.name: _states(one) for one in held.timeline.later}
    runs, ends = walked.runs, walked.ends
    kept = sum(run.count * run.walk.kept for run in runs)
    gradients = sum(run.count * run.walk.gradients for run in runs)
    forward, backward = states["forward"], states.get("backward", states["forward"])
    for run in _kinds(runs):
        others = kept - run.walk.kept
        in_forward = _Held(forward + ends.held_in_forward, forward + ends.held_in_forward + others)
        in_backward = _Held(backward + others, backward + max(0, gradients - run.walk.gradients))
        for seen in _layer_seen(held, run, setup):
            beside = in_forward if seen.during == "forward" else in_backward
            instant: InstantName = "forward" if seen.during == "forward" else "backward"
            yield _request(held, seen, beside.range(int(seen.held_bytes)), instant)
    around = _Held(forward + kept, forward + kept)
    for seen in _ends_seen(held, runs[-1], setup):
        beside = around if seen.role or seen.shape[-1] == held.stage.part.vocab_size else _Held(forward, forward + kept)
        of_loss = _what(held, seen)[1] == "logits and loss"
        instant = "backward" if seen.during != "forward" else "loss" if of_loss else "forward"
        yield _request(held, seen, beside.range(int(seen.held_bytes)), instant)


def _states(instant: Instant) -> int:
    """What does not pass with the tokens."""
    return sum(
        size for term, size in instant.bytes_by_term.items() if term not in (*_OVER_TOKENS, "gradients", "KV cache")
    )


def _kinds(runs: tuple[Run, ...]) -> Iterator[Run]:
    """One run of each kind of layer."""
    seen = set()
    for run in runs:
        if run.layer not in seen:
            seen.add(run.layer)
            yield run


def _layer_seen(held: Allocation, run: Run, setup: Setup) -> list[Seen]:
    training = held.scenario.training
    tape = tape_for(setup, False, Meter(), Witness)
    dtype = (
        setup.first_input(held.stage.part.tokens, held.stage.part.tied)[0] if run.count == 1 else run.walk.output_dtype
    )
    needs = run.walk.output_needs_grad
    walk_layer_on(tape, run.layer, setup, training.micro_batch, _sequence(held), dtype, needs)
    made = [seen for seen in tape.seen if seen.module != CACHED_BEFORE]
    return [seen for seen in made[1:] if seen.num_bytes >= LEAST_BYTES]


def _ends_seen(held: Allocation, run: Run, setup: Setup) -> list[Seen]:
    training, walk = held.scenario.training, run.walk
    tape = tape_for(setup, False, Meter(), Witness)
    trains = training.method != "inference"
    walk_ends_on(
        tape,
        held.stage.part,
        setup,
        training.micro_batch,
        _sequence(held),
        walk.output_dtype,
        walk.output_needs_grad,
        trains,
    )
    return [seen for seen in tape.seen if seen.num_bytes >= LEAST_BYTES]


def _computing(held: Allocation) -> Setup:
    """The set-up that modules see."""
    sharding = held.scenario.hardware.sharding
    return held.setup if held.gathering is None else compute_setup(held.setup, sharding)


def _sequence(held: Allocation) -> int:
    training, hardware = held.scenario.training, held.scenario.hardware
    return -(-training.sequence_length // hardware.context_parallel)


def _request(held: Allocation, seen: Seen, beside: tuple[int, int], instant: InstantName) -> Request:
    what, term = _what(held, seen)
    return Request(
        what=what,
        of=seen.module,
        shape=seen.shape,
        dtype=seen.dtype,
        num_bytes=int(seen.num_bytes),
        instant=instant,
        term=term,
        held_low=beside[0],
        held_high=beside[1],
    )


def _what(held: Allocation, seen: Seen) -> tuple[str, TermName]:
    backward, sequence = seen.during == "backward", _sequence(held)
    if seen.module == CACHE:
        return "keys or values joined to those that are cached", "KV cache"
    if seen.shape[-1] == held.stage.part.vocab_size and len(seen.shape) > 1:
        kept = f"logits ({seen.role})" if seen.role and "logits" not in seen.role else seen.role or "logits"
        return ("gradient of the logits" if backward else kept), "logits and loss"
    if len(seen.shape) == 2 and seen.shape[0] != held.scenario.training.micro_batch * sequence:
        if held.setup.packed and not held.setup.base_trains:
            return "4-bit weight, unpacked", "temporary buffers"
        return ("gradient" if backward else "weight, cast by autocast"), ("gradients" if backward else "activations")
    if len(seen.shape) > 2 and seen.shape[-1] == seen.shape[-2] == sequence:
        name = "attention scores" if seen.dtype != "bool" and len(seen.shape) > 3 and seen.shape[1] > 1 else "mask"
        return (f"gradient of {name}" if backward else name), ("temporary buffers" if backward else "activations")
    if backward:
        return "gradient of an activation", "temporary buffers"
    return (seen.role or "activation"), ("activations" if seen.role else "temporary buffers")
