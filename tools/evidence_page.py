"""The Evidence page: tables of what estimates were held against, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memplan.evidence import (
    EvidenceFigure,
    EvidenceGroup,
    EvidenceRow,
    MeasuredEvidence,
    case_title,
    error_words,
    evidence_groups,
    figure_of,
)

GENERATION_COLUMNS = {
    "loaded": "loaded",
    "prefill_peak": "prefill",
    "decode_peak": "decode",
    "kv_cache": "KV cache",
    "peak": "peak",
}
COLUMNS = {
    "loaded": "loaded",
    "forward_peak": "forward",
    "backward_peak": "backward",
    "step_peak": "optimizer step",
    "peak": "peak",
}
"""The instants that the tables of groups show, and their titles; the first table has all of them."""
FURTHEST = 15

_INTRODUCTION = """# Evidence

What memplan's estimates were held against, and how far off they are. This page is made from the cases that the tests
run, with the engine that comes with it: `python -m tools.make_evidence`. A test fails when it is out of date.

Figures are errors without their sign, as a percentage of the truth: "0.02 / 0.11" is the median and the worst. Each
group names its worst case over all instants, and the instant. `memplan evidence` prints the tables, and `memplan
evidence PLAN` the cases nearest to each scenario.
"""

_TRACES = """## Traces of the framework's own code

{count} set-ups of {families} families of models. Each builds the real model of transformers, or of the stack that it
names, runs two training steps with the real autograd and optimizer on tensors without data, and counts every storage
from the operation that makes it until its last reference goes, in the allocator's blocks. Python 3.11, torch 2.13,
transformers 5.24, peft 0.21. Parameters, trained and in all, are counted exactly in {counted} of the {count}.
"""

_GENERATION = """### Generating text

{count} set-ups of {families} families: a prompt is read and the next token made with transformers' cache of keys and
values, as `generate` does it, without gradients. On devices it decodes with copies of the chosen experts' matrices, and
so do these.
"""

_RUNS = """## Runs on real devices

{count} published runs of which the tensors' bytes are known: the most that the framework's allocator counted. The
tables hold the {exact} whose every important setting is known; of the rest something has to be guessed, and they stand
in the data alone. What older libraries do otherwise is part of the estimate where memplan models it.
"""

_VERDICTS = """### Verdicts

Of the runs on a known card, some of which ran out of memory, the verdict is right for {right}, "tight" for {tight} and
wrong for {wrong}:
"""

_BAND = """### What the device's monitor shows

More than the tensors: the context, and what the allocator keeps though nothing uses it. The band is right where the
monitor's figure stands inside it. "Without it": the same, with the band's upper edge fitted to the other sources alone,
so that no source says yes to itself. The width is the median, as a share of the likely figure.
"""


def page(traced: Sequence[EvidenceRow], measured: MeasuredEvidence) -> str:
    """The page's text."""
    exact = [row for row in measured.rows if row.exact]
    generated = [row for row in traced if "decode_peak" in row.errors]
    traced = [row for row in traced if "decode_peak" not in row.errors]
    families = {row.family for row in traced}
    blocks = [
        _INTRODUCTION,
        _TRACES.format(count=len(traced), families=len(families), counted=sum(row.counts for row in traced)),
        _every_instant(traced),
        "### By set-up\n",
        _groups("Set-up", evidence_groups(traced, "set_up")),
        "### By source\n",
        _groups("Source", evidence_groups(traced, "source")),
        "### By family\n",
        _groups("Family", evidence_groups(traced, "family")),
        "### Furthest off\n",
        _furthest(traced),
        _GENERATION.format(count=len(generated), families=len({row.family for row in generated})),
        _every_instant(generated),
        "By family:\n",
        _groups("Family", evidence_groups(generated, "family"), GENERATION_COLUMNS),
        _RUNS.format(count=len(measured.rows), exact=len(exact)),
        _runs("Source", evidence_groups(measured.rows, "source")),
        "By set-up:\n",
        _runs("Set-up", evidence_groups(measured.rows, "set_up")),
        "By family:\n",
        _runs("Family", evidence_groups(measured.rows, "family")),
        "### Known to be off\n",
        _known(exact),
        _verdicts(measured),
        _BAND,
        _bands(measured),
    ]
    return "\n".join(blocks)


