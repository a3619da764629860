"""What the window says, without a window: bars, tables, sentences, cards."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import get_args

import pytest

from memplan import (
    CHOICE_TITLES,
    GB,
    GIB,
    LEVERS,
    TERM_LOOKS,
    TERMS,
    Advice,
    Estimate,
    Need,
    Scenario,
    contrast,
    facts_at,
    lever_offers,
    replaced,
    verdict_sentence,
)
from memplan import estimate as estimate_of
from memplan_gui.charts.scale import axis_end, grouped, is_far_too_wide, is_too_wide, step_of, value_ticks
from memplan_gui.colours import DARK, LIGHT, Roles, high_contrast
from memplan_gui.document import new_plan
from memplan_gui.plan_fields import all_fields
from memplan_gui.presenters.advice import advice_by_path, model_caption, row_for
from memplan_gui.presenters.breakdown import breakdown, breakdown_cells
from memplan_gui.presenters.cells import Amounts, as_text, as_tsv
from memplan_gui.presenters.explanation import explanation
from memplan_gui.presenters.labels import file_stem, tab_text
from memplan_gui.presenters.levers import lever_cards
from memplan_gui.presenters.stack import chart_sentence, stack_chart
from memplan_gui.presenters.verdict import verdict_view
from memplan_gui.presenters.words import bytes_text, fraction_text, parse_bytes, parse_fraction
from memplan_gui.recipes import PRESETS, edits_for, preset_of


def test_bars_stack_terms_in_order_and_mark_the_peak(estimate: Estimate) -> None:
    chart = stack_chart(estimate, "gib")
    assert [bar.title for bar in chart.bars] == ["Loaded", "Forward", "Optimizer step"]
    peak = chart.bars[2]
    assert [bar.is_peak for bar in chart.bars] == [False, False, True]
    assert peak.decides
    assert [segment.term for segment in peak.segments] == [
        "weights",
        "gradients",
        "optimizer states",
        "temporary buffers",
        "framework",
    ]
    assert [segment.start // GIB for segment in peak.segments] == [0, 8, 16, 20, 23]
    assert peak.total == 24 * GIB
    assert chart.longest == 25 * GIB  # the need's band reaches further than the bar
    assert chart.overflows


def test_the_first_step_is_another_chart(estimate: Estimate) -> None:
    chart = stack_chart(estimate, "gib", first_step=True)
    assert [bar.total // GIB for bar in chart.bars] == [9, 12, 24]
    assert "optimizer states" not in {segment.term for segment in chart.bars[1].segments}


def test_every_term_has_a_look_of_its_own() -> None:
    assert set(TERM_LOOKS) == set(TERMS)
    assert len(set(TERM_LOOKS.values())) == len(TERMS)


@pytest.mark.parametrize("roles", [LIGHT, DARK, high_contrast(LIGHT), high_contrast(DARK)])
def test_text_and_edges_can_be_seen(roles: Roles) -> None:
    # WCAG 2: 4.5 for text, 3 for what is needed to recognise a control. What does not apply is exempt, and still legible.
    for ground in (roles.window, roles.panel, roles.field):
        for role in ("text", "muted", "accent", "fits", "tight", "does_not_fit"):
            assert contrast(getattr(roles, role), ground) >= 4.5, (role, ground)
        assert contrast(roles.faint, ground) >= 4, ground
        assert contrast(roles.border, ground) >= 3, ground
    assert contrast(roles.on_accent, roles.accent) >= 4.5
    assert contrast(roles.text, roles.accent_soft) >= 4.5


def test_the_chart_is_told_in_a_sentence(estimate: Estimate) -> None:
    assert chart_sentence(stack_chart(estimate, "gib")) == (
        "Memory over a later step: the peak is 24.0 GiB at optimizer step, of 20.0 GiB usable on Card 20 GB. "
        "Largest: weights 8.00 GiB (33%), gradients 8.00 GiB (33%), optimizer states 4.00 GiB (17%)."
    )


def test_table_and_chart_show_the_same_numbers(estimate: Estimate) -> None:
    chart = stack_chart(estimate, "gib")
    table = breakdown(chart)
    assert table.terms[0] == "total"  # the first row: it is seen without scrolling
    assert table.cells[0] == tuple(bar.total for bar in chart.bars)
    for column in range(len(table.instants)):
        assert sum(row[column] for row in table.cells[1:]) == table.cells[0][column]
    assert table.cells[0][table.peak] == estimate.need_bytes  # one figure in headline, chart and table
    assert table.instants[table.peak] == "Optimizer step"
    assert table.figure(table.terms.index("gradients"), 0) == "–"


def test_the_table_is_copied_as_cells_and_as_text(estimate: Estimate) -> None:
    table = breakdown(stack_chart(estimate, "gb"))
    cells = breakdown_cells(table, Amounts("gb"))
    lines = as_tsv(cells).splitlines()
    assert lines[0] == "GB\tLoaded\tForward\tOptimizer step"
    assert lines[1] == "Total\t9.66\t17.2\t25.8"
    assert lines[2] == "Weights\t8.59\t8.59\t8.59"
    assert lines[3] == "Gradients\t0\t0\t8.59"
    assert len({len(line) for line in as_text(cells).splitlines()}) == 1


def test_the_verdict_says_what_the_core_says(estimate: Estimate) -> None:
    view = verdict_view(estimate, "gib")
    assert view.sentence == verdict_sentence(estimate, "gib") + "."
    assert view.word == "Does not fit"
    assert view.margin == "4.0 GiB over"
    assert view.detail == "Needs 24.0 GiB (23.0 to 25.0) of 20.0 GiB usable, at the optimizer step · Card 20 GB"
    assert view.band.startswith("The need, low to high: 23.0 GiB to 25.0 GiB.")
    assert view.recipe == "bf16 weights, bf16 gradients, bf16 AdamW states: 8 bytes per parameter"
    assert view.icon == "verdict-does-not-fit"


def test_a_tight_verdict_says_how_far_the_band_reaches(estimate: Estimate) -> None:
    tight = replace(estimate, verdict="tight", need=Need(19 * GIB, 22 * GIB))
    assert verdict_view(tight, "gib").margin == "1.00 GiB free to 2.00 GiB over"


def test_explanations_begin_as_sentences_do() -> None:
    found = estimate_of(new_plan().scenarios[0])
    chart = stack_chart(found, "gib")
    told = [
        explanation(found, chart, row, segment.term) for row, bar in enumerate(chart.bars) for segment in bar.segments
    ]
    firsts = {one.formula.partition(" ")[0] for one in told if one is not None}
    assert len(firsts) > 2
    assert [word for word in firsts if word.isalpha() and word.islower()] == []
    raw = {term.formula.partition(" ")[0] for term in found.terms}
    assert [word for word in raw if word.isalpha() and word.islower()]  # else this would show nothing


def test_an_explanation_has_figure_formula_source_and_tensors(estimate: Estimate) -> None:
    found = explanation(estimate, stack_chart(estimate, "gib"), 1, "activations")
    assert found is not None
    assert found.figure == "3.00 GiB at forward, 19% of 16.0 GiB"
    assert found.formula == "32 layers × 96 MiB"
    assert found.source == "traced"
    assert [tensor.name for tensor in found.tensors] == ["mlp.down: input"]
    assert explanation(estimate, stack_chart(estimate, "gib"), 1, "adapters") is None


def test_advice_goes_under_its_field_or_the_nearest_that_is_shown() -> None:
    shown = {"model.name", "training.method", "training.optimizer"}
    assert row_for("training.optimizer", shown) == "training.optimizer"
    assert row_for("training.lora.targets", shown) == "training.method"
    assert row_for("model", shown) == "model.name"
    assert row_for("hardware.device", shown) == ""


def test_equal_advice_is_given_once(estimate: Estimate) -> None:
    words = (Advice("training.method", "a"), Advice("training.lora", "b"), Advice("training.method", "a"))
    advised = replace(estimate, advise=lambda: words)
    assert advice_by_path(advised, {"training.method"}) == {"training.method": "a\nb"}


def test_advice_under_another_field_names_its_own(estimate: Estimate) -> None:
    offload = Advice("hardware.offload.optimizer", "slow.")
    advised = replace(estimate, advise=lambda: (offload,))
    title = facts_at(Scenario, offload.path).title
    assert advice_by_path(advised, {"hardware.device"}) == {"hardware.device": f"{title}: slow."}
    assert advice_by_path(advised, {offload.path}) == {offload.path: "slow."}


def test_the_model_is_captioned_by_its_counts(estimate: Estimate) -> None:
    assert model_caption(estimate) == "4.00B parameters · all trained"
    lora = replace(estimate, parameters=replace(estimate.parameters, trainable=40_000_000, active=10**9))
    assert model_caption(lora) == "4.00B parameters · 1.00B active · 40.0M trained (1.00%)"


def test_every_lever_has_a_price_that_fits_its_card() -> None:
    assert all(0 < len(lever.short) <= 22 for lever in LEVERS)


def test_lever_cards_say_saving_price_and_state() -> None:
    scenario = new_plan().scenarios[0]
    offers = lever_offers(scenario)
    cards = {card.id: card for card in lever_cards(offers, "does_not_fit", "gib")}
    by_id = {offer.lever.id: offer for offer in offers}
    fused, small = cards["fused_optimizer"], cards["smaller_batch"]
    assert fused.saving.startswith("−")
    assert fused.applies
    assert not fused.is_on
    assert fused.then == by_id["fused_optimizer"].verdict
    assert not small.applies
    assert small.caption == "The micro-batch is 1 already"
    assert small.saving == ""
    assert "not applicable" in small.spoken


def test_a_lever_that_takes_memory_says_so_on_its_card() -> None:
    # Whether it does is the estimate's to know: the offer's saving is the difference of two of them.
    scenario = replaced(new_plan().scenarios[0], "training.weights_dtype", "fp32")
    scenario = replaced(replaced(scenario, "training.autocast", "bf16"), "training.optimizer_impl", "fused")
    offers = {offer.lever.id: offer for offer in lever_offers(scenario)}
    assert offers["autocast"].saving_bytes < 0
    card = {card.id: card for card in lever_cards(tuple(offers.values()), "does_not_fit", "gib")}["autocast"]
    assert card.is_on
    assert card.saving.startswith("+")
    assert card.caption == "Takes more, 16-bit products"


def test_a_saving_that_nobody_could_see_is_none() -> None:
    offers = lever_offers(replaced(new_plan().scenarios[0], "training.sequence_length", 256))
    for card, offer in zip(lever_cards(offers, "tight", "gib"), offers, strict=True):
        assert card.saving == "0" or not offer.saves_nothing or not card.applies


def test_every_choice_of_a_shown_field_has_a_title() -> None:
    for path in all_fields():
        facts = facts_at(Scenario, path)
        if facts.kind == "choice":
            assert set(facts.choices) <= set(CHOICE_TITLES), path


def test_every_field_of_a_scenario_can_be_shown() -> None:
    # What the plan can hold, the panel can show; a config is shown by its file, and the scenario's name by its tab.
    def leaves(model: type, under: str = "") -> set[str]:
        found = set()
        for name in model.model_fields:  # type: ignore[attr-defined]  # a pydantic model
            path = f"{under}.{name}" if under else name
            section = facts_at(Scenario, path).section
            found |= leaves(section, path) if section else {path}
        return found

    assert leaves(Scenario) - set(all_fields()) == {"name", "model.config"}
    assert set(all_fields()) <= leaves(Scenario)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_a_preset_sets_what_it_says(preset: object) -> None:
    from memplan import estimate, replaced

    assert preset in PRESETS
    scenario = new_plan().scenarios[0]
    for path, value in edits_for(preset, scenario).items():  # type: ignore[arg-type]  # one of PRESETS
        scenario = replaced(scenario, path, value)
    assert preset_of(scenario) == preset
    # The articles' arithmetic: 16, 12, 16, 8 and 2 bytes per parameter for the cases A to E.
    assert estimate(scenario).recipe.bytes_per_parameter == pytest.approx(preset.bytes_per_parameter)  # type: ignore[attr-defined]


def test_choosing_a_training_recipe_leaves_inference() -> None:
    from memplan import replaced

    scenario = replaced(new_plan().scenarios[0], "training.method", "inference")
    assert edits_for(PRESETS[0], scenario)["training.method"] == "full"


def test_a_recipe_of_ones_own_follows_no_preset() -> None:
    from memplan import replaced

    assert preset_of(replaced(new_plan().scenarios[0], "training.gradients_dtype", "fp32")) is None


def test_ticks_are_round_and_the_last_names_the_unit() -> None:
    ticks = value_ticks(0, 90 * GIB, "gib", 6)
    assert [tick.label for tick in ticks] == ["0", "20", "40", "60", "80 GiB"]
    assert ticks[1].num_bytes == 20 * GIB
    for most in range(4):  # large text, a low chart: one tick alone gives no measure
        assert sum(bool(tick.label) for tick in value_ticks(0, 84 * GIB, "gib", most)) >= 2
    small = value_ticks(0, 0.9 * GB, "gb", 5)
    assert [tick.label for tick in small] == ["0.0", "0.2", "0.4", "0.6", "0.8 GB"]
    assert step_of(90, 6) == 20


def test_the_scale_follows_what_is_shown() -> None:
    end = axis_end(80.0, 75.0, 0.1)
    assert end > 80
    assert not is_too_wide(end, end)
    assert not is_too_wide(end, axis_end(81.0, 75.0, 0.1))
    assert is_too_wide(end, axis_end(60.0, 38.0, 0.1))
    assert is_far_too_wide(10_000.0, 80.0)


def test_amounts_of_memory_are_read_in_both_units() -> None:
    assert parse_bytes("1.5", "gib") == 3 * GIB // 2
    assert parse_bytes("800 MB", "gib") == 800_000_000
    assert parse_bytes("2gib", "gb") == 2 * GIB
    assert parse_bytes(bytes_text(3 * GIB // 2, "gib"), "gb") == 3 * GIB // 2
    with pytest.raises(ValueError, match="not an amount of memory"):
        parse_bytes("lots", "gib")


def test_fractions_are_read_as_per_cent() -> None:
    # The field shows "5%", so that a bare number can only mean per cent, below one as well.
    assert parse_fraction("5%") == parse_fraction("5 %") == parse_fraction("5") == 0.05
    assert parse_fraction("0.5") == 0.005
    assert parse_fraction("1") == 0.01
    assert parse_fraction(fraction_text(0.001)) == 0.001
    with pytest.raises(ValueError, match="not a share"):
        parse_fraction("five")


def test_names_become_tabs_and_files() -> None:
    assert tab_text("QLoRA, rank 16, checkpointing, 8,192 tokens").endswith("8,192 tokens")
    assert tab_text("x" * 80)[14:16] == "x…"
    assert tab_text("  ") == "unnamed"
    assert file_stem("Llama 3.1 8B, SFT", "a/b") == "Llama-3.1-8B-SFT-a-b"
    assert file_stem("…") == "plan"
    assert grouped(8_030_261_248) == "8,030,261,248"


def test_presenters_need_no_qt() -> None:
    # A subprocess, for this one has Qt loaded already; it shows lazy and indirect imports too.
    code = (
        "import sys, pkgutil, importlib, memplan_gui.presenters as presenters\n"
        "for module in pkgutil.iter_modules(presenters.__path__, 'memplan_gui.presenters.'):\n"
        "    importlib.import_module(module.name)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('PySide6', 'shiboken6', 'pyqtgraph')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


def test_verdicts_all_have_words() -> None:
    from memplan import VERDICT_TITLES, Verdict
    from memplan_gui.presenters.verdict import ICONS

    assert set(get_args(Verdict)) == set(ICONS) == set(VERDICT_TITLES)
