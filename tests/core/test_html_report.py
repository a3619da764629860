"""The page of a report: a strict reader can read it, it loads nothing, and what people type in it stays text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from memplan.estimate import estimate
from memplan.plan.edit import replaced
from memplan.plan.scenario import Plan, Scenario
from memplan.report import report
from memplan.report.bars import legend, stacked_bars
from memplan.report.html import as_html
from memplan.report.tables import instant_table
from memplan.term_looks import TERM_LOOKS
from memplan.units import format_bytes

SCENARIO = Scenario.model_validate({"name": "A & B", "model": {"catalog": "meta-llama/Llama-3.2-1B"}})
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Fails where an element is left open or closed twice; keeps text, tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def page_of(*scenarios: Scenario, title: str = "Plan", notes: str = "") -> str:
    return report(Plan(title=title, notes=notes, scenarios=scenarios), "html")


def test_every_total_of_the_chart_and_every_term_stands_in_the_page() -> None:
    found = estimate(SCENARIO)
    words = "".join(read(page_of(SCENARIO)).words)
    for instant in found.instants:
        assert format_bytes(instant.total_bytes) in words
    for term in found.terms:
        assert term.name in words
        assert term.formula in words


def test_a_lever_that_costs_memory_is_not_offered() -> None:
    """Adafactor keeps a row and a column of each matrix: 8-bit Adam's two bytes a parameter are more."""
    adapters = Scenario.model_validate(
        {"model": {"catalog": "meta-llama/Llama-3.2-1B"}, "training": {"method": "lora", "optimizer": "adamw"}}
    )
    assert ">8-bit optimizer<" in page_of(adapters)
    assert ">8-bit optimizer<" not in page_of(replaced(adapters, "training.optimizer", "adafactor"))


def test_the_page_loads_nothing() -> None:
    reader = read(page_of(SCENARIO))
    assert {tag for tag, _ in reader.seen}.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert not any(name in attributes for _, attributes in reader.seen for name in ("src", "href", "onload"))
    policy = next(attributes["content"] for tag, attributes in reader.seen if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_what_people_type_stays_text() -> None:
    wild = '<script>alert(1)</script>"\x1b[31m'
    reader = read(page_of(replaced(SCENARIO, "name", wild), title=wild, notes=wild))
    assert "script" not in {tag for tag, _ in reader.seen}
    assert "<script>alert(1)</script>" in "".join(reader.words)
    assert "\x1b" not in "".join(reader.words)


def test_the_chart_is_well_formed_and_each_part_has_its_term_s_colour_and_length() -> None:
    found = estimate(SCENARIO)
    table = instant_table(found)
    svg = ET.fromstring(stacked_bars(found, table, "gib"))
    parts = [rect for rect in svg.iter("rect") if rect.get("class") == "part" and rect.find("title") is not None]
    wanted = [
        (TERM_LOOKS[term].colour, instant.bytes_by_term[term])
        for instant in table.instants
        for term in table.terms
        if instant.bytes_by_term.get(term)
    ]
    assert [rect.get("fill") for rect in parts] == [colour for colour, _ in wanted]
    longest = max(wanted, key=lambda pair: pair[1])[1]
    scale = max(float(rect.get("width", 0)) for rect in parts) / longest
    for rect, (_, num_bytes) in zip(parts, wanted, strict=True):
        assert float(rect.get("width", 0)) == pytest.approx(num_bytes * scale, abs=0.11)


def test_what_is_beyond_usable_is_marked_and_nothing_else() -> None:
    def marked(scenario: Scenario) -> bool:
        found = estimate(scenario)
        return 'class="over"' in stacked_bars(found, instant_table(found), "gib")

    assert not marked(SCENARIO)
    assert marked(replaced(SCENARIO, "training.micro_batch", 256))


LINE = re.compile(r'<line x1="([\d.]+)"')
TEXT = re.compile(r'<text x="([\d.]+)" y="(\d+)"([^>]*)>([^<]*)</text>')


def test_the_line_of_what_is_usable_runs_through_no_figure() -> None:
    """A digit of the page's small text is about 6.6 pixels wide; the line is moved over the whole chart."""
    found = estimate(replaced(SCENARIO, "training.micro_batch", 4))
    table, moved = instant_table(found), 0
    for part in range(5, 150):
        usable = round(found.peak.total_bytes * part / 100)
        svg = stacked_bars(replace(found, usable_bytes=usable), table, "gib")
        line = float(LINE.findall(svg)[0])
        for x, y, marks, words in TEXT.findall(svg):
            if int(y) <= 20:
                continue  # the line's own words
            width, at = len(words) * 6.6, float(x)
            left = at - width / 2 if "middle" in marks else at - width if "end" in marks else at
            assert not left - 1 < line < left + width + 1, (part, words)
            moved += left == line + 8
    assert moved


def test_a_page_of_several_scenarios_begins_with_what_each_comes_to() -> None:
    other = replaced(replaced(SCENARIO, "name", "too much"), "training.micro_batch", 256)
    plan = Plan(title="Two", scenarios=(SCENARIO, other))
    page = as_html(plan, (estimate(SCENARIO), estimate(other)), "gib")
    overview = page[: page.index("<section")]
    assert overview.count("<tr>") == 3
    assert 'A &amp; B</td><td><span class="fits"><strong>Fits</strong></span></td>' in overview
    assert 'too much</td><td><span class="does_not_fit"><strong>Does&nbsp;not&nbsp;fit</strong></span></td>' in overview
    read(page)
    one = as_html(Plan(scenarios=(SCENARIO,)), (estimate(SCENARIO),), "gib")
    assert "<table" not in one[: one.index("<section")]


def test_the_chart_s_colours_are_named_under_it() -> None:
    """The terms that have a part of a bar, in stack order; what is beyond usable where something is."""
    for scenario in (SCENARIO, replaced(SCENARIO, "training.micro_batch", 256)):
        found = estimate(scenario)
        table = instant_table(found)
        root = ET.fromstring(legend(found, table))
        named = ["".join(entry.itertext()) for entry in root]
        over = any(table.total_bytes(column) > found.usable_bytes for column in range(len(table.instants)))
        drawn = [term for term in table.terms if any(one.bytes_by_term.get(term) for one in table.instants)]
        assert named == [*drawn, *(["beyond usable"] if over else [])]
        assert legend(found, table) in page_of(scenario)
        colours = [swatch.get("style", "") for swatch in root.iter("span") if "swatch" in swatch.get("class", "")]
        assert [TERM_LOOKS[term].colour in style for term, style in zip(drawn, colours, strict=False)] == [True] * len(
            drawn
        )


def test_the_same_plan_gives_the_same_page() -> None:
    assert page_of(SCENARIO) == page_of(SCENARIO)


def test_an_estimate_that_is_not_off_has_no_sign() -> None:
    cells = re.findall(r"<td class=\"figure\">([^<]*%)</td>", page_of(SCENARIO))
    assert "0.00%" in cells
    assert not [cell for cell in cells if re.fullmatch(r"[+−-]0\.0+%", cell)]


def test_scenarios_follow_each_other() -> None:
    plan = Plan(title="two", scenarios=(SCENARIO, replaced(SCENARIO, "name", "C")))
    page = as_html(plan, tuple(estimate(one) for one in plan.scenarios), "gb")
    assert page.index("A &amp; B") < page.index('id="scenario-2"') < page.index("<h2>C</h2>")
    assert "1 GB = 1,000,000,000 bytes" in page
