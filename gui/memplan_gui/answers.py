"""Estimates of the document's scenarios, made anew when the plan changes and told to whoever shows them."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from memplan import Estimate, LeverOffer, MemplanError, Scenario, Unit, UnknownEntryError, each_offer, estimate, tr
from memplan_gui.document import PlanDocument
from memplan_gui.mistakes import note_handled
from memplan_gui.presenters.answer import Answer

MOST_TABS_ESTIMATED = 50
SLICE_MS = 8
"""How long levers are worked out before the window has its turn."""


class Answers(QObject):
    """Answers the scenario that is looked at at once; levers and other scenarios follow when that is painted."""

    answered = Signal(object)
    """The `Answer` for the scenario that is looked at."""
    offered = Signal(object)
    """Its lever offers; an empty tuple when there are none."""
    others_answered = Signal()
    """`answer_for` has news of other scenarios."""

    def __init__(self, document: PlanDocument, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._known: list[tuple[Scenario, Answer]] = []
        self._unit: Unit = "gib"
        self._offered_for: tuple[Scenario, Unit] | None = None
        self._making: OffersInMaking | None = None
        self._offers_wanted = True
        self.offers: tuple[LeverOffer, ...] = ()
        self.offers_problem = ""
        """Why there are no offers although there is an estimate; empty where nothing went wrong."""
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._answer_rest)
        document.changed.connect(self.refresh)
        document.current_changed.connect(self.refresh)
        document.replaced_whole.connect(self.refresh)

    def answer(self) -> Answer:
        """The answer to the scenario that is looked at."""
        return self._answer_to(self._document.scenario)

    def answer_for(self, position: int) -> Answer | None:
        """The answer to a scenario, if it has been made."""
        scenario = self._document.plan.scenarios[position]
        return next((answer for known, answer in self._known if known is scenario), None)

    def offer(self, lever: str) -> LeverOffer | None:
        """The offer of a lever, made for the scenario that is looked at as it is now."""
        if self._offered_for is None or self._offered_for[0] is not self._document.scenario:
            self.finish()  # the cards still show what was offered for another one: that must not be taken
        return next((offer for offer in self.offers if offer.lever.id == lever), None)

    def want_offers(self, wanted: bool) -> None:
        """Whether somebody sees the offers. Where nobody does they wait, until this or `finish` asks for them."""
        self._offers_wanted = wanted
        if wanted:
            self._later.start()

    def set_unit(self, unit: Unit) -> None:
        """Write the sentences of the offers in another unit."""
        self._unit = unit
        self._later.start()

    def refresh(self, *_: object) -> None:
        """Answer the scenario that is looked at, then the rest."""
        scenarios = self._document.plan.scenarios
        self._known = [pair for pair in self._known if any(pair[0] is scenario for scenario in scenarios)]
        self.answered.emit(self.answer())
        self._later.start()

    def finish(self) -> None:
        """Answer at once what would follow later."""
        self._later.stop()
        self._answer_rest(at_once=True)

    def _answer_to(self, scenario: Scenario) -> Answer:
        for known, answer in self._known:
            if known is scenario:
                return answer
        answer = make_answer(scenario)
        self._known.append((scenario, answer))
        return answer

    def _answer_rest(self, *, at_once: bool = False) -> None:
        if (at_once or self._offers_wanted) and not self._offer(at_once=at_once):
            self._later.start()
            return
        for other in self._document.plan.scenarios[:MOST_TABS_ESTIMATED]:
            self._answer_to(other)
        self.others_answered.emit()

    def _offer(self, *, at_once: bool) -> bool:
        """Work on the offers; says whether all are there, and told."""
        scenario = self._document.scenario
        if self._offered_for is None or self._offered_for[0] is not scenario or self._offered_for[1] != self._unit:
            making = self._making
            if making is None or making.scenario is not scenario or making.unit != self._unit:
                making = self._making = OffersInMaking(scenario, self.answer().estimate, self._unit)
            if not making.go_on(at_once=at_once):
                return False
            self.offers, self.offers_problem = making.result
            self._offered_for, self._making = (scenario, self._unit), None
        self.offered.emit(self.offers)
        return True


class OffersInMaking:
    """What each lever would do, worked out in slices; nothing where the scenario itself has no estimate."""

    def __init__(self, scenario: Scenario, now: Estimate | None, unit: Unit) -> None:
        self.scenario, self.unit = scenario, unit
        self._now = now
        self._made: list[LeverOffer] = []
        self._left: Iterator[LeverOffer] | None = None
        self._problem = ""

    @property
    def result(self) -> tuple[tuple[LeverOffer, ...], str]:
        """The offers; or none, and why not."""
        return (() if self._problem else tuple(self._made)), self._problem

    def go_on(self, *, at_once: bool) -> bool:
        """Work on for a slice, or to the end; says whether all are there."""
        clock = QElapsedTimer()
        clock.start()
        try:
            if self._left is None:
                self._left = iter(()) if self._now is None else each_offer(self.scenario, self._now, self.unit)
            for offer in self._left:
                self._made.append(offer)
                if not at_once and clock.elapsed() >= SLICE_MS:
                    return False
        except MemplanError as problem:
            self._problem = problem_words(problem)
        except Exception as mistake:
            self._problem = mistake_words(mistake)
        return True


def make_answer(scenario: Scenario) -> Answer:
    """The estimate, or in words why there is none."""
    try:
        return Answer(estimate(scenario))
    except MemplanError as problem:
        return Answer(None, problem_words(problem))
    except Exception as mistake:
        return Answer(None, mistake_words(mistake))


def problem_words(problem: MemplanError) -> str:
    """Why there is no estimate, as the window says it: what to type on a command line is no remedy here."""
    remedy = tr("Choose another one at the left.") if isinstance(problem, UnknownEntryError) else problem.remedy
    message = f"{problem.place}: {problem.message}" if problem.place else problem.message
    first = message.partition(" ")[0].rstrip(":")
    is_name = "." in first or "_" in first  # of a field, which is written as it stands in the file
    return f"{message if is_name else message[:1].upper() + message[1:]} {remedy}".strip()


def mistake_words(mistake: Exception) -> str:
    """What an error that nobody expected is called in the window; it is noted for a report."""
    note_handled(mistake)
    found = " ".join(f"{type(mistake).__name__}: {mistake}".split())[:200].rstrip(": ")
    return tr(
        "memplan made a mistake with this scenario and shows nothing rather than a wrong figure ({found}). "
        "Undo the last change, or save the plan and report it."
    ).format(found=found)
