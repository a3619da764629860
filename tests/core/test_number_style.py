"""Numbers for people: the screen's style, the plain one of all that leaves, and no leak between the two."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from memplan import (
    PLAIN_NUMBERS,
    NumberStyle,
    Scenario,
    estimate,
    format_bytes,
    format_count,
    number,
    once_a_style,
    plain_numbers,
    set_screen_numbers,
)

GERMAN = NumberStyle(",", ".")
FRENCH = NumberStyle(",", "\u202f")
INDIAN = NumberStyle(higher_digits=2)
SPANISH = NumberStyle(",", ".", least_digits=5)


@pytest.fixture(autouse=True)
def _plain_again() -> Iterator[None]:
    yield
    set_screen_numbers(PLAIN_NUMBERS)


@pytest.mark.parametrize(
    ("style", "whole", "thousands", "part", "share"),
    [
        (PLAIN_NUMBERS, "1,234,567", "1,234", "75.1", "12,345.7%"),
        (GERMAN, "1.234.567", "1.234", "75,1", "12.345,7%"),
        (FRENCH, "1\u202f234\u202f567", "1\u202f234", "75,1", "12\u202f345,7%"),
        (INDIAN, "12,34,567", "1,234", "75.1", "12,345.7%"),
        (SPANISH, "1.234.567", "1234", "75,1", "12.345,7%"),
    ],
)
def test_a_number_has_the_marks_of_the_screen(
    style: NumberStyle, whole: str, thousands: str, part: str, share: str
) -> None:
    """As CLDR has them (https://cldr.unicode.org), by way of QLocale's own; the window's tests ask Qt itself."""
    set_screen_numbers(style)
    shown = number(1_234_567), number(1234), number(75.06, ".1f"), number(123.4567, ",.1%")
    assert shown == (whole, thousands, part, share)


def test_amounts_and_counts_have_them_too() -> None:
    set_screen_numbers(GERMAN)
    assert format_bytes(5 * 2**29) == "2,50 GiB"
    assert format_bytes(23_128 * 2**30) == "23.128 GiB"
    assert format_bytes(1) == "<0,01 GiB"
    assert format_count(8_030_261_248) == "8,03B"


def test_what_leaves_has_plain_ones() -> None:
    set_screen_numbers(GERMAN)
    with plain_numbers():
        assert (number(131_072), format_bytes(5 * 2**29)) == ("131,072", "2.50 GiB")
    assert number(131_072) == "131.072"


def test_a_thread_starts_with_the_style_of_the_screen() -> None:
    """A search beside the window makes words for the screen, also where it was begun while something left."""
    set_screen_numbers(GERMAN)
    found: list[str] = []
    with plain_numbers():
        thread = threading.Thread(target=lambda: found.append(number(131_072)))
        thread.start()
        thread.join()
    assert found == ["131.072"]


def test_a_thread_that_writes_a_file_changes_nothing_on_screen() -> None:
    set_screen_numbers(GERMAN)
    inside, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with plain_numbers():
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=write)
    thread.start()
    inside.wait(10)
    shown = number(131_072)
    go_on.set()
    thread.join()
    assert shown == "131.072"


def test_remembered_words_keep_their_style_to_themselves() -> None:
    words = once_a_style(lambda count: f"{number(count)} tokens")
    assert words(4096) == "4,096 tokens"
    set_screen_numbers(GERMAN)
    assert words(4096) == "4.096 tokens"
    with plain_numbers():
        assert words(4096) == "4,096 tokens"


SPLIT = {
    "model": {"parameters": 7_000_000_000, "layers": 32, "hidden_size": 8192, "vocab_size": 32_000},
    "training": {"micro_batch": 3, "sequence_length": 131_072, "method": "full"},
    "hardware": {"devices": 1536, "tensor_parallel": 7},
}


def test_an_estimate_says_itself_in_either_style() -> None:
    """Formulas, rows of tensors and warnings are remembered with the estimate; a report of it must not have the
    screen's."""
    scenario = Scenario.model_validate(SPLIT)

    def said() -> list[str]:
        rows = [row.shape for term in found.terms for row in term.tensors]
        return [one.formula for one in found.terms] + [one.message for one in found.warnings] + rows

    found = estimate(scenario)
    plain = said()
    set_screen_numbers(GERMAN)
    found = estimate(scenario)
    shown = said()
    with plain_numbers():
        assert said() == plain
    assert found.model_name == "7.00B parameters", "a name is one wherever it stands"
    pairs = [(one, other) for one, other in zip(shown, plain, strict=True) if one != other]
    assert any("1.536" in one for one, _ in pairs)
    assert any("131.072" in one for one, _ in pairs)
