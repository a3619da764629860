"""The answer to an out-of-memory message: which tensor, at which instant, why there was no room, what would help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from memplan.allocation import allocation
from memplan.catalog import device as catalog_device
from memplan.diagnose.amounts import Amount
from memplan.diagnose.belief import is_absurd
from memplan.diagnose.causes import Cause, causes, short_by
from memplan.diagnose.matching import Match, matches, named_by_shape
from memplan.diagnose.message import Message, MessageKind
from memplan.diagnose.places import VISION
from memplan.diagnose.request import says_nothing
from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.levers import LeverOffer, lever_offers
from memplan.number_style import number
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Scenario
from memplan.result import Estimate, InstantName, TermName
from memplan.units import Unit, format_bytes

MOST_MATCHES = 4
_OTHER_CARD = 0.06
"""Drivers and error correction take up to so much of the same card."""
_VENDORS: dict[MessageKind, tuple[str, ...]] = {
    "cuda": ("NVIDIA",),
    "hip": ("AMD",),
    "mps": ("Apple",),
    "mlx": ("Apple",),
    "metal": ("Apple",),
}
"""Whose devices a message can be of."""
LIKELY = 2.0
"""A misfit up to which a match is named as the likely one."""

PartName = Literal["tensors", "reserved", "process", "outside", "others", "free", "asked"]
PART_TITLES: dict[PartName, str] = {
    "tensors": "tensors",
    "reserved": "reserved, in no tensor",
    "process": "this process beside its allocator",
    "outside": "context, communication or other processes",
    "others": "other processes",
    "free": "free",
    "asked": "asked for",
}


@dataclass(frozen=True, slots=True)
class CardPart:
    """A part of the card as the message has it."""

    name: PartName
    num_bytes: int

    @property
    def title(self) -> str:
        """What it is, for a person."""
        return PART_TITLES[self.name]


@dataclass(frozen=True, slots=True)
class LeverHelp:
    """A lever that would have saved something, and whether it alone would have been enough."""

    offer: LeverOffer
    is_enough: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a message says, held against a plan where there is one."""

    message: Message
    causes: tuple[Cause, ...]
    matches: tuple[Match, ...]
    """The tensors that the size speaks of, the likeliest first."""
    named: str
    """The tensor as far as numbers alone tell it, where no plan's does; may be empty."""
    instant: InstantName | None
    instant_told_by: Literal["traceback", "size", "held", ""]
    short_by: Amount | None
    """What was missing at least."""
    parts: tuple[CardPart, ...]
    """The card, part by part; what was asked for last."""
    levers: tuple[LeverHelp, ...]
    """What would have saved it: what is enough alone first, least costly first; then what saves most for its cost."""
    plan_differs: str = ""
    """How the run is not as the plan says, in a sentence; empty where it may be."""

    @property
    def match(self) -> Match | None:
        """The likeliest tensor."""
        return self.matches[0] if self.matches else None


def diagnose(
    message: Message, scenario: Scenario | None = None, *, models: Iterable[str] = (), unit: Unit = "gib"
) -> Diagnosis:
    """Answer one message.

    Args:
        message: what was read.
        scenario: the run, as planned; without one the numbers speak alone.
        models: models that the text names: without a scenario, their weights are looked through.
        unit: of the figures in the sentences.

    Raises:
        MemplanError: the scenario cannot be estimated.
    """
    now = estimate(scenario) if scenario is not None else None
    found = _matches(message, scenario, models)
    instant, told_by = _instant(message, found, now)
    return Diagnosis(
        message=message,
        causes=causes(message, unit),
        matches=found[:MOST_MATCHES],
        named=_named(message),
        instant=instant,
        instant_told_by=told_by,
        short_by=short_by(message),
        parts=card_parts(message),
        levers=_levers(message, scenario, now, unit) if scenario is not None and now is not None else (),
        plan_differs=_difference(message, found, now, unit) if now is not None else "",
    )


def _matches(message: Message, scenario: Scenario | None, models: Iterable[str]) -> tuple[Match, ...]:
    if is_absurd(message) or not message.is_of_a_tensor:
        return ()
    if scenario is not None:
        return matches(message, allocation(scenario))
    found: list[Match] = []
    for name in models:
        try:
            held = allocation(Scenario(model=ModelChoice(catalog=name)))
        except MemplanError:
            continue
        found += [one for one in matches(message, held) if _is_of_the_model(one)]
    return tuple(sorted(found, key=lambda match: match.misfit))


def _is_of_the_model(match: Match) -> bool:
    """Whether a tensor follows from the model alone, whatever the set-up."""
    return match.request.term in ("weights", "gradients", "optimizer states") or not match.is_planned


def _named(message: Message) -> str:
    """What shape, size or traceback say without a plan."""
    if message.shape is not None:
        return named_by_shape(message.kind, message.shape)
    if message.place == VISION and message.asked is not None:
        side = int((message.asked.middle_bytes / 2) ** 0.5)
        return f"a square over image patches: {number(side)} × {number(side)} in 16 bit"
    return ""


