"""Notes the events of a walk: what grew and what shrank, each amount being so many of each size."""

from __future__ import annotations

from memplan.memory.storage import Meter, Size

AMOUNT_DIGITS = 30
"""Binary digits for the number of each size, its sign among them: as many as Python's own digits have."""
KIND_DIGITS = 2
"""Binary digits for the kind that an event is of."""
_KINDS = (1 << KIND_DIGITS) - 1


class Recorder(Meter):
    """Notes what grows and shrinks while a walk runs at symbols."""

    __slots__ = ("_places", "_start", "amounts", "events", "sizes")

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        """Polynomials in bytes, unrounded, with the amount that stands for each."""
        self.amounts: list[int] = []
        """What grew or shrank at once, each but once."""
        self._places: dict[int, int] = {}
        self.events: list[int] = []
        """Of each, its place in `amounts` (-1 less the place where it shrank) and, in the lowest digits, its kind."""
        self._start = 0

    def size(self, num_bytes: Size) -> Size:
        """An amount: one of this size."""
        known = self.sizes.get(num_bytes)
        if known is None:
            known = self.sizes[num_bytes] = 1 << (AMOUNT_DIGITS * len(self.sizes))
        return known

    def grow(self, num_bytes: Size, kind: int) -> None:
        """Note that memory is taken."""
        if num_bytes:
            self.now += num_bytes
            self.tally[kind] += num_bytes
            place = self._places.get(num_bytes)
            if place is None:
                place = self._place(num_bytes)
            self.events.append(place | kind)

    def shrink(self, num_bytes: Size, kind: int) -> None:
        """Note that memory is given back."""
        if num_bytes:
            self.now -= num_bytes
            self.tally[kind] -= num_bytes
            self.events.append(-1 - (self._places[num_bytes] | _KINDS - kind))

    def restart(self) -> None:
        """What is alive now is the new peak."""
        self._start = len(self.events)

    def span(self) -> tuple[int, int]:
        """How many events were over then, and how many are now."""
        return self._start, len(self.events)

    def _place(self, amount: int) -> int:
        """The place of an amount that was not there yet, with room for a kind."""
        assert amount.bit_length() < AMOUNT_DIGITS * (len(self.sizes) + 1), "bytes become an amount by `size`"
        place = self._places[amount] = len(self.amounts) << KIND_DIGITS
        self.amounts.append(amount)
        return place
