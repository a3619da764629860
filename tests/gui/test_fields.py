"""Editors: what they read, what they write, when they say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStyle, QStyleOptionComboBox
from pytestqt.qtbot import QtBot

from memplan import GIB, Scenario, catalog, count_forms, facts_at, format_bytes
from memplan_gui.catalog_hits import Hit, device_hits
from memplan_gui.fields import (
    BytesEdit,
    ChoiceEdit,
    FractionEdit,
    IntegerEdit,
    NamesEdit,
    TextEdit,
    ToggleEdit,
)
from memplan_gui.forms import FieldRow, editor_for
from memplan_gui.name_choice import NameChoice
from memplan_gui.notes_edit import NotesEdit
from memplan_gui.plan_fields import all_fields
from memplan_gui.presenters.field_help import field_help
from memplan_gui.search_field import SearchEdit
from memplan_gui.theme import Theme
from memplan_gui.window import Window


class Heard(list[object]):
    """What an editor said."""

    def __init__(self, editor: object) -> None:
        super().__init__()
        editor.edited.connect(self.append)  # type: ignore[attr-defined]  # every editor has it


def type_over(qtbot: QtBot, editor: IntegerEdit, text: str) -> None:
    editor.selectAll()
    qtbot.keyClicks(editor, text)


@pytest.fixture
def length(qtbot: QtBot) -> IntegerEdit:
    editor = IntegerEdit(doubling=True)
    qtbot.addWidget(editor)
    editor.set_value(2048)
    editor.show()
    editor.setFocus()
    return editor


@pytest.mark.parametrize(
    ("typed", "value"),
    [("4096", 4096), ("8k", 8000), ("8ki", 8192), ("1.5M", 1_500_000), ("15T", 15 * 10**12), ("128 256", 128_256)],
)
def test_counts_are_read_beyond_32_bits(qtbot: QtBot, length: IntegerEdit, typed: str, value: int) -> None:
    heard = Heard(length)
    type_over(qtbot, length, typed)
    assert heard[-1] == value


def test_each_readable_text_is_an_edit_and_the_rest_waits(qtbot: QtBot, length: IntegerEdit) -> None:
    heard = Heard(length)
    type_over(qtbot, length, "4k")
    assert heard == [4, 4000]
    qtbot.keyClicks(length, "x")
    assert heard == [4, 4000]


def test_what_cannot_be_read_is_said_and_stays_to_be_mended(qtbot: QtBot, length: IntegerEdit) -> None:
    said: list[str] = []
    length.unreadable.connect(said.append)
    type_over(qtbot, length, "many")
    qtbot.keyClick(length, Qt.Key.Key_Return)
    assert said == ["'many' is not a count; write 4096, 8k, 8ki (8192), 1.5M, 7B or 15T."]
    assert (length.text(), length.value(), length.is_refused) == ("many", 2048, True)
    length.set_value(2048)  # the plan changes elsewhere
    assert length.text() == "many"
    length.set_value(4096)  # and here
    assert (length.text(), length.is_refused) == ("4096", False)


def test_a_field_of_small_counts_names_no_billions(qtbot: QtBot) -> None:
    """Nobody writes 15T sequences; where a size of a model is asked for, 7B is what one types."""
    for path, forms in (
        ("training.micro_batch", "a whole number, such as 8"),
        ("training.sequence_length", count_forms("tokens")),
        ("model.parameters", count_forms()),
    ):
        editor = editor_for(path, facts_at(Scenario, path))
        assert isinstance(editor, IntegerEdit)
        qtbot.addWidget(editor)
        said: list[str] = []
        editor.unreadable.connect(said.append)
        type_over(qtbot, editor, "many")
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        assert said == [f"'many' is not a count; write {forms}."]


@pytest.mark.parametrize("memory", ["819224 GB", "819224G", "24 GiB", "800 MB"])
def test_a_count_refuses_an_amount_of_memory(qtbot: QtBot, length: IntegerEdit, memory: str) -> None:
    """An amount that is pasted behind a count must not become a count of thousands of milliards, not even on the way."""
    heard, said = Heard(length), []
    length.unreadable.connect(said.append)
    length.edited.connect(length.set_value)
    type_over(qtbot, length, memory)
    assert 819_224 * 10**9 not in heard
    length.clearFocus()
    assert heard[-1] == 2048  # the value from before the typing
    forms = "4096, 8k, 8ki (8192), 1.5M, 7B or 15T"
    assert said == [f"{memory!r} is an amount of memory, and this is a count; write {forms}."]


def test_text_stays_while_it_is_typed_and_is_tidied_when_done(qtbot: QtBot, length: IntegerEdit) -> None:
    length.edited.connect(length.set_value)
    type_over(qtbot, length, "16k")
    assert length.text() == "16k"
    qtbot.keyClick(length, Qt.Key.Key_Return)
    assert length.text() == "16,000"


def test_escape_brings_the_value_back(qtbot: QtBot, length: IntegerEdit) -> None:
    type_over(qtbot, length, "x")
    qtbot.keyClick(length, Qt.Key.Key_Escape)
    assert length.text() == "2048"


def test_a_text_that_is_not_read_leaves_nothing_of_its_beginning(qtbot: QtBot, length: IntegerEdit) -> None:
    length.edited.connect(length.set_value)
    type_over(qtbot, length, "1.5")
    assert length.value() == 2048
    qtbot.keyClick(length, Qt.Key.Key_Return)
    assert (length.value(), length.text()) == (2048, "1.5")
    qtbot.keyClick(length, Qt.Key.Key_Escape)
    assert (length.value(), length.text(), length.is_refused) == (2048, "2048", False)


def test_escape_takes_back_what_was_taken_while_typing(qtbot: QtBot, length: IntegerEdit) -> None:
    length.edited.connect(length.set_value)
    length.taken_back.connect(length.set_value)
    type_over(qtbot, length, "16k")
    qtbot.keyClick(length, Qt.Key.Key_Escape)
    assert (length.value(), length.text()) == (2048, "2048")


def test_k_is_1024_in_lengths_and_the_number_is_shown_while_it_is_typed(qtbot: QtBot) -> None:
    """A context of "8k" has 8192 tokens, by everyone's custom; a batch of "8k" has 8000."""
    facts = facts_at(Scenario, "training.sequence_length")
    editor = editor_for("sequence_length", facts, doubling=True)
    assert isinstance(editor, IntegerEdit)
    row = FieldRow(facts, editor)
    qtbot.addWidget(row)
    editor.set_value(2048)
    row.show()
    heard = Heard(editor)
    editor.edited.connect(editor.set_value)
    for typed, value, in_full in (("8k", 8192, "= 8192"), ("128k", 131_072, "= 131,072"), ("4096", 4096, "tokens")):
        type_over(qtbot, editor, typed)
        assert heard[-1] == value
        assert in_full in [one.text() for one in row.findChildren(QLabel)]
    type_over(qtbot, editor, "16k")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert "tokens" in [one.text() for one in row.findChildren(QLabel)]


