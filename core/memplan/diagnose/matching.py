"""Which of a plan's tensors a message speaks of: those of the size that was tried, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from memplan.allocation import Allocation
from memplan.diagnose.amounts import Amount
from memplan.diagnose.message import Message, MessageKind
from memplan.diagnose.request import SEGMENT_STEP, Request, asked_bytes, says_nothing
from memplan.diagnose.state_requests import state_requests
from memplan.diagnose.walked_requests import walked_requests
from memplan.number_formats import BYTES_PER_VALUE
from memplan.number_style import number
from memplan.result import InstantName
from memplan.units import MIB

MOST_NAMES = 3
_ANY_LENGTH = "loss of other rows"
LEAST_TOKENS = 64
_OTHER_INSTANT, _OTHER_PLAN, _OTHER_LENGTH = 4.0, 2.0, 1.5
_SETTING_UP = 0.5
"""Runs die at work more often than while they are set up."""
_NEAR: tuple[set[InstantName], ...] = (
    {"loss", "forward"},
    {"loss", "backward"},
    {"forward", "prefill"},
    {"forward", "decode"},
    {"loss", "prefill"},
)
"""Instants that a traceback may take for each other: generation runs the same forward."""
_CLOSE = 0.05
"""What a plan says is held and what a message says may differ by as much without telling anything."""


@dataclass(frozen=True, slots=True)
class Match:
    """A tensor that the message may speak of."""

    request: Request
    names: tuple[str, ...]
    """The weights or modules that have such a tensor; more than these may have."""
    num_names: int
    misfit: float
    """0: size, instant and what was held agree; larger the less they do."""

    @property
    def is_planned(self) -> bool:
        """Whether the plan itself has this tensor."""
        return self.request.planned


def matches(message: Message, held: Allocation) -> tuple[Match, ...]:
    """The plan's tensors of the size that was tried, the likeliest first; none where the size tells nothing."""
    asked = message.asked
    if asked is None:
        return ()
    if message.shape is None and says_nothing(asked.low_bytes, asked.high_bytes, message.kind):
        return ()
    fitting = [request for request in requests_of(held) if _fits(message, request)]
    if not fitting or not any(request.planned for request in fitting):
        fitting += [request for request in _other_lengths(message, held) if _fits(message, request)]
    return tuple(sorted(_merged(message, fitting), key=lambda match: match.misfit))


def requests_of(held: Allocation) -> Iterator[Request]:
    """Everything that a run of the plan asks for."""
    yield from walked_requests(held)
    yield from state_requests(held)


def _fits(message: Message, request: Request) -> bool:
    assert message.asked is not None, "asked by `matches` only"
    if message.shape is not None:
        return tuple(one for one in message.shape if one != 1) == tuple(one for one in request.shape if one != 1)
    written = asked_bytes(request.num_bytes, message.kind, as_requested=message.exact)
    return message.asked.holds(written) or (message.kind == "mps" and message.asked.holds(request.num_bytes))


def _other_lengths(message: Message, held: Allocation) -> Iterator[Request]:
    """Logits of another number of tokens than planned: rows that are not cut, packed or joined."""
    asked, vocabulary = message.asked, held.stage.part.vocab_size
    training = held.scenario.training
    planned, step = training.micro_batch * training.sequence_length, training.sequence_length
    if asked is None or asked.middle_bytes < 100 * MIB:
        return
    ends = next((one for one in held.timeline.later if one.name == "loss"), None)
    level = ends.total_bytes if ends else 0
    for dtype in ("fp32", "bf16"):
        low, high = _tokens(asked, vocabulary * BYTES_PER_VALUE[dtype], message)
        whole = high // step * step
        tokens = whole if whole >= low and whole else (low + high) // 2
        if tokens < LEAST_TOKENS or tokens == planned:
            continue
        why = f"the plan has {number(planned)} tokens in a micro-batch"
        yield Request(
            what=f"logits of {number(tokens)} tokens",
            of=_ANY_LENGTH,
            shape=(tokens, vocabulary),
            dtype=dtype,
            num_bytes=tokens * vocabulary * BYTES_PER_VALUE[dtype],
            instant="loss",
            term="logits and loss",
            held_low=level // 2,
            held_high=2 * level,
            planned=False,
            why=why,
        )


def _tokens(asked: Amount, bytes_per_token: int, message: Message) -> tuple[int, int]:
    """The least and the largest number of rows that the size tried allows."""
    rounding = SEGMENT_STEP if message.kind in ("cuda", "hip", "xpu", "npu") and not message.exact else 0
    return -(-(asked.low_bytes - rounding) // bytes_per_token), asked.high_bytes // bytes_per_token


def _misfit(message: Message, request: Request) -> float:
    found = 0.0 if request.planned else _OTHER_PLAN
    if message.instant is not None and request.instant != message.instant:
        near = {message.instant, request.instant} in _NEAR
        found += _OTHER_INSTANT / 2 if near else _OTHER_INSTANT
    elif message.instant is None and request.instant == "loaded":
        found += _SETTING_UP
    if request.of == _ANY_LENGTH:
        found += _OTHER_LENGTH
    if message.makes and request.term != message.makes:
        found += _SETTING_UP
    if message.allocated is not None:
        told = message.allocated.middle_bytes
        low, high = (1 - _CLOSE) * request.held_low, (1 + _CLOSE) * request.held_high
        away = (low - told if told < low else told - high if told > high else 0) / max(told, 1)
        found += min(1.5, 2 * away)
        # Of two that agree, the one that says more closely what is held agrees by less chance.
        found += min(0.3, 0.3 * (request.held_high - request.held_low) / max(told, 1))
    return found


def _merged(message: Message, requests: Iterable[Request]) -> Iterator[Match]:
    """One match for equal tensors of several modules."""
    groups: dict[tuple[object, ...], list[Request]] = {}
    for request in requests:
        groups.setdefault((request.what, request.dtype, request.instant, request.num_bytes), []).append(request)
    for group in groups.values():
        names = list(dict.fromkeys(request.of for request in group if request.of and request.of != _ANY_LENGTH))
        low, high = min(one.held_low for one in group), max(one.held_high for one in group)
        whole = replace(group[0], held_low=low, held_high=high)
        best = min(_misfit(message, one) for one in group)
        yield Match(whole, tuple(names[:MOST_NAMES]), len(names), best)


_SQUARE_FROM = 256


def named_by_shape(kind: MessageKind, shape: tuple[int, ...]) -> str:
    """What a tensor's shape alone says of it; empty where that is nothing.

    >>> named_by_shape("tensorflow", (246534, 1280)), named_by_shape("tensorflow", (1, 12, 1024, 1024))
    ('an embedding table or the head (vocabulary × hidden size)', 'attention scores (batch × heads × tokens × tokens)')
    """
    if len(shape) == 2 and shape[0] > 8 * shape[1] and shape[0] >= 20_000:
        return "an embedding table or the head (vocabulary × hidden size)"
    if len(shape) >= 3 and shape[-1] == shape[-2] >= _SQUARE_FROM:
        return "attention scores (batch × heads × tokens × tokens)"
    if len(shape) >= 2 and shape[-1] >= 20_000 and prod(shape[:-1]) >= LEAST_TOKENS:
        return "logits (tokens × vocabulary)"
    return ""
