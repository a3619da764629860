"""Searches over whole numbers: double until it is bracketed, then close in. Each look is a walk, so looks are few."""

from __future__ import annotations

from collections.abc import Callable

_NEIGHBOURS = 8


def largest_within(amount: Callable[[int], int], room: int, most: int, start: int = 1) -> int:
    """Return the largest number from 1 to `most` whose amount is within the room; 0 where not even that of 1 is.

    The amount of the answer is within the room, that of the next number is not. Where amounts never fall as numbers
    grow, there is one such answer.

    Args:
        amount: what a number takes; asked more than once for the same number.
        room: what may be taken.
        most: the largest number that is looked at.
        start: where to begin: the closer to the answer, the fewer looks.

    >>> largest_within(lambda n: 3 * n + 5, room=100, most=1000)
    31
    """
    low, high = _bracket(amount, room, most, min(max(start, 1), most))
    if low in (0, most):
        return low
    halved = True
    while high - low > 1:
        width, below, above = high - low, amount(low), amount(high)
        # Between kinks amounts grow in a straight line; where that guess does not close in well, the middle does.
        guess = low + (room - below) * width // (above - below) if halved else low + width // 2
        guess = min(max(guess, low + 1), high - 1)
        if amount(guess) <= room:
            low = guess
        else:
            high = guess
        halved = 2 * (high - low) <= width
    return low


def _bracket(amount: Callable[[int], int], room: int, most: int, start: int) -> tuple[int, int]:
    """A number within the room and a larger one that is not; (0, …) and (most, …) where there is no such pair."""
    number = start
    if amount(number) <= room:
        while number < most:
            larger = min(2 * number, most)
            if amount(larger) > room:
                return number, larger
            number = larger
        return most, most
    while number > 1:
        smaller = number // 2
        if amount(smaller) <= room:
            return smaller, number
        number = smaller
    return 0, number


def smallest_that(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the smallest number from 1 to `most` that holds; None where no power of two up to it does.

    Shards are padded to equal parts, so that now and then fewer devices need less than one more would: the numbers
    just below the answer are looked at as well.

    >>> smallest_that(lambda n: n >= 14, most=4096), smallest_that(lambda n: False, most=4096)
    (14, None)
    """
    high = 1
    while not holds(high):
        if high == most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return next(number for number in range(max(1, high - _NEIGHBOURS), high + 1) if holds(number))
