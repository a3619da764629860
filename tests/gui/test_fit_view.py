"""The Fit view. What is right: the core's own answers, device by device, and what a person does with the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import Need, Scenario, catalog, device_fits, fit_sentence, ranked_fits, replaced, save_plan
from memplan.catalog.computer import Found
from memplan.catalog.computer_devices import ThisComputer
from memplan.cli.ending import run
from memplan_gui.catalog_hits import Hit, device_hits
from memplan_gui.document import PlanDocument
from memplan_gui.fit_view import FitView
from memplan_gui.presenters import fit as fits
from memplan_gui.presenters.cells import EXACT, Amounts
from memplan_gui.presenters.fit import FitFilter, FitRow, fit_rows, kept, ordered
from memplan_gui.settings import Settings
from memplan_gui.window import Window


@pytest.fixture(autouse=True)
def no_computer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the computer of the tests has, here it has nothing."""
    monkeypatch.setattr("memplan.catalog.computer.look", lambda: Found(problems=("no GPU was found.",)))
    catalog.read_devices_again()
    yield
    monkeypatch.undo()
    catalog.read_devices_again()


def shown(window: Window) -> FitView:
    window.answer_panel.views.show_view("Fit")
    QApplication.processEvents()
    view = window.answer_panel.views.view("Fit")
    assert isinstance(view, FitView)
    return view


def row_of(view: FitView, device: str) -> FitRow:
    return next(row for row in view.table.devices.rows if row.device.id == device)


def point_at(view: FitView, device: str, column: int = fits.DEVICE) -> None:
    position = [row.device.id for row in view.table.devices.rows].index(device)
    index = view.table.devices.index(position, column)
    view.table.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)


def test_every_device_stands_there_in_the_order_of_what_fits(window: Window) -> None:
    view = shown(window)
    found = device_fits(window.document.scenario)
    assert [row.fit for row in view.table.devices.rows] == list(ranked_fits(found))
    assert view.sentence.text() == fit_sentence(found, window.document.scenario.hardware)
    assert view.accessibleDescription() == view.sentence.text()


def test_without_an_estimate_the_reason_stands_there_and_stays(window: Window) -> None:
    view = shown(window)
    window.document.edit("scenarios[0].model", {"config": {"model_type": "nonsense"}})
    problem = window.answers.answer().problem
    assert problem.startswith("config.model_type:")  # a field's name is written as it stands in the file
    assert view.sentence.text() == problem
    view.computer.found.emit()
    assert view.sentence.text() == problem


