"""The stacked chart of one scenario as SVG, for pages: a bar for each instant, the usable line, what is beyond it."""

from __future__ import annotations

from html import escape

from memplan.report.tables import InstantTable
from memplan.result import Estimate, TermName
from memplan.term_looks import TERM_LOOKS, text_on
from memplan.units import Unit, format_bytes

WIDTH = 920
_LEFT, _RIGHT, _TOP = 128, 96, 24
_ROW, _BAR = 34, 22
_GAP, _CLEAR = 8, 4
"""From a bar, or from the usable line, to a total; and how near the line may come to it."""
_LETTER = 6.6
"""About as wide as a digit of the page's small text, in pixels."""


def stacked_bars(estimate: Estimate, table: InstantTable, unit: Unit) -> str:
    """Draw the instants of a table. Colours are the terms', text is text; the page's style sets fonts and theme.

    >>> from memplan.report.tables import instant_table
    >>> from memplan.estimate import estimate
    >>> from memplan.plan.scenario import Scenario
    >>> found = estimate(Scenario.model_validate({"model": {"parameters": 1_000_000}}))
    >>> stacked_bars(found, instant_table(found), "gib").startswith("<svg ")
    True
    """
    columns = _all(table)
    longest = max(table.total_bytes(column) for column in columns)
    scale = (WIDTH - _LEFT - _RIGHT) / max(longest, estimate.usable_bytes * 1.02, 1)
    height = _TOP + _ROW * len(table.instants) + 6
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_label(estimate, table, unit)}">',
        '<defs><pattern id="kin" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="1.5" height="6" fill="#000"/></pattern></defs>',
    ]
    for column in columns:
        parts += _bar(estimate, table, column, scale, unit)
    parts += _usable_line(estimate, scale, height, unit)
    return "\n".join([*parts, "</svg>"])


def legend(estimate: Estimate, table: InstantTable) -> str:
    """What the chart's colours mean, in stack order, and how it marks what the device does not have."""
    shown = [term for term in table.terms if any(table.bytes_at(term, column) for column in _all(table))]
    entries = [f"{swatch(term)}{escape(term)}" for term in shown]
    if any(table.total_bytes(column) > estimate.usable_bytes for column in _all(table)):
        entries.append('<span class="swatch beyond"></span>beyond usable')
    return f'<p class="legend">{" ".join(f"<span>{entry}</span>" for entry in entries)}</p>'


def _all(table: InstantTable) -> range:
    """The columns of the table: a bar each."""
    return range(len(table.instants))


def swatch(term: TermName) -> str:
    """A small square filled as the term is."""
    look = TERM_LOOKS[term]
    kin = " kin" if look.hatched else ""
    return f'<span class="swatch{kin}" style="background-color:{look.colour}"></span>'


def _bar(estimate: Estimate, table: InstantTable, column: int, scale: float, unit: Unit) -> list[str]:
    instant, top = table.instants[column], _TOP + column * _ROW + (_ROW - _BAR) // 2
    middle, x = top + _BAR // 2 + 4, float(_LEFT)
    line = _LEFT + estimate.usable_bytes * scale
    peak = ' class="peak"' if column == table.peak_column else ""
    parts = [f'<text x="{_LEFT - 10}" y="{middle}" text-anchor="end"{peak}>{escape(instant.title)}</text>']
    for term in table.terms:
        num_bytes = table.bytes_at(term, column)
        if not num_bytes:
            continue
        width, look = num_bytes * scale, TERM_LOOKS[term]
        title = f"<title>{escape(f'{term}: {format_bytes(num_bytes, unit)}')}</title>"
        box = f'x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}"'
        parts.append(f'<rect {box} fill="{look.colour}" class="part">{title}</rect>')
        if look.hatched:
            parts.append(f'<rect {box} fill="url(#kin)" class="part"/>')
        figure = format_bytes(num_bytes, unit).split(" ")[0]
        left, right = _wider_side(x, x + width, line)
        if not look.hatched and len(figure) * _LETTER + 8 <= right - left:
            colour, centre = text_on(look.colour), (left + right) / 2
            parts.append(
                f'<text x="{centre:.1f}" y="{middle}" text-anchor="middle" fill="{colour}">{escape(figure)}</text>'
            )
        x += width
    over = table.total_bytes(column) - estimate.usable_bytes
    if over > 0:
        start = x - over * scale
        parts.append(f'<rect x="{start:.1f}" y="{top}" width="{over * scale:.1f}" height="{_BAR}" class="over"/>')
    total = format_bytes(table.total_bytes(column), unit)
    start = x + _GAP
    if start - _CLEAR < line < start + len(total) * _LETTER + _CLEAR:
        start = line + _GAP
    parts.append(f'<text x="{start:.1f}" y="{middle}"{peak}>{escape(total)}</text>')
    return parts


def _wider_side(left: float, right: float, line: float) -> tuple[float, float]:
    """The part of a stretch that has room for words: on the wider side of the line, where it runs through.

    >>> _wider_side(10, 50, 20), _wider_side(10, 50, 60)
    ((20, 50), (10, 50))
    """
    if not left < line < right:
        return left, right
    return (left, line) if line - left > right - line else (line, right)


def _usable_line(estimate: Estimate, scale: float, height: int, unit: Unit) -> list[str]:
    x = _LEFT + estimate.usable_bytes * scale
    text = f"{format_bytes(estimate.usable_bytes, unit)} usable · {escape(estimate.device_name)}"
    side = "end" if x > WIDTH / 2 else "start"
    return [
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height - 2}" class="usable"/>',
        f'<text x="{x:.1f}" y="{_TOP - 10}" text-anchor="{side}">{text}</text>',
    ]


def _label(estimate: Estimate, table: InstantTable, unit: Unit) -> str:
    instants = zip(table.instants, map(table.total_bytes, range(len(table.instants))), strict=True)
    words = ", ".join(f"{instant.title.lower()} {format_bytes(total, unit)}" for instant, total in instants)
    usable = format_bytes(estimate.usable_bytes, unit)
    return escape(f"Memory by instant: {words}; {usable} usable on {estimate.device_name}.")