def _instant(
    message: Message, found: tuple[Match, ...], now: Estimate | None
) -> tuple[InstantName | None, Literal["traceback", "size", "held", ""]]:
    if message.instant is not None:
        return message.instant, "traceback"
    if found and found[0].misfit < LIKELY:
        return found[0].request.instant, "size"
    if now is None or message.allocated is None or message.place:
        return None, ""
    told = message.allocated.middle_bytes
    nearest = min((*now.first_step, *now.instants), key=lambda one: abs(_tensors(one.bytes_by_term) - told))
    return (nearest.name, "held") if abs(_tensors(nearest.bytes_by_term) - told) < 0.1 * told else (None, "")


def _tensors(bytes_by_term: Mapping[TermName, int]) -> int:
    return sum(size for term, size in bytes_by_term.items() if term not in ("framework", "allocator slack"))


def card_parts(message: Message) -> tuple[CardPart, ...]:
    """The card as a message has it; nothing where it does not state the card's size."""
    if message.total is None or message.kind == "host":
        return ()
    left = message.total.middle_bytes
    sizes: list[tuple[PartName, int]] = []

    def take(name: PartName, amount: Amount | None) -> None:
        nonlocal left
        size = min(left, amount.middle_bytes) if amount is not None else 0
        left -= size
        if size:
            sizes.append((name, size))

    take("tensors", message.allocated)
    take("reserved", message.unallocated_in_all)
    take("process", message.beside_allocator)
    free = min(left, message.free.middle_bytes) if message.free is not None else 0
    if message.allocated is not None and message.free is not None and left - free > 0:
        sizes.append(("others" if message.process is not None else "outside", left - free))
    if free:
        sizes.append(("free", free))
    if message.asked is not None:
        sizes.append(("asked", message.asked.middle_bytes))
    return tuple(CardPart(name, size) for name, size in sizes)


def _levers(message: Message, scenario: Scenario, now: Estimate, unit: Unit) -> tuple[LeverHelp, ...]:
    """Levers that save: those enough alone, least costly first; then those that save most for their cost."""
    if is_absurd(message) or message.kind == "host" or message.out_of == "buffers":
        return ()
    missing = short_by(message)
    wanted = max(missing.high_bytes if missing is not None else 0, now.need_bytes - _room(message, now), 1)
    helps = [
        LeverHelp(offer, offer.saving_bytes >= wanted)
        for offer in lever_offers(scenario, now, unit)
        if offer.state == "off" and offer.saving_bytes > 0.001 * now.need_bytes
    ]
    enough = sorted((one for one in helps if one.is_enough), key=lambda one: one.offer.cost)
    rest = sorted((one for one in helps if not one.is_enough), key=lambda one: -one.offer.usefulness)
    return (*enough, *rest)


def _room(message: Message, now: Estimate) -> int:
    """What the card that the message speaks of gives this process."""
    if message.total is None:
        return now.usable_bytes if message.limit is None else message.limit.middle_bytes
    others = message.other_processes
    return message.total.middle_bytes - (others.middle_bytes if others is not None else 0)


def _difference(message: Message, found: tuple[Match, ...], now: Estimate, unit: Unit) -> str:
    """How the run and the plan contradict each other: the card, then what was asked for or held."""
    return " ".join(part for part in (_other_card(message, now, unit), _other_run(message, found, now, unit)) if part)


def _other_card(message: Message, now: Estimate, unit: Unit) -> str:
    device = catalog_device(now.device_id)
    vendors = _VENDORS.get(message.kind)
    if vendors is not None and device.vendor not in vendors:
        return f"The message is of {message.kind_title}, the plan's device is {now.device_name}."
    planned = device.framework_total_bytes
    if message.total is None or abs(message.total.middle_bytes / planned - 1) < _OTHER_CARD:
        return ""
    return (
        f"The message's card has {message.total.text}, the plan's ({now.device_name}) {format_bytes(planned, unit)}: "
        "another card than planned."
    )


def _other_run(message: Message, found: tuple[Match, ...], now: Estimate, unit: Unit) -> str:
    best = found[0] if found else None
    if best is not None and best.request.why and not best.is_planned and best.misfit < LIKELY + 2:
        return f"The size fits no tensor of the plan, but one of a run that differs from it: {best.request.why}."
    if message.allocated is not None:
        most = max(_tensors(one.bytes_by_term) for one in (*now.first_step, *now.instants))
        if message.allocated.low_bytes > 1.1 * most:
            return (
                f"The run held {message.allocated.text} in tensors when it asked; by the plan it holds no more than "
                f"{format_bytes(most, unit)}: something in the run is not as planned (dtype, batch, length, another "
                "model)."
            )
    asked = message.asked
    if asked is None or best is not None or is_absurd(message) or not message.is_of_a_tensor:
        return ""
    if says_nothing(asked.low_bytes, asked.high_bytes, message.kind):
        return ""
    return "The size fits no tensor of the plan: a length, a dtype or the model itself is another."
