"""Help. What is right: every link leads somewhere, what is worked out is the core's, and F1 opens what is in hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRect, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QFont, QTextTable
from PySide6.QtWidgets import QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from memplan import LEVERS, REPORT_FORMATS, TERMS, Scenario, choice_title, estimate, facts_at, resource, translated
from memplan_gui.actions import COMMANDS
from memplan_gui.charts.export import svg_bytes
from memplan_gui.charts.look import chart_fonts, paper_look
from memplan_gui.charts.sheet_picture import A4, paint_sheet
from memplan_gui.dialogs import CHART_KINDS, SHEET_KINDS
from memplan_gui.field_help import FieldHelp
from memplan_gui.first_plan import example_plan
from memplan_gui.help_contents import AROUND
from memplan_gui.help_text import page_document
from memplan_gui.help_topics import FIELD_TOPICS, VIEW_TOPICS, topic_of, topic_of_lever
from memplan_gui.help_window import HelpWindow
from memplan_gui.page_commands import PAGE_COMMANDS, shortcuts
from memplan_gui.plan_fields import all_fields
from memplan_gui.presenters.help import PAGES, HelpPages, topic_of_link
from memplan_gui.presenters.labels import anchor
from memplan_gui.presenters.sheet import sheet
from memplan_gui.recipes import PRESETS
from memplan_gui.scroller import Scroller
from memplan_gui.theme import Theme
from memplan_gui.window import Window

LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def pages() -> HelpPages:
    return HelpPages([("File", "Open", "Ctrl+O")])


@pytest.fixture
def help_window(qtbot: QtBot, qapp: QApplication, pages: HelpPages) -> Iterator[HelpWindow]:
    parent = QWidget()
    qtbot.addWidget(parent)
    theme = Theme(qapp)
    theme.dress()
    window = HelpWindow(parent, pages, theme)
    window.show()
    window.show_topic("start")
    yield window
    window.close()


def topics(pages: HelpPages) -> set[str]:
    return {section.topic for page in PAGES for section in pages.sections(page)}


def test_every_link_of_every_page_leads_to_a_heading(pages: HelpPages) -> None:
    known = topics(pages)
    for page in PAGES:
        links = LINK.findall(pages.markdown(page).replace("\n", " "))
        assert {topic_of_link(link, page) for link in links} <= known, page


def test_every_part_of_the_window_has_a_page(pages: HelpPages) -> None:
    named = {*FIELD_TOPICS.values(), *VIEW_TOPICS.values(), *PAGE_COMMANDS.values()}
    assert named | {topic_of_lever(lever.title) for lever in LEVERS} <= topics(pages)
    assert all(any(path.startswith(name) for name in FIELD_TOPICS) for path in all_fields())


def test_the_recipes_are_those_of_the_field_and_come_to_what_they_say(pages: HelpPages) -> None:
    """The table is counted by the core; a preset's own figure is what its description adds up to."""
    text = pages.markdown("recipes")
    for preset in PRESETS:
        row = next(line for line in text.splitlines() if line.startswith(f"| {preset.title} |"))
        figures = [float(cell) for cell in row.strip("| ").split(" | ")[1:]]
        assert figures[-1] == sum(figures[:-1]) == preset.bytes_per_parameter
    for optimizer in facts_at(Scenario, "training.optimizer").choices:
        assert f"| {choice_title('optimizer', optimizer)} |" in text
    assert "| AdamW 8-bit | 2.03 | 2.03 |" in text  # two states of a byte, with a scale for 256 (memory_facts, 8-bit)


def test_every_lever_is_described_by_itself(pages: HelpPages) -> None:
    text = pages.markdown("levers")
    for lever in LEVERS:
        assert text.count(f"### {lever.title}\n\n{lever.does}\n\n- **Price**: {lever.price}\n") == 1
        assert lever.idle in text
        for words in (lever.does, lever.idle):
            assert words[0].isupper()
            assert words.endswith(".")


def test_the_glossary_has_the_words_of_the_window(pages: HelpPages) -> None:
    known = topics(pages)
    words = ("plan", "scenario", "estimate", "instant", "lever", "recipe", "kernels", "need", "verdict", "basis")
    for word in (*words, "allocated", "reserved", "process", "device", "usable", *TERMS):
        assert f"glossary#{anchor(word)}" in known


def test_the_shortcuts_are_those_of_the_menus() -> None:
    rows = shortcuts()
    assert ("Help", "Help for what has the keyboard", "F1") in rows
    assert ("File", "Open", "Ctrl+O") in rows
    text = HelpPages(rows).markdown("keyboard")
    assert all(f"| {command} | {keys} |" in text for _, command, keys in rows)


