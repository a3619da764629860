"""Reports. What is right: every figure of the estimate is in them, once, and a strict reader of the format reads them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest

from memplan.errors import MemplanError
from memplan.plan.edit import replaced
from memplan.plan.hardware import Hardware
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario
from memplan.plan.training import Freeze, Lora, Training
from memplan.report import REPORT_FORMATS, report
from memplan.report.csv_rows import as_csv
from memplan.report.markdown import as_markdown
from memplan.report.set_up import batch_words, devices_words, sharding_words, training_words
from memplan.report.tables import instant_table
from memplan.units import GIB
from tests.core.made_estimates import TERMS_AT, made_estimate, made_instants

SCENARIO = Scenario(name="baseline", model=ModelChoice(catalog="a"))
PLAN = Plan(title="Llama | 3.1 *8B*", notes="Why?\n\nBecause.", scenarios=(SCENARIO,))


def test_markdown_tells_everything() -> None:
    text = as_markdown(PLAN, (made_estimate(),), "gib")
    assert text.startswith("# Llama \\| 3.1 \\*8B\\*\n\n> Why?\n>\n> Because.\n\n## baseline\n")
    assert (
        "**Does not fit: needs 75.5 GiB (75.4 to 75.6) of 75.1 GiB usable (0.4 GiB over), at the optimizer step.**"
        in text
    )
    assert "- Recipe: bf16 weights, bf16 gradients, bf16 AdamW states = 8 bytes per parameter" in text
    assert "- Basis: traced: " in text
    assert "|  | Loaded | Forward | Loss | Backward | Optimizer step |" in text
    assert "| temporary buffers |  |  |  |  | 15.00 |" in text
    assert "| total | 15.50 | 50.50 | 52.50 | 61.50 | **75.50** |" in text
    assert "| weights | 15.0 GiB | 15.0 GiB | 8,030,261,248 × 2 = 16,060,522,496 | counted |" in text
    assert "- Attention: an assumption" in text
    assert "\n\nThe peak is at the optimizer step.\n" in text
    assert text.endswith("1 GiB = 1,073,741,824 bytes\n")


def test_a_peak_in_backward_is_not_said_to_stand_at_the_loss() -> None:
    backward = replace(made_instants(2)[3], where="loss")
    text = as_markdown(PLAN, (made_estimate(instants=(backward,), peak=backward),), "gib")
    assert "\n\nThe peak is in backward, at the loss's gradient.\n" in text


def test_every_row_of_a_markdown_table_has_the_cells_of_its_header() -> None:
    text = as_markdown(PLAN, (made_estimate(),), "gib")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 2
    for table in tables:
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(cells) == 1, table


def test_the_unit_is_the_one_that_was_asked_for() -> None:
    text = as_markdown(PLAN, (made_estimate(),), "gb")
    assert "needs 81.1 GB (81.0 to 81.2) of 80.6 GB usable (0.5 GB over)" in text
    assert "GiB" not in text
    assert "| 16.11 |" in text  # 15 GiB


def test_several_scenarios_have_an_overview() -> None:
    plan = Plan(scenarios=(SCENARIO, Scenario(name="smaller", model=ModelChoice(catalog="a"))))
    text = as_markdown(plan, (made_estimate(), made_estimate(60.0, name="smaller")), "gib")
    assert (
        "| baseline | Does not fit | needs 75.5 GiB (75.4 to 75.6) of 75.1 GiB usable (0.4 GiB over), at the optimizer step |"
        in text
    )
    assert (
        "| smaller | Fits | needs 60.0 GiB (59.9 to 60.1) of 75.1 GiB usable (15.1 GiB free), at the optimizer step |"
        in text
    )


def test_csv_has_every_amount_of_every_instant_of_both_steps() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(PLAN, (made_estimate(),), "gib"))))
    later = [row for row in rows if row["step"] != "1"]
    assert {(row["instant"], row["term"]): int(row["bytes"]) for row in later} == {
        (instant, term): round(gib * GIB) for instant, terms in TERMS_AT.items() for term, gib in terms.items()
    }
    assert len(rows) == len(later) + sum(len(TERMS_AT[name]) for name in TERMS_AT if name != "loaded")
    assert {row["instant"] for row in rows if row["is_peak"] == "yes"} == {"optimizer_step"}
    assert {row["step"] for row in rows if row["is_peak"] == "yes"} == {"2"}
    row = rows[0]
    assert (row["scenario"], row["verdict"], row["basis"], row["parameters"]) == (
        "baseline",
        "does_not_fit",
        "traced",
        "8030261248",
    )
    assert float(row["gib"]) == pytest.approx(int(row["bytes"]) / GIB, abs=1e-6)


def test_a_name_is_never_a_formula_in_a_spreadsheet() -> None:
    plan = Plan(scenarios=(Scenario(name="=HYPERLINK(1)", model=ModelChoice(catalog="a")),))
    rows = list(csv.DictReader(io.StringIO(as_csv(plan, (made_estimate(),), "gib"))))
    assert {row["scenario"] for row in rows} == {"'=HYPERLINK(1)"}


def test_a_name_is_on_one_line_of_a_spreadsheet_and_nothing_obeys_it() -> None:
    plan = Plan(scenarios=(Scenario(name="\x1b[31mred\ufffe", model=ModelChoice(catalog="a")),))
    rows = list(csv.DictReader(io.StringIO(as_csv(plan, (made_estimate(),), "gib"))))
    assert {row["scenario"] for row in rows} == {"\\x1b[31mred\\ufffe"}


@pytest.mark.parametrize(
    ("notes", "written"),
    [
        ("<script>alert(1)</script>", "> &lt;script>alert(1)&lt;/script>"),
        ("\\<img src=x>", "> \\&lt;img src=x>"),
        ("![seen](http://example.com/a.png)", "> &#33;[seen](http://example.com/a.png)"),
        ("- seq < 4096, *why* [not](http://example.com)", "> - seq < 4096, *why* [not](http://example.com)"),
    ],
)
def test_notes_are_markdown_that_runs_and_fetches_nothing(notes: str, written: str) -> None:
    """HTML in Markdown begins with `<` and a letter, `/`, `!` or `?` (CommonMark 0.31, 6.6); `![` is a picture (6.4)."""
    plan = Plan(title="t", notes=notes, scenarios=(Scenario(name="s", model=ModelChoice(catalog="a")),))
    assert f"\n\n{written}\n\n" in as_markdown(plan, (made_estimate(),), "gib")


def test_a_format_that_there_is_not_says_which_there_are() -> None:
    assert REPORT_FORMATS == ("md", "csv", "html")
    with pytest.raises(MemplanError, match=r"there is no report in format 'pdf'; there are md, csv and html\."):
        report(PLAN, ".pdf")
    with pytest.raises(MemplanError, match="there are md, csv and html"):
        report(PLAN, "")


def test_the_table_is_of_the_fuller_step() -> None:
    estimate = made_estimate()
    assert [instant.step for instant in instant_table(estimate).instants] == [0, 2, 2, 2, 2]
    first = made_instants(1)
    only_first = made_estimate(peak=first[-1], instants=estimate.instants[:-1])
    table = instant_table(only_first)
    assert [instant.step for instant in table.instants] == [0, 1, 1, 1, 1]
    assert table.peak_column == 4


@pytest.mark.parametrize(
    ("training", "words"),
    [
        (Training(), "full fine-tuning, AdamW (foreach), no checkpointing, SDPA attention, Transformers kernels"),
        (
            Training(method="qlora", lora=Lora(rank=8, targets=("q_proj", "v_proj")), checkpointing="full", gradient_accumulation=4),
            "QLoRA of rank 8 on q_proj, v_proj, AdamW (foreach), checkpointing of every layer, SDPA attention, Transformers kernels",
        ),
        (Training(method="freeze", freeze=Freeze(trainable_layers=2)), "fine-tuning of the last layers (2), AdamW (foreach), no checkpointing, SDPA attention, Transformers kernels"),
        (
            Training(method="inference", loss="fused", kernels="liger", kernels_version="0.5"),
            "inference with a KV cache, SDPA attention, Liger 0.5 kernels",
        ),
    ],
)  # fmt: skip
def test_the_training_in_words(training: Training, words: str) -> None:
    assert training_words(training) == words


def test_the_batch_is_worked_out_to_tokens_for_a_step() -> None:
    two_nodes = replaced(replaced(SCENARIO, "hardware.devices", 16), "training.sequence_length", 8192)
    added_up = replaced(two_nodes, "training.gradient_accumulation", 4)
    # 1 sequence × 4 micro-batches × 16 devices that see different data; 64 × 8,192 = 524,288.
    words = "micro-batch 1 × accumulation 4 × 16 data-parallel = 64 sequences of 8,192 tokens: 524,288 tokens a step"
    assert batch_words(added_up) == words
    divided = replaced(added_up, "hardware.tensor_parallel", 8)  # 8 devices share a sequence: 2 groups are left
    assert "× 2 data-parallel = 8 sequences" in batch_words(divided)
    assert batch_words(SCENARIO) == "1 sequence of 2,048 tokens: 2,048 tokens a step"


@pytest.mark.parametrize(
    ("devices", "words"),
    [(1, "H100"), (8, "8 × H100"), (16, "2 nodes × 8 H100"), (12, "12 × H100 in 2 nodes of up to 8")],
)
def test_devices_are_told_by_node(devices: int, words: str) -> None:
    assert devices_words(Hardware(devices=devices, devices_per_node=8), "H100") == words


def test_sharding_is_told_in_words() -> None:
    def words(**sharding: object) -> str:
        return sharding_words(Hardware.model_validate({"devices": 16, "sharding": sharding}))

    whole = "FSDP2: weights, gradients and optimizer states divided among 16"
    assert words(strategy="fsdp2") == f"{whole}; reshard after forward; mixed precision"
    assert words(strategy="fsdp2", reshard_after_forward=False).endswith("; no reshard after forward; mixed precision")
    assert words(strategy="zero1") == "ZeRO-1: optimizer states divided among 16"
    assert words(strategy="ddp") == "DDP: nothing divided, the same on each of 16"
    assert words(strategy="none") == ""