def test_nothing_is_built_or_answered_before_it_is_looked_at(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    assert window.answer_panel.views.view("Fit") is None
    view = shown(window)
    asked: list[object] = []
    monkeypatch.setattr("memplan_gui.fit_view.device_fits", lambda *_: asked.append(1) or ())
    window.answer_panel.views.show_view("Memory")
    window.document.edit("scenarios[0].training.micro_batch", 7)
    assert not asked
    assert not view._search.isActive()


def test_an_edit_is_answered_at_once_and_searched_for_when_it_is_quiet(window: Window, qtbot: QtBot) -> None:
    view = shown(window)
    before = row_of(view, "a100-80gb-sxm").fit.need
    window.document.edit("scenarios[0].training.micro_batch", 4)
    after = row_of(view, "a100-80gb-sxm")
    assert after.fit.need.high > before.high
    assert after.answer is None
    qtbot.waitUntil(lambda: all(row.answer for row in view.table.rows_in_sight()), timeout=20_000)
    assert view._detailed() is not None
    assert view._detailed().answer is not None  # type: ignore[union-attr]  # as was seen just now


def test_only_what_is_in_sight_is_searched_for(window: Window) -> None:
    view = shown(window)
    view.finish()
    searched = [row.device.id for row in view.table.devices.rows if row.answer]
    assert set(searched) == {row.device.id for row in view.table.rows_in_sight()} | {"a100-80gb-sxm"}
    view.table.verticalScrollBar().setValue(view.table.verticalScrollBar().maximum())
    view.finish()
    assert view.table.devices.rows[-1].answer is not None


def test_the_window_and_the_command_give_the_same_answers(
    open_window: Callable[..., Window], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window = open_window()
    view = shown(window)
    view.table.sortByColumn(fits.TOKENS, Qt.SortOrder.AscendingOrder)  # so that every device is searched for
    view.finish()
    save_plan(window.document.plan, tmp_path / "a.memplan")
    run(["fit", str(tmp_path / "a.memplan"), "--json"])
    (told,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert told["sentence"] == view.sentence.text()
    rows = {row.device.id: row for row in view.table.devices.rows}
    assert {one["id"] for one in told["devices"]} == set(rows)
    for one in told["devices"]:
        row = rows[one["id"]]
        assert row.answer is not None
        assert (one["verdict"], one["need"]["high"]) == (row.fit.verdict, row.fit.need.high)
        assert (one["usable_bytes"], one["headroom_bytes"]) == (row.fit.usable_bytes, row.fit.headroom_bytes)
        assert one["largest_micro_batch"]["fits"] == row.answer.limits.micro_batch.fits
        assert one["longest_sequence"]["fits"] == row.answer.limits.sequence.fits
        fewest = [(found.devices, found.in_whole_nodes) for found in row.answer.fewest.by_strategy]
        assert [(found["devices"], found["in_whole_nodes"]) for found in one["fewest"]] == fewest


def test_every_column_sorts_both_ways(window: Window) -> None:
    view = shown(window)
    for column in range(view.table.devices.columnCount()):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            view.table.sortByColumn(column, order)
            view.finish()
            rows = view.table.devices.rows
            assert len(rows) == len(catalog.devices())
            keys = [fits._KEYS[column](row) for row in rows]
            assert keys == sorted(keys, reverse=order == Qt.SortOrder.DescendingOrder)
    assert all(row.answer for row in view.table.devices.rows)


def rows_for(scenario: Any, favourites: tuple[str, ...] = ()) -> tuple[FitRow, ...]:
    return fit_rows(device_fits(scenario), scenario.hardware.device, favourites)


def test_filters_leave_what_they_say() -> None:
    rows = rows_for(PlanDocument().scenario, ("t4", "rtx-4090"))
    assert {row.device.vendor for row in kept(rows, FitFilter(vendor="AMD"))} == {"AMD"}
    assert {row.device.device_class for row in kept(rows, FitFilter(device_class="unified"))} == {"unified"}
    assert {row.device.id for row in kept(rows, FitFilter(favourites=True))} == {"t4", "rtx-4090"}
    assert [row.device.id for row in kept(rows, FitFilter("geforce 4090"))][:1] == ["rtx-4090"]
    assert kept(rows, FitFilter("nothing of the kind")) == []
    assert len(kept(rows, FitFilter("  "))) == len(rows)
    assert [row.device.id for row in kept(rows, FitFilter("a100 80", vendor="NVIDIA"))]


def test_what_is_not_known_yet_stands_last_either_way() -> None:
    rows = rows_for(PlanDocument().scenario)
    for descending in (False, True):
        assert [row.rank for row in ordered(rows, fits.TOKENS, descending=descending)] == list(range(len(rows)))


def test_enter_takes_a_device_as_one_step(window: Window, qtbot: QtBot) -> None:
    view = shown(window)
    point_at(view, "h200-sxm")
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert window.document.scenario.hardware.device == "h200-sxm"
    assert [row.device.id for row in view.table.devices.rows if row.is_own] == ["h200-sxm"]
    assert window.document.undo_stack.count() == 1
    window.document.undo_stack.undo()
    assert window.document.scenario.hardware.device == "a100-80gb-sxm"


def test_the_button_takes_what_is_pointed_at_and_the_plan_s_own_is_taken_already(window: Window) -> None:
    view = shown(window)
    assert view.detail_title.text() == catalog.device("a100-80gb-sxm").name
    assert not view.adopt.isEnabled()
    point_at(view, "b200")
    assert view.adopt.isEnabled()
    assert view.detail_title.text() == catalog.device("b200").name
    view.adopt.click()
    assert window.document.scenario.hardware.device == "b200"
    assert not view.adopt.isEnabled()


def test_a_star_is_remembered(window: Window, settings: Settings, qtbot: QtBot) -> None:
    view = shown(window)
    point_at(view, "h200-sxm")
    qtbot.keyClick(view.table, Qt.Key.Key_Space)
    assert settings.favourites == ["h200-sxm"]
    assert row_of(view, "h200-sxm").is_favourite
    view.favourites.click()
    assert [row.device.id for row in view.table.devices.rows] == ["h200-sxm"]
    assert view.count.text() == f"1 of {len(catalog.devices())} · in GiB"
    view.table.clicked.emit(view.table.devices.index(0, fits.FAVOURITE))
    assert settings.favourites == []
    assert view.table.devices.rows == []


def test_what_is_pointed_at_stays_so_when_the_order_changes(window: Window) -> None:
    view = shown(window)
    point_at(view, "rtx-4090")
    window.document.edit("scenarios[0].training.method", "qlora")
    view.table.sortByColumn(fits.DEVICE, Qt.SortOrder.DescendingOrder)
    assert view.table.current is not None
    assert view.table.current.device.id == "rtx-4090"


def test_the_menu_does_for_keyboards_what_the_mouse_does(window: Window, settings: Settings) -> None:
    view = shown(window)
    point_at(view, "h200-sxm")
    menu = view.table.menu()
    take, mark, _, sort, _, *outgoing = menu.actions()
    assert outgoing == view.actions()
    mark.trigger()
    assert settings.favourites == ["h200-sxm"]
    columns = sort.menu().actions()  # type: ignore[attr-defined]  # it has one
    columns[fits.USABLE].trigger()
    assert (view.table.devices.sorted_by, view.table.devices.descending) == (fits.USABLE, False)
    usable = [row.fit.usable_bytes for row in view.table.devices.rows]
    assert usable == sorted(usable)
    take.trigger()
    assert window.document.scenario.hardware.device == "h200-sxm"
    menu.close()


def test_the_table_is_copied_as_it_is_shown(window: Window) -> None:
    view = shown(window)
    view.text.setText("a100")
    view.finish()
    view.copy.click()
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert lines[0][:6] == ["Verdict", "Device", "Usable, GiB", "Need from, GiB", "Need to, GiB", "Free, GiB"]
    assert [line[1] for line in lines[1:]] == [row.device.name for row in view.table.devices.rows]
    assert all(len(line) == len(lines[0]) for line in lines)
    point_at(view, "a100-80gb-sxm")
    view.table.selectRow(view.table.currentIndex().row())
    assert view.table.selected_text().split("\t")[2] == "A100 SXM4 80 GB"


def test_cells_are_spoken_with_whose_they_are(window: Window) -> None:
    view = shown(window)
    for column in range(view.table.devices.columnCount()):
        assert view.table.devices.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.AccessibleTextRole)
        index = view.table.devices.index(0, column)
        text = view.table.devices.data(index, Qt.ItemDataRole.AccessibleTextRole)
        assert text.startswith(view.table.devices.rows[0].device.name)
    for widget in (view.table, view.text, view.vendor, view.kind, view.favourites, view.copy, view.adopt):
        assert widget.accessibleName()
    assert "the plan's own device" in fits.spoken(row_of(view, "a100-80gb-sxm"), fits.VERDICT, "gib")


def test_advice_on_a_device_stands_in_its_tip(window: Window) -> None:
    view = shown(window)
    assert "no bf16 arithmetic" in fits.tip_of(row_of(view, "t4"), fits.DEVICE, "gib")
    assert "no bf16 arithmetic" in fits.detail(row_of(view, "t4"), "gib")


def test_a_scenario_without_an_estimate_says_why_and_lists_nothing(open_window: Callable[..., Window]) -> None:
    scenario = replaced(PlanDocument().scenario, "model", {"config": {"model_type": "llama", "hidden_size": "x"}})
    window = open_window(PlanDocument(replaced(PlanDocument().plan, "scenarios", (scenario,))))
    view = shown(window)
    view.finish()
    assert "hidden_size" in view.sentence.text()
    assert view.table.devices.rows == []


def test_this_computer_is_asked_beside_the_window_and_comes_into_the_table(
    window: Window, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    card = replace(catalog.device("rtx-4090"), id="this-computer", name="This computer: RTX 4090", origin="computer")
    monkeypatch.setattr("memplan.catalog.devices_of", lambda *_: ThisComputer((card,), ()))
    catalog.read_devices_again()
    view = shown(window)
    qtbot.waitUntil(lambda: any(row.device.id == "this-computer" for row in view.table.devices.rows), timeout=10_000)
    editor: Any = window.plan_panel.rows["hardware.device"].editor
    for query in ("", "this"):
        assert [device_hits(query)[0].value, device_hits(query)[0].text] == [card.id, card.name]
    editor._take(Hit("this-computer", "This computer"))
    assert window.document.scenario.hardware.device == "this-computer"
    assert editor.text() == "This computer: RTX 4090"


def test_a_computer_without_a_device_is_not_taken(window: Window) -> None:
    editor: Any = window.plan_panel.rows["hardware.device"].editor
    editor._take(Hit("this-computer", "This computer"))
    assert window.document.scenario.hardware.device == "a100-80gb-sxm"
    assert window.plan_panel.rows["hardware.device"].rejection == "This computer: no GPU was found."


def test_the_person_s_own_devices_stand_there_and_what_is_wrong_with_them_too(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = {"id": "lab", "name": "Lab card", "vendor": "NVIDIA", "device_class": "workstation", "total_mib": 98304}
    content = {"memplan_devices": 1, "devices": [card, {**card, "id": "bad", "total_mib": 0}]}
    (tmp_path / "devices.json").write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setenv("MEMPLAN_DEVICES", str(tmp_path / "devices.json"))
    catalog.read_devices_again()
    view = shown(window)
    assert row_of(view, "lab").fit.verdict in ("fits", "tight")
    assert "devices[1].total_mib: found 0" in view.problems.text()
    assert not view.problems.isHidden()


def test_what_is_free_is_said_as_the_verdict_says_it() -> None:
    """61.3 of 75.1 GiB leaves 13.8 as printed; 13.875 by itself would be 13.9."""
    gib = 2**30
    need, usable = round(61.26 * gib), round(75.135 * gib)
    scenario = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}})
    fit = replace(device_fits(scenario)[0], need=Need(need, need), need_bytes=need, usable_bytes=usable)
    assert fits.cell(FitRow(fit, 0, is_own=False, is_favourite=False), fits.FREE, "gib") == "13.8"
    larger = replace(fit, need_bytes=usable, need=Need(usable, usable), usable_bytes=need)
    assert fits.cell(FitRow(larger, 0, is_own=False, is_favourite=False), fits.FREE, "gib") == "−13.8"


def test_what_is_free_is_the_same_figure_in_a_file_as_on_screen() -> None:
    """The table left the window with 4.02 where the window, and the verdict, say 4.0."""
    scenario = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-3B"}})
    rows = fit_rows(device_fits(scenario), "a100-80gb-sxm", ())
    written = fits.fit_cells(rows, Amounts("gib"))
    at = written.titles.index("Free, GiB")
    assert [cells[at] for cells in written.rows] == [fits.cell(row, fits.FREE, "gib") for row in rows]
    exact = fits.fit_cells(rows, EXACT)
    assert [cells[at] for cells in exact.rows] == [str(row.fit.headroom_bytes) for row in rows]
