"""The estimate's words about the model, and about fields: each with the field that it speaks of."""

from __future__ import annotations

from collections.abc import Collection

from memplan import Estimate, MemplanError, Scenario, facts_at, format_count, number, tr, translated

ROWS_FOR_SECTION: dict[str, tuple[str, ...]] = {
    "model": ("model.catalog", "model.name"),
    "training": ("training.method",),
    "training.lora": ("training.lora.rank",),
    "training.quantization": ("training.quantization.format",),
    "training.inference": ("training.inference.kv_cache",),
    "training.freeze": ("training.freeze.trainable_layers",),
    "hardware": ("hardware.device",),
    "hardware.sharding": ("hardware.sharding.strategy", "hardware.devices"),
    "hardware.offload": ("hardware.offload.optimizer",),
}
"""Where advice goes that speaks of a whole section, or of a field that is not shown."""


def row_for(path: str, shown: Collection[str]) -> str:
    """The row for advice about a path: its own, or one of the nearest section around it; empty when none is shown."""
    while path:
        for row in (path, *ROWS_FOR_SECTION.get(path, ())):
            if row in shown:
                return row
        path = path.rpartition(".")[0]
    return ""


def advice_by_path(estimate: Estimate, shown: Collection[str]) -> dict[str, str]:
    """The advice for each shown row, one sentence under another; under "" what no row can take."""
    advice: dict[str, list[str]] = {}
    for word in estimate.warnings:
        row = row_for(word.path, shown)
        sentences, sentence = advice.setdefault(row, []), f"{field_words(word.path, row)}{word.message}"
        if sentence not in sentences:
            sentences.append(sentence)
    return {row: "\n".join(sentences) for row, sentences in advice.items()}


def advice_lines(estimate: Estimate) -> str:
    """All advice in one text, a line for each: behind the title of its field, where it speaks of one."""
    lines = [f"{field_words(word.path, '')}{word.message}" for word in estimate.warnings]
    return "\n".join(dict.fromkeys(lines))


def field_words(path: str, row: str) -> str:
    """The field that advice speaks of, where it stands under another one; nothing for a whole section.

    >>> field_words("hardware.offload.optimizer", "hardware.device")
    'Offload optimizer: '
    """
    if path == row:
        return ""
    try:
        facts = facts_at(Scenario, path)
    except MemplanError:
        return ""
    return "" if facts.section else f"{translated(facts.title)}: "


def model_caption(estimate: Estimate) -> str:
    """How large the model is, and how much of it trains."""
    parameters = estimate.parameters
    words = [tr("{count} parameters").format(count=format_count(parameters.total))]
    if parameters.active != parameters.total:
        words.append(tr("{count} active").format(count=format_count(parameters.active)))
    if parameters.trainable == parameters.total:
        words.append(tr("all trained"))
    elif parameters.trainable:
        share = _share(parameters.trainable, parameters.total)
        words.append(tr("{count} trained ({share})").format(count=format_count(parameters.trainable), share=share))
    else:
        words.append(tr("none trained"))
    return " · ".join(words)


def _share(part: int, whole: int) -> str:
    return number(part / whole, ".2%") if part * 10 < whole else f"{part / whole:.0%}"
