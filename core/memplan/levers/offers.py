"""What each lever would do for a scenario now.

A lever's saving is not a constant of the lever: it is the difference of two estimates of this scenario, so it accounts
for everything else that is set, and for where the peak stands.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, log1p
from typing import Literal

from memplan.catalog import device as device_of
from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.levers.known import LEVERS
from memplan.levers.lever import Lever
from memplan.levers.pace import slowdown
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Estimate, Verdict
from memplan.sentences import peak_words, slowdown_sentence
from memplan.translation import tr, translated
from memplan.units import Unit, format_bytes

State = Literal["on", "off", "not_applicable"]

SMALL = 0.001
"""A change of the need below this fraction is none that anyone could see."""
FAMILIAR = frozenset(
    {"fused_optimizer", "fused_loss", "checkpointing", "smaller_batch", "optimizer_8bit", "lora", "base_4bit", "fsdp2"}
)
"""Levers that everybody asks about."""
_SWITCHED_ON = 100.0
_LEAST_PRICE = 0.05


@dataclass(frozen=True, slots=True)
class LeverOffer:
    """What a lever does for one scenario now.

    `saving_bytes` is what it saves of the need: already, where it is on; if it were turned on, where it is off.
    Negative where it takes more. `slowdown` is the device time for a token with it over that without it. `scenario`,
    `need_bytes` and `verdict` are those after toggling it. All of them are None where the lever does not apply, as is
    `scenario` where it is on and cannot be taken away.
    """

    lever: Lever
    state: State
    saving_bytes: int
    sentence: str
    scenario: Scenario | None = None
    need_bytes: int | None = None
    verdict: Verdict | None = None
    slowdown: float | None = None
    is_usual: bool = False
    """It is on because a scenario begins with it."""

    @property
    def usefulness(self) -> float:
        """How much a person gains by seeing it: what was switched on first, then what saves much and costs little.

        Equation: saving / need / (ln(slowdown) + ln(1 + what it counts as beside time) + 0.05). Levers that everybody
        asks about count 2 more, so that they are seen to save nothing where they do not.
        """
        if self.state == "not_applicable" or self.need_bytes is None or self.slowdown is None:
            return -1.0
        familiar = 2.0 if self.lever.id in FAMILIAR else 0.0
        if self.state == "on":
            return familiar if self.is_usual else _SWITCHED_ON
        price = max(0.0, log(self.slowdown)) + log1p(self.lever.counts_as) + _LEAST_PRICE
        return self.saving_bytes / max(1, self.need_bytes + self.saving_bytes) / price + familiar

    @property
    def cost(self) -> float:
        """What it costs in all, as a set of levers counts it: ln(slowdown) + ln(1 + what it counts as beside time)."""
        return log(self.slowdown or 1.0) + log1p(self.lever.counts_as)

    @property
    def saves_nothing(self) -> bool:
        """Whether the need is the same with it and without."""
        need = (self.need_bytes or 0) + (self.saving_bytes if self.state == "off" else -self.saving_bytes)
        return abs(self.saving_bytes) <= SMALL * need

    @property
    def costs_memory(self) -> bool:
        """Whether the need would be larger with it: no lever to offer to who looks for memory."""
        return self.state == "off" and self.saving_bytes < 0 and not self.saves_nothing

    @property
    def price(self) -> str:
        """What it costs, in time and beside it: "Steps take about 31% longer. Forward runs a second time …"."""
        if self.slowdown is None:
            return translated(self.lever.price)
        return f"{slowdown_sentence(self.slowdown)} {translated(self.lever.price)}".strip()


def lever_offers(scenario: Scenario, now: Estimate | None = None, unit: Unit = "gib") -> tuple[LeverOffer, ...]:
    """Say for every lever what it would save now, or why it does not apply.

    Args:
        scenario: the set-up as it is.
        now: its estimate, where it is at hand.
        unit: of the figures in the sentences.

    Raises:
        MemplanError: the scenario itself cannot be estimated.
    """
    return tuple(each_offer(scenario, now if now is not None else estimate(scenario), unit))


def each_offer(scenario: Scenario, now: Estimate, unit: Unit = "gib") -> Iterator[LeverOffer]:
    """The same one by one, for who has something else to do between them."""
    plain = Scenario(model=scenario.model, training=Training(method=scenario.training.method))
    for lever in LEVERS:
        offer = _offer(lever, scenario, now, unit)
        yield replace(offer, is_usual=True) if offer.state == "on" and lever.is_on(plain) else offer


def useful_offers(offers: Sequence[LeverOffer], most: int, keep: Container[str] = ()) -> tuple[LeverOffer, ...]:
    """The offers that are worth a look, in their own order.

    Args:
        offers: of every lever.
        most: how many at most.
        keep: ids of levers that come first whatever they do.
    """
    ranked = sorted(offers, key=lambda offer: (offer.lever.id not in keep, -offer.usefulness))
    best = {offer.lever.id for offer in ranked[:most]}
    return tuple(offer for offer in offers if offer.lever.id in best)


def _offer(lever: Lever, scenario: Scenario, now: Estimate, unit: Unit) -> LeverOffer:
    if reason := lever.applies(scenario):
        return LeverOffer(lever, "not_applicable", 0, tr("Does not apply: {reason}.").format(reason=reason))
    is_on = lever.is_on(scenario)
    toggled = lever.remove(scenario) if is_on else lever.apply(scenario)
    try:
        then = estimate(toggled)
    except MemplanError as problem:
        return LeverOffer(
            lever, "not_applicable", 0, tr("Cannot be estimated here: {problem}").format(problem=problem.message)
        )
    device = device_of(scenario.hardware.device)
    saving = then.need_bytes - now.need_bytes if is_on else now.need_bytes - then.need_bytes
    return LeverOffer(
        lever=lever,
        state="on" if is_on else "off",
        saving_bytes=saving,
        sentence=_sentence_on(saving, now, then, unit) if is_on else _sentence_off(saving, now, then, unit),
        scenario=toggled,
        need_bytes=then.need_bytes,
        verdict=then.verdict,
        slowdown=slowdown(toggled, scenario, device) if is_on else slowdown(scenario, toggled, device),
    )


def _sentence_off(saving: int, now: Estimate, then: Estimate, unit: Unit) -> str:
    size = format_bytes(abs(saving), unit)
    if abs(saving) <= SMALL * now.need_bytes:
        return tr("Would save nothing: the peak is {when}.").format(when=peak_words(now))
    if saving < 0:
        return tr("Would take {size} more, {when}.").format(size=size, when=peak_words(then))
    if then.verdict != now.verdict:
        return _THEN[then.verdict]().format(size=size)
    moves, over = then.peak.name != now.peak.name, then.verdict == "does_not_fit"
    words = tr("Would save {size}.")
    if over and moves:
        words = tr("Would save {size}, with {over} still over; the peak is then {when}.")
    elif over:
        words = tr("Would save {size}, with {over} still over.")
    elif moves:
        words = tr("Would save {size}; the peak is then {when}.")
    return words.format(size=size, over=format_bytes(-then.headroom_bytes, unit), when=peak_words(then))


def _sentence_on(saving: int, now: Estimate, without: Estimate, unit: Unit) -> str:
    size = format_bytes(abs(saving), unit)
    if abs(saving) <= SMALL * now.need_bytes:
        words = tr("Saves nothing: without it the peak is the same, {when}.")
        return words.format(when=peak_words(without))
    if saving < 0:
        return tr("Takes {size} more than without it.").format(size=size)
    if without.verdict != now.verdict:
        return _WITHOUT[without.verdict]().format(size=size)
    return tr("Saves {size}.").format(size=size)


_THEN: dict[Verdict, Callable[[], str]] = {
    "fits": lambda: tr("Would save {size}; the run then fits."),
    "tight": lambda: tr("Would save {size}; the run is then tight."),
    "does_not_fit": lambda: tr("Would save {size}; the run then does not fit."),
}
_WITHOUT: dict[Verdict, Callable[[], str]] = {
    "fits": lambda: tr("Saves {size}; without it the run fits."),
    "tight": lambda: tr("Saves {size}; without it the run is tight."),
    "does_not_fit": lambda: tr("Saves {size}; without it the run does not fit."),
}
