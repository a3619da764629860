"""The document: one door, every edit undoable, what is refused leaves everything as it was."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan import MemplanError, load_plan
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import example_plan
from memplan_gui.presenters.automatic_names import free_name, scenario_name
from memplan_gui.scenario_edits import (
    add_scenario,
    duplicate_scenario,
    move_scenario,
    remove_scenario,
    rename_scenario,
)

BATCH = "scenarios[0].training.micro_batch"
LENGTH = "scenarios[0].training.sequence_length"

EDITS: dict[str, st.SearchStrategy[Any]] = {
    "title": st.text(max_size=20),
    BATCH: st.integers(-2, 2_000_000),
    LENGTH: st.integers(0, 10**9),
    "scenarios[0].training.optimizer": st.sampled_from(["adamw", "sgd", "adamw_8bit", "nonsense"]),
    "scenarios[0].training.master_weights": st.booleans(),
    "scenarios[0].hardware.headroom": st.floats(-0.5, 1.5),
    "scenarios[0].model": st.sampled_from([{"catalog": "Qwen/Qwen3-8B"}, {"parameters": 7}, {"catalog": ""}, {}]),
}
ONE_EDIT = st.one_of([st.tuples(st.just(path), values) for path, values in EDITS.items()])


class Heard:
    """What a document said."""

    def __init__(self, document: PlanDocument) -> None:
        self.changed: list[frozenset[str]] = []
        self.rejected: list[tuple[str, str]] = []
        document.changed.connect(self.changed.append)
        document.rejected.connect(lambda path, message: self.rejected.append((path, message)))


@pytest.fixture
def document(qapp: object) -> Iterator[PlanDocument]:
    document = PlanDocument()
    yield document
    document.undo_stack.clear()  # the steps know the document: whichever Python collected first, the other would miss it


EXAMPLE_PLAN = example_plan()
MODEL = "scenarios[0].model"


def test_the_examples_notes_go_when_the_model_does() -> None:
    document = PlanDocument(EXAMPLE_PLAN, is_example=True)
    document.edit("scenarios[0].training.micro_batch", 2)
    assert document.plan.notes == EXAMPLE_PLAN.notes  # they still are about this model
    document.edit(MODEL, {"catalog": "meta-llama/Llama-3.1-70B"})
    assert document.plan.notes == ""
    assert not document.is_example
    document.undo_stack.undo()
    assert document.plan.notes == EXAMPLE_PLAN.notes
    assert document.is_example


def models(document: PlanDocument) -> list[str | None]:
    return [scenario.model.catalog for scenario in document.plan.scenarios]


def test_an_example_shows_ones_own_model_in_all_its_ways() -> None:
    # It is opened with the words "choose your model": the other tabs would still be of the example's.
    document, theirs = PlanDocument(EXAMPLE_PLAN, is_example=True), "meta-llama/Llama-3.1-8B"
    assert models(document) == [theirs] * 3
    document.edit("scenarios[0].model", {"catalog": "Qwen/Qwen3-8B"})
    assert models(document) == ["Qwen/Qwen3-8B"] * 3
    assert document.plan.title == "Qwen3-8B on A100 SXM4 80 GB"
    document.undo_stack.undo()
    assert document.plan == EXAMPLE_PLAN


def test_an_example_shows_ones_own_machine_in_all_its_ways() -> None:
    # Sixteen H100s in one tab, and two that still ask about one A100, would go to the report together.
    document = PlanDocument(EXAMPLE_PLAN, is_example=True)
    document.edit("scenarios[0].hardware.devices", 16)
    document.edit("scenarios[0].hardware.device", "h100-80gb-sxm")
    machines = [(one.hardware.device, one.hardware.devices) for one in document.plan.scenarios]
    assert machines == [("h100-80gb-sxm", 16)] * 3
    document.edit("scenarios[1].hardware.sharding.strategy", "fsdp2")  # from here on it is a way of one's own
    document.edit("scenarios[0].hardware.devices", 8)
    assert [one.hardware.devices for one in document.plan.scenarios] == [8, 16, 8]


def test_ways_of_ones_own_keep_their_model() -> None:
    document, theirs = PlanDocument(EXAMPLE_PLAN, is_example=True), "meta-llama/Llama-3.1-8B"
    document.edit("scenarios[1].training.micro_batch", 7)
    document.edit("scenarios[0].model", {"catalog": "Qwen/Qwen3-8B"})
    assert models(document) == ["Qwen/Qwen3-8B", theirs, "Qwen/Qwen3-8B"]
    document = PlanDocument(EXAMPLE_PLAN, is_example=True)
    duplicate_scenario(document)
    document.edit(document.full_path("model"), {"catalog": "Qwen/Qwen3-8B"})
    assert models(document).count("Qwen/Qwen3-8B") == 1
    document = PlanDocument(EXAMPLE_PLAN)  # a plan of one's own that is the same
    document.edit("scenarios[0].model", {"catalog": "Qwen/Qwen3-8B"})
    assert models(document) == ["Qwen/Qwen3-8B", theirs, theirs]


def test_the_examples_notes_are_not_saved_as_ones_own(tmp_path: Path) -> None:
    document = PlanDocument(EXAMPLE_PLAN, is_example=True)
    document.save(tmp_path / "own.memplan")
    assert load_plan(tmp_path / "own.memplan").notes == document.plan.notes == ""
    assert not document.modified
    assert not document.is_example


def test_notes_of_ones_own_stay(tmp_path: Path) -> None:
    document = PlanDocument(EXAMPLE_PLAN, is_example=True)
    document.edit("notes", "Mine.")
    document.edit(MODEL, {"catalog": "meta-llama/Llama-3.1-70B"})
    document.save(tmp_path / "own.memplan")
    assert load_plan(tmp_path / "own.memplan").notes == "Mine."
    opened = PlanDocument(EXAMPLE_PLAN)  # a file of one's own that says the same
    opened.edit(MODEL, {"catalog": "meta-llama/Llama-3.1-70B"})
    assert opened.plan.notes == EXAMPLE_PLAN.notes


def test_an_edit_changes_one_value_and_says_which(document: PlanDocument) -> None:
    heard = Heard(document)
    assert document.edit(BATCH, 4)
    assert document.scenario.training.micro_batch == 4
    assert heard.changed == [frozenset({BATCH})]
    assert document.modified
    assert document.undo_stack.undoText() == "micro-batch"


def test_a_rejected_edit_keeps_the_document(document: PlanDocument) -> None:
    heard, before = Heard(document), document.plan
    assert not document.edit(BATCH, 0)
    assert document.plan is before
    assert not document.modified
    assert heard.changed == []
    assert heard.rejected == [(BATCH, "found 0; allowed is a whole number from 1 to 1,000,000.")]


def test_edits_together_are_one_step_or_none(document: PlanDocument) -> None:
    before = document.plan
    assert not document.edit_together({LENGTH: 4096, BATCH: 0})
    assert document.plan is before
    assert document.edit_together({LENGTH: 4096, BATCH: 2}, text="Both")
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert document.plan == before


def test_an_edit_to_the_same_value_is_no_step(document: PlanDocument) -> None:
    assert document.edit(BATCH, document.scenario.training.micro_batch)
    assert document.undo_stack.count() == 0


def test_a_burst_of_typing_is_one_step_and_another_gesture_another(document: PlanDocument) -> None:
    for value in (2, 20, 204, 2048):
        document.edit(LENGTH, value + 1)
    assert document.undo_stack.count() == 1
    document.end_gesture()
    document.edit(LENGTH, 8)
    assert document.undo_stack.count() == 2
    document.undo_stack.undo()
    assert document.scenario.training.sequence_length == 2049
    document.undo_stack.undo()
    assert document.scenario.training.sequence_length == 2048


def test_edits_of_two_fields_are_two_steps(document: PlanDocument) -> None:
    document.edit(BATCH, 2)
    document.edit(LENGTH, 8)
    document.edit(BATCH, 3)
    assert document.undo_stack.count() == 3


def test_a_gesture_that_leads_back_leaves_no_step(document: PlanDocument) -> None:
    document.edit(BATCH, 2)
    document.edit(BATCH, 1)
    assert document.undo_stack.count() == 0
    assert not document.modified


@given(edits=st.lists(ONE_EDIT, max_size=12), ends=st.lists(st.booleans(), min_size=12, max_size=12))
def test_undo_leads_back_through_every_step_and_redo_forth(edits: list[tuple[str, Any]], ends: list[bool]) -> None:
    document = PlanDocument()
    start, stack = document.plan, document.undo_stack
    for (path, value), ends_here in zip(edits, ends, strict=False):
        before = document.plan
        if not document.edit(path, value):
            assert document.plan is before
        if ends_here:
            document.end_gesture()
    end, steps = document.plan, stack.count()
    seen = [document.plan]
    while stack.canUndo():
        stack.undo()
        seen.append(document.plan)
    assert document.plan == start
    assert len(seen) == steps + 1
    assert all(later != earlier for earlier, later in pairwise(seen))
    while stack.canRedo():
        stack.redo()
        seen.pop()
        assert document.plan == seen[-1]
    assert document.plan == end
    stack.clear()


def test_saving_makes_it_clean_and_undoing_past_that_dirty(document: PlanDocument, tmp_path: Path) -> None:
    path = tmp_path / "p.memplan"
    document.edit(BATCH, 4)
    document.save(path)
    assert not document.modified
    assert load_plan(path) == document.plan
    document.edit(BATCH, 8)  # as fast as typing, and yet no merge across the save
    assert document.modified
    document.undo_stack.undo()
    assert not document.modified
    assert document.scenario.training.micro_batch == 4


def test_saving_without_a_file_says_so(document: PlanDocument) -> None:
    with pytest.raises(MemplanError, match="no file yet"):
        document.save()


def test_a_failed_save_leaves_the_modified_mark(document: PlanDocument, tmp_path: Path) -> None:
    document.edit(BATCH, 4)
    with pytest.raises(MemplanError):
        document.save(tmp_path / "no such folder" / "p.memplan")
    assert document.modified
    assert document.path is None


def test_scenarios_are_added_renamed_moved_and_removed_by_steps_that_undo(document: PlanDocument) -> None:
    start = document.plan
    duplicate_scenario(document)
    assert [scenario.name for scenario in document.plan.scenarios] == ["Full fine-tune", "Full fine-tune 2"]
    assert document.current == 1
    assert rename_scenario(document, 1, "LoRA")
    assert move_scenario(document, 1, 0)
    assert [scenario.name for scenario in document.plan.scenarios] == ["LoRA", "Full fine-tune"]
    assert document.current == 0
    add_scenario(document)
    assert document.current == 2
    assert remove_scenario(document, 0)
    assert [scenario.name for scenario in document.plan.scenarios] == ["Full fine-tune", "Full fine-tune 2"]
    assert document.current == 1
    for _ in range(5):
        document.undo_stack.undo()
    assert document.plan == start
    assert document.current == 0


def test_the_last_scenario_stays(document: PlanDocument) -> None:
    assert not remove_scenario(document, 0)
    assert len(document.plan.scenarios) == 1


def test_undo_shows_the_scenario_that_it_changes(document: PlanDocument) -> None:
    duplicate_scenario(document)
    document.show_scenario(0)
    document.edit(BATCH, 4)
    document.show_scenario(1)
    document.undo_stack.undo()
    assert document.current == 0


def test_names_are_numbered_where_they_are_taken() -> None:
    assert free_name("a", set()) == "a"
    assert free_name("a", {"a", "a 2"}) == "a 3"


def test_a_config_becomes_the_model_as_one_step(document: PlanDocument, tmp_path: Path) -> None:
    folder = tmp_path / "TinyLlama"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}')
    before = document.plan
    document.take_config(folder / "config.json")
    assert document.scenario.model.kind == "config"
    assert document.scenario.model.name == "TinyLlama"
    document.undo_stack.undo()
    assert document.plan == before


def test_a_bad_config_leaves_the_document_untouched(document: PlanDocument, tmp_path: Path) -> None:
    bad, before = tmp_path / "config.json", document.plan
    bad.write_text("[1, 2")
    with pytest.raises(MemplanError):
        document.take_config(bad)
    assert document.plan is before
    assert not document.modified


def test_a_name_that_nobody_gave_follows_what_it_names(document: PlanDocument) -> None:
    """Who turns the full fine-tune into QLoRA must not see a tab that says full fine-tune."""
    steps = document.undo_stack.count()
    document.edit("scenarios[0].training.method", "qlora")
    assert document.scenario.name == "QLoRA, rank 16"
    assert document.undo_stack.count() == steps + 1
    assert document.undo_stack.undoText() == "method"
    document.undo_stack.undo()
    assert document.scenario.name == "Full fine-tune"
    duplicate_scenario(document)
    assert document.scenario.name == "Full fine-tune 2"
    document.edit("scenarios[1].training.optimizer_impl", "fused")
    assert [one.name for one in document.plan.scenarios] == ["Full fine-tune", "Fused optimizer"]
    document.edit("scenarios[1].training.optimizer_impl", "foreach")
    assert document.scenario.name == "Full fine-tune 2"


def test_a_copy_is_named_by_what_differs_whichever_of_the_two_is_edited(document: PlanDocument) -> None:
    def names() -> list[str]:
        return [one.name for one in document.plan.scenarios]

    duplicate_scenario(document)
    document.edit("scenarios[1].training.sequence_length", 8192)
    assert names() == ["Full fine-tune", "Full fine-tune, 8,192 tokens"]
    document.edit("scenarios[1].training.sequence_length", 4096)
    assert names()[1] == "Full fine-tune, 4,096 tokens"
    document.edit("scenarios[1].training.sequence_length", 2048)
    assert names()[1] == "Full fine-tune 2"
    document.edit("scenarios[0].training.micro_batch", 3)
    assert names() == ["Full fine-tune", "Full fine-tune, batch 1"]
    document.edit("scenarios[0].training.method", "qlora")
    assert names() == ["QLoRA, rank 16", "Full fine-tune"]


def test_a_name_that_a_person_gave_stays(document: PlanDocument) -> None:
    assert rename_scenario(document, 0, "what we can afford")
    document.edit("title", "March")
    document.edit_together({"scenarios[0].training.method": "lora", "scenarios[0].hardware.device": "rtx-4090"})
    assert (document.scenario.name, document.plan.title) == ("what we can afford", "March")


def test_the_examples_names_are_those_that_follow(document: PlanDocument) -> None:
    document.begin(example_plan())
    assert document.plan.title == "Llama-3.1-8B on A100 SXM4 80 GB"
    document.edit("scenarios[0].hardware.device", "rtx-4090")
    assert document.plan.title == "Llama-3.1-8B"  # two scenarios are on the other card still
    document.edit("scenarios[0].model.catalog", "Qwen/Qwen3-8B")
    assert document.plan.title == "Qwen3-8B and Llama-3.1-8B"
    for scenario in document.plan.scenarios:
        assert scenario.name == scenario_name(scenario)