def test_search_finds_headings_first_and_every_word(pages: HelpPages) -> None:
    found = pages.search("checkpointing")
    assert "checkpointing" in found[0].heading.casefold()
    assert len(found) > 5
    assert pages.search("nvidia-smi")[0].topic == "why#nvidia-smi-shows-more"
    both = pages.search("GiB smi")
    assert all("gib" in (one.heading + one.text).casefold() for one in both)
    assert pages.search("checkpointing xyzzy") == () == pages.search("  ")


def test_pages_have_headings_and_tables_that_can_be_told_apart(qapp: QApplication, pages: HelpPages) -> None:
    theme = Theme(qapp)
    for page in PAGES:
        document, places = page_document(pages.markdown(page), theme, theme)
        assert {section.topic.partition("#")[2] for section in pages.sections(page) if section.level > 1} <= set(places)
    document, places = page_document(pages.markdown("recipes"), theme, theme)
    heading, text = document.findBlock(places["recipes"]), document.findBlock(places["recipes"]).next()
    assert (
        heading.begin().fragment().charFormat().font().pixelSize()
        > text.begin().fragment().charFormat().font().pixelSize()
    )
    tables = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert [table.columns() for table in tables] == [6, 3]


def test_links_go_and_back_and_forward_return(help_window: HelpWindow) -> None:
    help_window.page.anchorClicked.emit(QUrl("glossary.md#instant"))
    assert help_window.topic == "glossary#instant"
    assert help_window.page.verticalScrollBar().value() > 0
    help_window.page.anchorClicked.emit(QUrl("#verdict"))
    help_window.back.click()
    assert help_window.topic == "glossary#instant"
    help_window.go_back()
    assert (help_window.topic, help_window.back.isEnabled()) == ("start", False)
    help_window.forward.click()
    assert help_window.topic == "glossary#instant"
    help_window.show_topic("levers")
    assert not help_window.forward.isEnabled()