@pytest.mark.parametrize(("typed", "value"), [("1,500", 1500), ("1,5", 2048), ("1,50", 2048), ("12 34", 2048)])
def test_commas_and_spaces_stand_between_groups_of_three(
    qtbot: QtBot, length: IntegerEdit, typed: str, value: int
) -> None:
    length.edited.connect(length.set_value)
    type_over(qtbot, length, typed)
    qtbot.keyClick(length, Qt.Key.Key_Return)
    assert length.value() == value


@pytest.mark.parametrize(("typed", "value"), [("8.192", 8192), ("131 072", 131072), ("1,5M", 1_500_000)])
def test_counts_are_read_as_they_are_written_elsewhere(
    qtbot: QtBot, length: IntegerEdit, typed: str, value: int
) -> None:
    length.edited.connect(length.set_value)
    type_over(qtbot, length, typed)
    qtbot.keyClick(length, Qt.Key.Key_Return)
    assert length.value() == value


@pytest.mark.parametrize(("typed", "value"), [("1,5", 3 * GIB // 2), ("1.5 GiB", 3 * GIB // 2), ("0,500", GIB // 2)])
def test_a_comma_may_stand_before_the_fraction(qtbot: QtBot, typed: str, value: int) -> None:
    editor = BytesEdit()
    qtbot.addWidget(editor)
    editor.edited.connect(editor.set_value)
    qtbot.keyClicks(editor, typed)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.value() == value


def test_what_means_two_things_is_asked_about(qtbot: QtBot) -> None:
    editor = BytesEdit()
    qtbot.addWidget(editor)
    editor.set_value(GIB)
    said: list[str] = []
    editor.unreadable.connect(said.append)
    type_over(qtbot, editor, "1,500 GiB")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.value() == GIB
    assert said == ["'1,500 GiB' can be read in two ways; write 1500 or 1.500."]


def test_rounded_bytes_are_not_read_again(qtbot: QtBot) -> None:
    editor = BytesEdit()
    qtbot.addWidget(editor)
    editor.set_value(GIB + 1)
    heard = Heard(editor)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    editor.selectAll()
    editor.edited.connect(editor.set_value)
    qtbot.keyClicks(editor, editor.text())  # the same text typed again
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.value() == GIB + 1
    assert None not in heard


def test_arrows_double_and_step(qtbot: QtBot, length: IntegerEdit) -> None:
    heard = Heard(length)
    qtbot.keyClick(length, Qt.Key.Key_Up)
    qtbot.keyClick(length, Qt.Key.Key_Down)
    assert heard == [4096, 1024]
    batch = IntegerEdit()
    qtbot.addWidget(batch)
    batch.set_value(4)
    stepped = Heard(batch)
    qtbot.keyClick(batch, Qt.Key.Key_Up)
    qtbot.keyClick(batch, Qt.Key.Key_PageUp)
    assert stepped == [5, 8]


def test_optional_counts_can_be_left_out(qtbot: QtBot) -> None:
    editor = IntegerEdit(optional=True)
    qtbot.addWidget(editor)
    editor.set_value(32)
    heard = Heard(editor)
    editor.selectAll()
    qtbot.keyClick(editor, Qt.Key.Key_Delete)
    assert heard == [None]


def test_a_fraction_is_shown_as_per_cent(qtbot: QtBot) -> None:
    editor = FractionEdit()
    qtbot.addWidget(editor)
    editor.set_value(0.05)
    assert editor.text() == "5%"
    heard = Heard(editor)
    editor.selectAll()
    qtbot.keyClicks(editor, "7.5%")
    assert heard[-1] == 0.075


def test_bytes_follow_the_unit(qtbot: QtBot) -> None:
    editor = BytesEdit()
    qtbot.addWidget(editor)
    editor.set_value(2 * GIB)
    assert editor.text() == "2 GiB"
    editor.set_unit("gb")
    assert editor.text() == "2.14748 GB"


def test_names_are_a_list_or_a_word_for_one(qtbot: QtBot) -> None:
    editor = NamesEdit(("all-linear",))
    qtbot.addWidget(editor)
    editor.set_value("all-linear")
    assert editor.text() == "all-linear"
    heard = Heard(editor)
    editor.edited.connect(editor.set_value)
    editor.selectAll()
    qtbot.keyClicks(editor, "q_proj, v_proj")
    assert heard[-1] == ("q_proj", "v_proj")
    editor.selectAll()
    qtbot.keyClicks(editor, "all-linear")
    assert heard[-1] == "all-linear"


def test_an_optional_text_that_is_empty_is_not_given(qtbot: QtBot) -> None:
    editor = TextEdit(optional=True)
    qtbot.addWidget(editor)
    editor.set_value("4.48")
    heard = Heard(editor)
    editor.selectAll()
    qtbot.keyClick(editor, Qt.Key.Key_Backspace)
    assert heard == [None]


def test_choices_and_toggles_say_only_what_a_person_does(qtbot: QtBot) -> None:
    choice, toggle = ChoiceEdit([("One", "1"), ("Two", "2")]), ToggleEdit("Yes")
    qtbot.addWidget(choice)
    qtbot.addWidget(toggle)
    heard, toggled = Heard(choice), Heard(toggle)
    choice.set_value("2")
    toggle.set_value(True)
    assert (heard, toggled) == ([], [])
    qtbot.keyClick(choice, Qt.Key.Key_Up)
    qtbot.keyClick(toggle, Qt.Key.Key_Space)
    assert (heard, toggled) == (["1"], [False])


def test_notes_say_what_is_typed(qtbot: QtBot) -> None:
    notes = NotesEdit()
    qtbot.addWidget(notes)
    notes.set_value("a")
    heard = Heard(notes)
    notes.moveCursor(notes.textCursor().MoveOperation.End)
    qtbot.keyClicks(notes, "b")
    assert heard == ["ab"]


# The offscreen platform says that it cannot do what a list that pops up asks of a window system.
POPS_UP = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

HITS = [Hit("meta/Llama-8B", "meta/Llama-8B", "8B"), Hit("meta/Llama-70B", "meta/Llama-70B", "70B")]


@pytest.fixture
def search(qtbot: QtBot, theme: Theme) -> SearchEdit:
    editor = SearchEdit(
        lambda query: [hit for hit in HITS if query.lower() in hit.text.lower()],
        lambda value: value.rpartition("/")[2],
        "No model matches “{query}”.",
        theme,
    )
    qtbot.addWidget(editor)
    editor.set_value("meta/Llama-8B")
    editor.show()
    return editor


@POPS_UP
def test_a_search_shows_titles_and_takes_the_best_hit(qtbot: QtBot, search: SearchEdit) -> None:
    assert search.text() == "Llama-8B"
    heard = Heard(search)
    search.selectAll()
    qtbot.keyClicks(search, "70")
    assert [hit.value for hit in search.hits()] == ["meta/Llama-70B"]
    assert heard == []
    search._list.hide()
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert heard == ["meta/Llama-70B"]


@POPS_UP
def test_a_search_is_walked_from_its_line_too(qtbot: QtBot, search: SearchEdit) -> None:
    # Under some window systems the list that pops up gets no keys.
    heard = Heard(search)
    search.selectAll()
    qtbot.keyClicks(search, "llama")
    qtbot.keyClick(search, Qt.Key.Key_Down)
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert heard == ["meta/Llama-70B"]


@POPS_UP
def test_a_search_takes_what_is_picked_from_the_list(qtbot: QtBot, search: SearchEdit) -> None:
    heard = Heard(search)
    qtbot.keyClick(search, Qt.Key.Key_Down)
    assert len(search.hits()) == 2
    qtbot.keyClick(search._list, Qt.Key.Key_Down)
    qtbot.keyClick(search._list, Qt.Key.Key_Return)
    assert heard == ["meta/Llama-70B"]


@POPS_UP
def test_an_opened_list_points_at_the_entry_that_the_plan_has(qtbot: QtBot, search: SearchEdit) -> None:
    search.set_value("meta/Llama-70B")
    heard = Heard(search)
    qtbot.mouseClick(search, Qt.MouseButton.LeftButton)
    assert search._list.currentIndex().row() == 1
    qtbot.keyClick(search._list, Qt.Key.Key_Return)
    assert heard == []
    assert not search._list.isVisible()
    assert search.text() == "Llama-70B"


@POPS_UP
def test_enter_without_typing_changes_nothing_where_the_list_lacks_the_entry(qtbot: QtBot, search: SearchEdit) -> None:
    search.set_value("gone/Model")
    heard = Heard(search)
    qtbot.mouseClick(search, Qt.MouseButton.LeftButton)
    qtbot.keyClick(search._list, Qt.Key.Key_Return)
    assert heard == []


@POPS_UP
def test_one_escape_closes_the_list_and_brings_the_entry_back(qtbot: QtBot, search: SearchEdit) -> None:
    search.selectAll()
    search.setFocus()
    qtbot.keyClicks(search, "70")
    assert search._list.isVisible()
    qtbot.keyClick(search._list, Qt.Key.Key_Escape)
    assert not search._list.isVisible()
    assert search.text() == "Llama-8B"
    assert not search.isModified()


@POPS_UP
def test_a_search_without_hits_says_so_and_keeps_the_entry(qtbot: QtBot, search: SearchEdit) -> None:
    said: list[str] = []
    search.unreadable.connect(said.append)
    search.selectAll()
    qtbot.keyClicks(search, "zzz")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert said == ["No model matches “zzz”."]
    qtbot.keyClick(search, Qt.Key.Key_Escape)
    assert search.text() == "Llama-8B"
    assert search.value() == "meta/Llama-8B"


def test_every_field_says_what_it_is_its_unit_and_what_it_takes(qtbot: QtBot) -> None:
    """On hover, for a screen reader, and under the form: the same words, from the field's own facts."""
    for path in all_fields():
        facts = facts_at(Scenario, path)
        row = FieldRow(facts, editor_for(path.rpartition(".")[2], facts))
        qtbot.addWidget(row)
        assert row.help.startswith(facts.description)
        assert row.editor.accessibleDescription() == row.help
        assert facts.description.split(";")[0][:30] in row.editor.toolTip()
        if facts.kind == "whole number" and facts.unit != "bytes":
            assert f"{facts.minimum:,} to {facts.maximum:,}" in row.help
            assert facts.unit in row.help
    batch = field_help(facts_at(Scenario, "training.micro_batch"))
    assert batch.endswith("A whole number of sequences, from 1 to 1,000,000.")
    method = field_help(facts_at(Scenario, "training.method"), ["Full fine-tune", "LoRA"])
    assert method.endswith("One of: Full fine-tune, LoRA.")


@POPS_UP
def test_a_search_says_at_once_that_nothing_is_found(qtbot: QtBot, search: SearchEdit) -> None:
    heard, said = Heard(search), []
    search.unreadable.connect(said.append)
    search.selectAll()
    qtbot.keyClicks(search, "mamba")
    assert [(hit.value, hit.text) for hit in search.hits()] == [("", "Nothing found for “mamba”")]
    assert search._list.isVisible()
    qtbot.keyClick(search, Qt.Key.Key_Down)
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert heard == []
    assert said == ["No model matches “mamba”."]


@pytest.mark.parametrize(
    ("typed", "count"), [("8 x H100", 8), ("8xh100", 8), ("8 × H100", 8), ("2x8 H100", 16), ("2 x 8 x h100", 16)]
)
def test_a_count_before_a_device_is_read(typed: str, count: int) -> None:
    hits = device_hits(typed)
    assert hits
    assert {hit.devices for hit in hits} == {count}
    assert [hit.value for hit in hits] == [hit.value for hit in device_hits("h100")]


def test_a_number_in_a_name_is_no_count() -> None:
    assert device_hits("8x 4090")[0].devices == 8
    for name in ("4090", "rtx 3090", "5090 laptop", "h100"):
        assert {hit.devices for hit in device_hits(name)} == {0}


@POPS_UP
def test_eight_of_a_device_set_both_fields(qtbot: QtBot, open_window: Callable[..., Window]) -> None:
    window = open_window()
    editor = window.plan_panel.rows["hardware.device"].editor
    assert isinstance(editor, SearchEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, "8 x a100 40gb")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    hardware = window.document.scenario.hardware
    assert (hardware.device, hardware.devices) == (device_hits("a100 40gb")[0].value, 8)


def test_under_the_device_stands_what_is_usable_and_of_what(open_window: Callable[..., Window]) -> None:
    window = open_window()
    given = catalog.device(window.document.scenario.hardware.device).usable_bytes
    caption = window.plan_panel.usable_caption
    assert caption.text() == f"{format_bytes(given * 95 // 100)} usable ({format_bytes(given)} less 5% headroom)"


def test_a_name_that_is_cut_shows_it(qtbot: QtBot) -> None:
    """The style cut through the letters, as if the name ended there. Right is what the words with an ellipsis show."""

    def made(words: str) -> NameChoice:
        choice = NameChoice([(words, "1")])
        qtbot.addWidget(choice)
        choice.setFixedSize(160, 30)
        return choice

    whole = made("Full fine-tune with everything that is usual")
    option = QStyleOptionComboBox()
    whole.initStyleOption(option)
    field = QStyle.SubControl.SC_ComboBoxEditField
    room = whole.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, whole).width()
    cut = whole.fontMetrics().elidedText(whole.currentText(), Qt.TextElideMode.ElideMiddle, room - 2)
    assert cut.startswith("Full f")
    assert "…" in cut
    assert cut.endswith("usual")
    assert whole.grab().toImage() == made(cut).grab().toImage()