def _every_instant(rows: Sequence[EvidenceRow]) -> str:
    (group,) = evidence_groups(rows, "all")
    table = []
    for instant, figure in group.figures.items():
        worst = max(rows, key=lambda row, name=instant: abs(row.errors[name]))  # type: ignore[misc]
        figures = [_percent(one) for one in (figure.median, figure.high, figure.worst)]
        table.append([_words(instant), *figures, worst.title])
    return _table(["Instant", "Median", "95%", "Worst", "Worst case"], table, right=(1, 2, 3))


def _groups(title: str, groups: Iterable[EvidenceGroup], columns: Mapping[str, str] = COLUMNS) -> str:
    header = [title, "Cases", *columns.values(), "Worst case"]
    rows = [
        [group.name, str(group.cases), *(_pair(group.figures[instant]) for instant in columns), _worst(group)]
        for group in groups
    ]
    return _table(header, rows, right=range(1, 2 + len(columns)))


def _runs(title: str, groups: Iterable[EvidenceGroup]) -> str:
    rows = [
        [group.name, str(group.cases), _pair(group.figures["peak"]), case_title(group.worst_case)] for group in groups
    ]
    return _table([title, "Runs", "Allocated", "Worst case"], rows, right=(1, 2))


def _furthest(rows: Sequence[EvidenceRow]) -> str:
    worst = sorted(rows, key=lambda row: -abs(row.worst[1]))[:FURTHEST]
    table = [
        [row.title, row.family, row.set_up, _words(row.worst[0]), *map(error_words, (row.worst[1], row.error))]
        for row in worst
    ]
    return _table(["Case", "Family", "Set-up", "Instant", "There", "Peak"], table, right=(4, 5))


def _known(rows: Iterable[EvidenceRow]) -> str:
    table = [[row.id, row.set_up, f"{row.error:+.1%}", row.reason] for row in rows if row.reason]
    off = figure_of(row.error for row in rows)
    if not table:
        return f"None: over all exact runs the median is {off.median:.2%}, and the worst {off.worst:.2%}.\n"
    rest = figure_of(row.error for row in rows if not row.reason)
    words = (
        f"Over all exact runs the median is {off.median:.2%}; without those below, {rest.median:.2%}, and the worst "
        f"{rest.worst:.2%}.\n\n"
    )
    return words + _table(["Run", "Set-up", "Off by", "Why"], table, right=(2,))


def _verdicts(measured: MeasuredEvidence) -> str:
    verdicts = measured.verdicts
    words = _VERDICTS.format(right=verdicts.right, tight=verdicts.tight, wrong=len(verdicts.wrong))
    return words + "\n" + _table(["Run", "Why"], [list(item) for item in verdicts.wrong.items()])


def _bands(measured: MeasuredEvidence) -> str:
    rows = [
        [band.source, str(band.runs), str(band.inside), str(band.inside_without), f"{band.width:.0%}"]
        for band in measured.bands
    ]
    totals = [sum(getattr(band, name) for band in measured.bands) for name in ("runs", "inside", "inside_without")]
    rows.append(["all", *map(str, totals), ""])
    return _table(["Source", "Runs", "Inside", "Without it", "Width"], rows, right=(1, 2, 3, 4))


def _worst(group: EvidenceGroup) -> str:
    worst = _percent(group.figures[group.worst_instant].worst)
    return f"{case_title(group.worst_case)} ({_words(group.worst_instant)}, {worst})"


def _words(instant: str) -> str:
    """An instant as people read it; a narrow column can break it."""
    return instant.replace("_", " ")


def _pair(figure: EvidenceFigure) -> str:
    return f"{_percent(figure.median)}\u00a0/\u00a0{_percent(figure.worst)}"  # never on two lines


def _percent(error: float) -> str:
    return f"{error:.2%}".removesuffix("%")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    marks = ["---:" if column in set(right) else "---" for column in range(len(header))]
    lines = [header, marks, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