def test_nothing_leaves_help_unless_it_is_clicked(help_window: HelpWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    assert help_window.page.loadResource(2, QUrl("https://example.org/a.png")) is None
    help_window.page.anchorClicked.emit(QUrl("https://example.org/"))
    help_window.page.anchorClicked.emit(QUrl("file:///etc/passwd"))
    assert opened == [QUrl("https://example.org/")]
    assert help_window.topic == "start"


def test_search_lists_places_and_return_opens_the_first(help_window: HelpWindow, qtbot: QtBot) -> None:
    qtbot.keyClicks(help_window.search, "fused loss")
    assert help_window.contents.topLevelItem(0).text(0) == "Fused loss · Levers"
    qtbot.keyClick(help_window.search, Qt.Key.Key_Return)
    assert help_window.topic == "levers#fused-loss"
    assert help_window.page.extraSelections()
    qtbot.keyClick(help_window, Qt.Key.Key_Escape)
    assert help_window.search.text() == ""
    assert help_window.contents.topLevelItemCount() == len(PAGES)
    qtbot.keyClick(help_window, Qt.Key.Key_Escape)
    assert help_window.isHidden()


def test_a_page_takes_the_themes_colours(help_window: HelpWindow, qapp: QApplication) -> None:
    theme = help_window._theme
    theme.choose("dark")
    block = help_window.page.document().findBlock(help_window._places["your-own-run"])
    assert block.begin().fragment().charFormat().foreground().color() != theme.colour("window")
    theme.choose("light")


def test_f1_opens_the_page_for_what_has_the_keyboard(window: Window) -> None:
    for path, topic in (
        ("training.optimizer", "recipes#optimizers"),
        ("training.checkpointing", "levers#checkpointing"),
    ):
        window.plan_panel.rows[path].editor.setFocus()
        assert topic_of(window.plan_panel.rows[path].editor) == topic
    card = window.answer_panel.levers.buttons[0].card
    assert card is not None
    assert topic_of(window.answer_panel.levers.buttons[0]) == topic_of_lever(card.title)
    assert topic_of(window.answer_panel.chart) == VIEW_TOPICS["Memory"]
    assert topic_of(window) == topic_of(None) == "start"
    window.plan_panel.rows["training.optimizer"].editor.setFocus()
    window.menus.actions["help"].trigger()
    opened = window.findChild(HelpWindow)
    assert opened is not None
    assert opened.isVisible()
    window.menus.actions["help_why"].trigger()
    assert opened.topic == "why"
    assert len(window.findChildren(HelpWindow)) == 1


def test_the_line_at_the_first_start_belongs_to_the_example(window: Window) -> None:
    document, notice = window.document, window.answer_panel.notice
    document.begin(example_plan(), is_example=True)
    window.help.say_what_first(document)
    document.edit("scenarios[0].training.micro_batch", 2)
    assert "This is an example" in notice.text
    document.edit("scenarios[0].model", {"catalog": "meta-llama/Llama-3.1-70B"})
    assert notice.text == ""
    document.begin(example_plan(), is_example=True)
    window.help.say_what_first(document)
    window.files.new()
    assert notice.text == ""


def test_the_line_at_the_first_start_leads_to_the_first_steps(window: Window) -> None:
    window.help.say_what_first(window.document)
    notice = window.answer_panel.notice
    assert "config.json" in notice.text
    (button,) = [one for one in notice.findChildren(QToolButton) if one.text() == "First steps"]
    button.click()
    opened = window.findChild(HelpWindow)
    assert opened is not None
    assert opened.topic == "start"


def test_under_the_form_stands_what_the_field_at_hand_is(window: Window, qtbot: QtBot) -> None:
    said, scroller = window.plan_panel.findChild(FieldHelp), window.plan_panel.findChild(Scroller)
    assert said is not None
    assert scroller is not None
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    line = window.plan_panel.rows["training.sequence_length"]
    line.editor.setFocus()
    assert said.text == f"{line.help} F1 says more."
    window.plan_panel.open_fold("Implementation")
    last = window.plan_panel.rows["training.trainer"]
    last.editor.setFocus()
    assert last.help in said.text
    foot = last.editor.rect().bottomLeft() + QPoint(0, 1)
    qtbot.waitUntil(lambda: scroller.viewport().rect().contains(last.editor.mapTo(scroller, foot)))
    window.answer_panel.chart.take_keyboard()
    assert said.text == ""


def test_headings_in_the_contents_are_whole(window: Window, qtbot: QtBot) -> None:
    """Most of those of "Why is my number different?" lost their second half."""
    window.menus.actions["help"].trigger()
    (shown,) = window.findChildren(HelpWindow)
    for page in ("why", "method"):
        shown.show_topic(page)
        QApplication.processEvents()
        contents = shown.contents
        metrics, lines = contents.fontMetrics(), []
        page_item = contents.currentItem()
        for at in range(page_item.childCount()):
            item = page_item.child(at)
            place = contents.visualItemRect(item)
            room = contents.viewport().width() - place.left() - AROUND.width()
            words = metrics.boundingRect(QRect(0, 0, room, 1), Qt.TextFlag.TextWordWrap.value, item.text(0))
            assert place.height() >= words.height() + 4, item.text(0)
            lines.append(words.height() > metrics.height())
        assert any(lines), page
    shown.close()


def test_the_first_thing_on_every_page_and_under_every_heading_is_words() -> None:
    for page in PAGES:
        blocks = resource("help", f"{page}.md").read_text(encoding="utf-8").split("\n\n")
        for before, block in pairwise(blocks):
            assert not (before.startswith("#") and block.startswith("```")), (page, before)
        first = [block for block in blocks if not block.startswith("#")][:2]
        assert not any(block.startswith("```") for block in first), page


def test_the_page_about_exports_names_what_there_is(pages: HelpPages) -> None:
    """Commands as the menus call them, every ending that something is written under, headings that stand on the sheet."""
    text = pages.markdown("sharing")
    called = {f"{one.menu.replace('&', '')} → {translated(one.text).replace('&', '')}" for one in COMMANDS}
    named = re.findall(r"\*\*(\w+ → [^*]+)\*\*", text.replace("\n", " "))
    assert len(named) >= 4
    assert set(named) <= called
    exports = {one for one in called if one.startswith("File → ") and ("Export" in one or "Print" in one)}
    assert exports <= set(named)
    kinds = (*CHART_KINDS, *SHEET_KINDS)
    endings = {pattern.removeprefix("*") for _, pattern in kinds} | {f".{form}" for form in REPORT_FORMATS}
    assert {ending for ending in endings if f"`{ending}`" not in text} == set()
    section = next(one.text for one in pages.sections("sharing") if one.heading == "What stands on the sheet")
    scenario = example_plan().scenarios[0]
    page = sheet("A plan", scenario, estimate(scenario), (), "gib", date(2026, 11, 30))
    look = paper_look(*chart_fonts(QFont().family(), 13))
    svg = svg_bytes(lambda painter: paint_sheet(painter, page, look), A4, "t").decode()
    for heading in ("Assumptions", "Levers", "Evidence", "Remarks"):
        assert f"\n- {heading}: " in section
        assert re.search(rf">{heading}[:<]", svg)


def test_the_page_about_exports_is_shown_by_its_command(window: Window) -> None:
    window.menus.actions["help_sharing"].trigger()
    (shown,) = window.findChildren(HelpWindow)
    assert shown.isVisible()
    shown.close()
