"""Values as people type and read them. Plain Python."""

from __future__ import annotations

import re
from decimal import Decimal

from memplan import CHOICE_TITLES, UNIT_BYTES, UNIT_NAMES, Hardware, Unit, format_bytes, number, tr, tr_n
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.typed import plain_number

_BYTES = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([gGmM])?(i)?[bB]?\s*$")
_FRACTION = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)\s*$")


LEAST_SHORT, LARGEST_SHORT = 0.0001, 999_999.5
"""Outside of these Python's own six figures have a power of ten, which nobody types."""


def step_name(title: str) -> str:
    """What a step is called after the word "Undo": a title as it stands inside a sentence; names stay as they are.

    >>> [step_name(title) for title in ("Sequence length", "LoRA rank", "Adafactor on", "fp32 master weights")]
    ['sequence length', 'LoRA rank', 'Adafactor on', 'fp32 master weights']
    """
    first = title.partition(" ")[0]
    is_plain = first[1:].islower() and CHOICE_TITLES.get(first.lower()) != first
    return first[:1].lower() + title[1:] if is_plain else title


def parse_bytes(text: str, unit: Unit) -> int:
    """Read an amount of memory: "1.5 GiB", "800 MB"; a bare number is in the unit that the window shows.

    >>> parse_bytes("1.5", "gib") == parse_bytes("1.5 GiB", "gb") == parse_bytes("1,5 GiB", "gb") == 3 * 2**29
    True

    Raises:
        ValueError: what was found and what can be read.
    """
    found = _BYTES.match(plain_number(text))
    if not found:
        words = tr("{text} is not an amount of memory; write {example} {unit} or 800 MiB.")
        example = number(1.5, ".1f")
        raise ValueError(words.format(text=repr(text.strip()), example=example, unit=UNIT_NAMES[unit]))
    amount, letter, binary = found.groups()
    if letter is None:
        return round(float(amount) * UNIT_BYTES[unit])
    size = {("g", True): 2**30, ("g", False): 10**9, ("m", True): 2**20, ("m", False): 10**6}
    return round(float(amount) * size[letter.lower(), binary is not None])


def parse_fraction(text: str) -> float:
    """Read per cent, as they are written: "5%", "5 %" and "5" are the same, and "0.5" is half of one per cent.

    >>> parse_fraction("5%"), parse_fraction("5"), parse_fraction("0.5"), parse_fraction("7,5 %")
    (0.05, 0.05, 0.005, 0.075)

    Raises:
        ValueError: what was found and what can be read.
    """
    found = _FRACTION.match(plain_number(text))
    if not found:
        words = tr("{text} is not a share in per cent; write 5 or {example}%.")
        raise ValueError(words.format(text=repr(text.strip()), example=number(7.5, ".1f")))
    return round(float(found[1]) / 100, 12)


def fraction_text(value: float) -> str:
    """Write a fraction as per cent.

    >>> fraction_text(0.05), fraction_text(0.001)
    ('5%', '0.1%')
    """
    return f"{_six_figures(value * 100)}%"


def bytes_text(value: int, unit: Unit) -> str:
    """Write an amount of memory so that reading it gives the same figure again, where that is short."""
    return f"{_six_figures(value / UNIT_BYTES[unit])} {UNIT_NAMES[unit]}"


def _six_figures(value: float) -> str:
    """Six figures, as they can be typed.

    >>> _six_figures(75.1), _six_figures(12_345_678.9), _six_figures(2**-30), _six_figures(0)
    ('75.1', '12,345,679', '0.000000000931323', '0')
    """
    if value >= LARGEST_SHORT:
        return number(value, ",.0f")
    if 0 < value < LEAST_SHORT:
        return number(Decimal(f"{value:.6g}"), "f")
    return number(value, ".6g")


def count_text(value: int) -> str:
    """Write a count in full, short enough for a field: 2048, 128,256; commas from five digits on."""
    return grouped(value) if value >= 10_000 else str(value)


def both_units(num_bytes: int) -> str:
    """The figure in GiB and in GB, and every digit: for a tooltip."""
    words = tr("{gib} = {gb} ({count} bytes)")
    return words.format(gib=format_bytes(num_bytes, "gib"), gb=format_bytes(num_bytes, "gb"), count=grouped(num_bytes))


def nodes_words(hardware: Hardware) -> str:
    """Say how many nodes the devices are: "2 nodes"; the last of them need not be full."""
    nodes = -(-hardware.devices // hardware.devices_per_node)
    return tr_n("{count} node", "{count} nodes", nodes).format(count=number(nodes))
