"""Numbers on screen as the system writes them, and typed numbers read as the screen shows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QLocale

from memplan import PLAIN_NUMBERS, Unit, number, set_screen_numbers
from memplan_gui.number_locale import numbers_of
from memplan_gui.presenters.typed import plain_number, typed_count
from memplan_gui.presenters.words import bytes_text, count_text, fraction_text, parse_bytes, parse_fraction

LOCALES = ("de_DE", "fr_FR", "de_CH", "en_IN", "sv_SE", "en_US", "es_ES", "pl_PL", "pt_BR", "en_ZA")


@pytest.fixture(autouse=True)
def _plain_again() -> Iterator[None]:
    yield
    set_screen_numbers(PLAIN_NUMBERS)


@pytest.mark.parametrize("name", LOCALES)
@given(value=st.integers(0, 10**15))
def test_a_count_is_written_as_qt_writes_it(name: str, value: int) -> None:
    locale = QLocale(name)
    set_screen_numbers(numbers_of(locale))
    assert number(value) == locale.toString(value)


@pytest.mark.parametrize("name", LOCALES)
@given(value=st.floats(0, 10**9, allow_nan=False))
def test_a_fraction_is_written_as_qt_writes_it(name: str, value: float) -> None:
    locale = QLocale(name)
    set_screen_numbers(numbers_of(locale))
    assert number(value, ",.2f") == locale.toString(value, "f", 2)


@pytest.mark.parametrize("name", LOCALES)
@given(value=st.integers(0, 10**15))
def test_a_count_that_a_field_shows_reads_back(name: str, value: int) -> None:
    set_screen_numbers(numbers_of(QLocale(name)))
    assert typed_count(count_text(value), "tokens") == typed_count(number(value)) == value


@pytest.mark.parametrize("name", LOCALES)
@given(value=st.integers(0, 2**60), unit=st.sampled_from(("gib", "gb")))
def test_an_amount_that_a_field_shows_reads_back(name: str, value: int, unit: Unit) -> None:
    """Short texts are rounded: what they read as is shown as the same text, and is the same in every style."""
    plain = parse_bytes(bytes_text(value, unit), unit)
    set_screen_numbers(numbers_of(QLocale(name)))
    shown = bytes_text(value, unit)
    assert parse_bytes(shown, unit) == plain
    assert bytes_text(plain, unit) == shown


@pytest.mark.parametrize("name", LOCALES)
@given(value=st.floats(0, 1))
def test_a_share_that_a_field_shows_reads_back(name: str, value: float) -> None:
    value = round(value, 6)
    plain = parse_fraction(fraction_text(value))
    set_screen_numbers(numbers_of(QLocale(name)))
    shown = fraction_text(value)
    assert parse_fraction(shown) == plain
    assert fraction_text(plain) == shown


@pytest.mark.parametrize("name", ["C", "ar_EG", "fa_IR", "bn_BD"])
def test_other_digits_and_no_locale_leave_plain_numbers(name: str) -> None:
    assert numbers_of(QLocale(name)) is PLAIN_NUMBERS


@pytest.mark.parametrize(
    ("name", "typed", "wanted"), [("de_DE", "1.500 GiB", "1500 or 1,500"), ("en_US", "1,500 GiB", "1500 or 1.500")]
)
def test_what_can_be_read_in_two_ways_is_refused_in_the_forms_of_the_screen(name: str, typed: str, wanted: str) -> None:
    set_screen_numbers(numbers_of(QLocale(name)))
    with pytest.raises(ValueError, match=f"can be read in two ways; write {wanted}"):
        plain_number(typed)


def test_the_screens_own_mark_is_before_a_fraction() -> None:
    set_screen_numbers(numbers_of(QLocale("de_DE")))
    assert parse_bytes("1,500 GiB", "gib") == 3 * 2**29
    assert typed_count("1.500") == typed_count("1,500") == 1500, "a whole number has no fraction"
    set_screen_numbers(numbers_of(QLocale("en_US")))
    assert parse_bytes("1.500 GiB", "gib") == 3 * 2**29


def test_what_programs_write_is_read_everywhere() -> None:
    """A plan's figures, pasted."""
    set_screen_numbers(numbers_of(QLocale("de_DE")))
    assert typed_count("131,072", "tokens") == typed_count("131.072", "tokens") == 131_072
    assert parse_bytes("75.1 GiB", "gib") == parse_bytes("75,1 GiB", "gib")
    assert parse_fraction("7.5 %") == 0.075


def test_groups_of_two_are_read_where_the_screen_writes_them() -> None:
    set_screen_numbers(numbers_of(QLocale("en_IN")))
    assert typed_count("12,34,567") == 1_234_567
    set_screen_numbers(PLAIN_NUMBERS)
    with pytest.raises(ValueError, match="is not a number"):
        typed_count("12,34,567")
