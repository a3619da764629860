"""Levers as cards: what each saves now, what it costs, and whether the run fits then."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import (
    Lever,
    LeverOffer,
    Scenario,
    Unit,
    Verdict,
    saving_words,
    slowdown_words,
    tr,
    tr_later,
    translated,
    useful_offers,
)
from memplan_gui.presenters.verdict import ICONS

MOST_CARDS = 8
SAME_RESULT, SHARDING = tr_later("&Same result"), tr_later("&Devices and sharding")
KINDS = (
    *(SAME_RESULT, SHARDING, tr_later("&Offloading"), tr_later("&Precision")),
    *(tr_later("Op&timizer"), tr_later("&Method"), tr_later("&Batch and sequence")),
)
"""Kinds of levers, by what they change of a run: those first that change nothing of what it learns."""
_KIND_OF: dict[str, str] = {
    "devices": SHARDING,
    "host": KINDS[2],
    "precision": KINDS[3],
    "optimizer": KINDS[4],
    "method": KINDS[5],
    "effective_batch": KINDS[6],
    "sequence_length": KINDS[6],
}
"""By what a person may want to keep."""
NO_SLOWER = 1.01


@dataclass(frozen=True, slots=True)
class LeverCard:
    """What one card shows."""

    id: str
    title: str
    saving: str
    """Of the need now, with its sign, in the unit that stands above the cards; empty where it does not apply."""
    caption: str
    """The price in a few words, or why it does not apply."""
    is_on: bool
    applies: bool
    then: Verdict | None
    """The verdict after it, where that differs from the verdict now."""
    tip: str
    kind: str = SAME_RESULT
    """Of `KINDS`."""

    @property
    def then_words(self) -> str:
        """The verdict after it, in words."""
        return (
            {"fits": tr("then fits"), "tight": tr("then tight"), "does_not_fit": tr("then does not fit")}[self.then]
            if self.then
            else ""
        )

    @property
    def then_icon(self) -> str:
        """The icon of the verdict after it."""
        return ICONS[self.then] if self.then else ""

    @property
    def spoken(self) -> str:
        """The card for a screen reader."""
        state = tr("on") if self.is_on else tr("off") if self.applies else tr("not applicable")
        return f"{translated(self.title)}, {state}. {self.tip}"

    @property
    def line(self) -> str:
        """The card as one line of a menu: what it saves, and what it costs or why it does not apply."""
        amount = f"{self.saving}, " if self.saving else ""
        return f"{translated(self.title)}   {amount}{self.caption[:1].lower()}{self.caption[1:]}"


def lever_cards(offers: tuple[LeverOffer, ...], now: Verdict, unit: Unit) -> tuple[LeverCard, ...]:
    """The cards, in the order of the levers: least costly first."""
    return tuple(lever_card(offer, now, unit) for offer in offers)


def toggle_words(offer: LeverOffer) -> str:
    """What undo calls the step that flips a lever: "Checkpointing on"."""
    words = tr("{lever} off") if offer.state == "on" else tr("{lever} on")
    return words.format(lever=translated(offer.lever.title))


def useful_ids(
    offers: tuple[LeverOffer, ...], keep: tuple[str, ...] = (), scenario: Scenario | None = None
) -> tuple[str, ...]:
    """The levers that have a card: those that are worth it, in their own order; `keep` come first.

    One that is for other runs than the scenario's has none.
    """
    serving = serving_ids(offers, scenario)
    found = useful_offers([offer for offer in offers if offer.lever.id in serving], MOST_CARDS, keep)
    return tuple(offer.lever.id for offer in found)


def serving_ids(offers: tuple[LeverOffer, ...], scenario: Scenario | None) -> frozenset[str]:
    """The levers that are for runs such as the scenario's: those that train, or those that make text."""
    purpose = "inference" if scenario is not None and scenario.training.method == "inference" else "training"
    return frozenset(offer.lever.id for offer in offers if purpose in offer.lever.serves)


def lever_card(offer: LeverOffer, now: Verdict, unit: Unit) -> LeverCard:
    """One lever's card."""
    applies = offer.state != "not_applicable"
    return LeverCard(
        id=offer.lever.id,
        title=offer.lever.title,
        saving=saving_words(0 if offer.saves_nothing else offer.saving_bytes, unit).split(" ")[0] if applies else "",
        caption=short_price(offer) if applies else reason_words(offer.sentence),
        is_on=offer.state == "on",
        applies=applies,
        then=offer.verdict if offer.state == "off" and offer.verdict != now else None,
        kind=kind_of(offer.lever),
        tip=f"{translated(offer.lever.does)} {offer.sentence} {offer.price}",
    )


def kind_of(lever: Lever) -> str:
    """What kind a lever is of: by what it changes of the run, or that it divides it."""
    if lever.changes_what is None:
        return SHARDING if lever.group in ("sharding", "tensor") else SAME_RESULT
    return _KIND_OF[lever.changes_what]


def short_price(offer: LeverOffer) -> str:
    """What a lever costs in as many words as a card has room for: time first, where steps take longer.

    A lever that takes memory instead of saving it says so, for its tick looks like every other.
    """
    words = translated(offer.lever.short)
    if offer.slowdown is not None and offer.slowdown >= NO_SLOWER:
        words = f"{slowdown_words(offer.slowdown)}, {words[:1].lower()}{words[1:]}"
    if offer.saving_bytes < 0 and not offer.saves_nothing:
        words = tr("Takes more, {price}").format(price=words[:1].lower() + words[1:])
    return words


def reason_words(sentence: str) -> str:
    """Why a lever does not apply, without saying so twice.

    >>> reason_words("Does not apply: the micro-batch is 1 already.")
    'The micro-batch is 1 already'
    """
    before, _, after = tr("Does not apply: {reason}.").partition("{reason}")
    reason = sentence.removeprefix(before).removesuffix(after).rstrip(".")
    first = reason.partition(" ")[0]
    return reason if "_" in first else reason[:1].upper() + reason[1:]  # a name of a choice stays as it is
