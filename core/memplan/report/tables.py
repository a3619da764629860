"""The numbers of an estimate as rows and columns: instants × terms. The same table in reports, terminal and window."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.result import TERMS, Estimate, Instant, TermName


@dataclass(frozen=True, slots=True)
class InstantTable:
    """Bytes by term (rows) and instant (columns); the last row is their sum."""

    instants: tuple[Instant, ...]
    terms: tuple[TermName, ...]
    peak_column: int

    def bytes_at(self, term: TermName, column: int) -> int:
        """What a term holds at an instant."""
        return self.instants[column].bytes_by_term.get(term, 0)

    def total_bytes(self, column: int) -> int:
        """What everything holds at an instant."""
        return self.instants[column].total_bytes


def instant_table(estimate: Estimate) -> InstantTable:
    """Return the table of an estimate: the instants of a later step, or of the first one where it is the fuller."""
    instants = estimate.instants
    if estimate.peak.step == 1 and all(instant.total_bytes < estimate.peak.total_bytes for instant in instants):
        loaded = tuple(instant for instant in instants if instant.name == "loaded")
        instants = (*loaded, *estimate.first_step)
    shown = tuple(term for term in TERMS if any(instant.bytes_by_term.get(term) for instant in instants))
    fullest = max(range(len(instants)), key=lambda column: instants[column].total_bytes)
    return InstantTable(instants, shown, fullest)
