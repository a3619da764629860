"""A diagnosis as the window shows it: a headline, the card as a bar, answers line by line, levers to apply."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import (
    NOTHING_FOUND,
    Diagnosis,
    Estimate,
    InstantName,
    LeverHelp,
    Message,
    Reading,
    TermName,
    Unit,
    figures_sentence,
    format_bytes,
    headline,
    instant_sentence,
    number,
    other_matches_sentence,
    source_words,
    stated_sentence,
    tensor_sentence,
    tr,
    tr_later,
    translated,
    unread_sentence,
)
from memplan_gui.presenters.cells import Cells

HOW = tr_later(
    "Paste an out-of-memory message, a whole log or the text of a screenshot: of PyTorch, MLX, JAX, TensorFlow or "
    "bitsandbytes. A log file can be dropped here."
)
MOST_LEVERS = 6


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of the card's bar."""

    name: str
    words: str
    """What it is and how much."""
    num_bytes: int


@dataclass(frozen=True, slots=True)
class CardBarPage:
    """The card as a bar: what is on it, and what was asked for beyond what was free."""

    parts: tuple[BarPart, ...]
    asked: BarPart | None
    capacity_bytes: int
    capacity_words: str
    sentence: str

    @property
    def held_bytes(self) -> int:
        """What stands before the free part."""
        return sum(part.num_bytes for part in self.parts if part.name != "free")

    @property
    def longest_bytes(self) -> int:
        """How far anything reaches."""
        asked = self.asked.num_bytes if self.asked else 0
        return max(self.capacity_bytes, self.held_bytes + asked)


@dataclass(frozen=True, slots=True)
class HelpLine:
    """A lever that would have saved the run, or part of it."""

    lever_id: str
    title: str
    words: str
    price: str
    is_enough: bool


@dataclass(frozen=True, slots=True)
class DiagnosisPage:
    """All that is shown of one message."""

    headline: str
    source: str
    bar: CardBarPage | None
    rows: tuple[tuple[str, str], ...]
    """Label and text; an empty label goes on with the one before."""
    place: tuple[InstantName, TermName] | None
    """What of the plan the tensor belongs to, where the estimate has it."""
    levers: tuple[HelpLine, ...]


def diagnosis_page(found: Diagnosis, estimate: Estimate | None, unit: Unit) -> DiagnosisPage:
    """What to show of a diagnosis."""
    rows = [(tr("Tensor"), tensor_sentence(found)), ("", other_matches_sentence(found))]
    rows += [(tr("Instant"), instant_sentence(found)), (tr("Plan"), found.plan_differs)]
    rows += [(tr("Why"), f"{cause.sentence} {cause.remedy}".strip()) for cause in found.causes]
    rows += [(tr("Note"), note) for note in found.message.notes]
    stated = stated_sentence(found.message)
    rows.append((tr("Stated"), f"{stated[:1].upper()}{stated[1:]}."))
    return DiagnosisPage(
        headline=headline(found),
        source=source_words(found.message),
        bar=_bar(found, unit),
        rows=_without_repeats([one for one in rows if one[1]]),
        place=_place(found, estimate),
        levers=tuple(_help(one, unit) for one in found.levers[:MOST_LEVERS]),
    )


def _without_repeats(rows: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    found, last = [], ""
    for name, text in rows:
        found.append(("" if name == last else name, text))
        last = name or last
    return tuple(found)


def _bar(found: Diagnosis, unit: Unit) -> CardBarPage | None:
    total = found.message.total
    if total is None or not found.parts:
        return None
    parts = tuple(
        BarPart(part.name, f"{translated(part.title)} {_size(part.num_bytes, unit)}", part.num_bytes)
        for part in found.parts
    )
    on_card = tuple(part for part in parts if part.name != "asked")
    asked = next((part for part in parts if part.name == "asked"), None)
    capacity = tr("{size} in all").format(size=format_bytes(total.middle_bytes, unit))
    return CardBarPage(
        parts=on_card,
        asked=asked,
        capacity_bytes=total.middle_bytes,
        capacity_words=capacity,
        sentence=tr("The card: {parts}; {capacity}.").format(
            parts=", ".join(part.words for part in parts), capacity=capacity
        ),
    )


def _size(num_bytes: int, unit: Unit) -> str:
    return format_bytes(num_bytes, unit) if num_bytes >= 2**30 // 10 else f"{number(num_bytes / 2**20, '.3g')} MiB"


def _place(found: Diagnosis, estimate: Estimate | None) -> tuple[InstantName, TermName] | None:
    """The instant and the term, where the chart has them; else an instant that has the term."""
    if estimate is None or found.match is None or not found.match.is_planned:
        return None
    request = found.match.request
    having = [one.name for one in estimate.instants if one.bytes_by_term.get(request.term)]
    if not having:
        return None
    return (request.instant if request.instant in having else having[-1]), request.term


def _help(one: LeverHelp, unit: Unit) -> HelpLine:
    words = tr("saves {size}, enough alone") if one.is_enough else tr("saves {size}, not enough alone")
    return HelpLine(
        lever_id=one.offer.lever.id,
        title=translated(one.offer.lever.title),
        words=words.format(size=format_bytes(one.offer.saving_bytes, unit)),
        price=translated(one.offer.lever.price),
        is_enough=one.is_enough,
    )


def diagnosis_cells(page: DiagnosisPage) -> Cells:
    """The page as a table, for a ticket or a note: what was asked, what it says, what would have helped."""
    rows = [(tr("Message"), f"{page.headline} {page.source}")]
    for name, text in page.rows:
        rows.append((name or rows[-1][0], text))
    rows += [(line.title, f"{line.words}. {line.price}") for line in page.levers]
    return Cells((tr("About"), tr("What it says")), tuple(rows))


def levers_title(page: DiagnosisPage, applied: str = "") -> str:
    """What stands above the levers; empty without any. Once one was applied, the plan has it."""
    if applied:
        words = tr("{lever} is in the plan now; undo takes it out again.").format(lever=applied)
        return " ".join((words, tr("With it, these would save more:"))) if page.levers else words
    if not page.levers:
        return ""
    enough = sum(line.is_enough for line in page.levers)
    if not enough:
        return tr("No lever alone would have saved this run; these save most:")
    if enough == len(page.levers):
        return tr("Would have saved this run:")
    return tr("Would have saved this run, or part of it:")


def message_titles(reading: Reading) -> tuple[str, ...]:
    """What to call each message in a list."""
    return tuple(_title(place, message) for place, message in enumerate(reading.messages, 1))


def _title(place: int, message: Message) -> str:
    card = tr("card {number}").format(number=message.device) if message.device is not None else message.kind_title
    rank = ", " + tr("rank {number}").format(number=message.rank) if message.rank is not None else ""
    asked = f", {message.asked.text}" if message.asked is not None else ""
    return f"{place}: {card}{rank}{asked}, line {number(message.line)}"


def nothing_words(reading: Reading) -> str:
    """What to say of a text without a message."""
    return " ".join(part for part in (NOTHING_FOUND, figures_sentence(reading), unread_sentence(reading)) if part)
