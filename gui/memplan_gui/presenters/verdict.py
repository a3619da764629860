"""The verdict in words: what stands in the bar above the chart."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import (
    Estimate,
    Need,
    Unit,
    Verdict,
    basis_sentence,
    format_bytes,
    host_sentence,
    host_words,
    measured_words,
    number,
    pinned_sentence,
    stage_sentence,
    stage_words,
    tr,
    usable_words,
    verdict_tone,
    verdict_words,
)

ICONS: dict[Verdict, str] = {
    "fits": "verdict-fits",
    "tight": "verdict-tight",
    "does_not_fit": "verdict-does-not-fit",
}


@dataclass(frozen=True, slots=True)
class VerdictView:
    """What the bar shows, from loud to quiet."""

    icon: str
    role: str
    """The colour role of icon and word."""
    word: str
    margin: str
    detail: str
    recipe: str
    basis: str
    basis_sentence: str
    band: str
    """What the range of the need means."""
    sentence: str
    """The whole verdict, for a screen reader."""
    measured: str = ""
    """What a run was seen to take, and how the estimate differs; empty where nothing was measured."""
    host: str = ""
    """What the run takes of its hosts' memory, in a few words; empty where it takes none."""
    host_sentence: str = ""


def verdict_view(estimate: Estimate, unit: Unit) -> VerdictView:
    """The verdict on one scenario: the core's words, each part in the bar's own voice."""
    found = verdict_words(estimate, unit)
    usable_line = f"{usable_words(estimate, unit)}." if estimate.usable_from else ""
    return VerdictView(
        icon=ICONS[verdict_tone(estimate)],
        role=verdict_tone(estimate),
        word=found.word,
        margin=found.margin or tight_margin(estimate, unit),
        detail=" · ".join(filter(None, (found.detail, estimate.device_name, stage_words(estimate)))),
        recipe=recipe_words(estimate),
        basis=estimate.basis,
        basis_sentence=_capital(basis_sentence(estimate)),
        band="\n".join(filter(None, (band_words(estimate.need, unit), usable_line, stage_lines(estimate, unit)))),
        sentence=f"{found.sentence}.",
        measured=measured_line(estimate, unit),
        host=host_words(estimate, unit),
        host_sentence=host_lines(estimate, unit),
    )


def recipe_words(estimate: Estimate) -> str:
    """What the estimate assumed: dtypes, and the bytes per parameter that follow."""
    size = number(estimate.recipe.bytes_per_parameter, ".3g")
    return tr("{recipe}: {size} bytes per parameter").format(recipe=estimate.recipe.text, size=size)


def measured_line(estimate: Estimate, unit: Unit) -> str:
    """What a run was seen to take, and how the estimate differs; empty where nothing was measured."""
    words = measured_words(estimate, unit)
    return tr("Measured (diamonds in the chart): {words}").format(words=words) if words else ""


def stage_lines(estimate: Estimate, unit: Unit) -> str:
    """Which stage of a pipeline is the fullest and why; empty without a pipeline."""
    words = stage_sentence(estimate, unit)
    return tr("The fullest devices are those of {words}.").format(words=words) if words else ""


def host_lines(estimate: Estimate, unit: Unit) -> str:
    """What the run takes of its hosts' memory, of what, and how much is page-locked; empty where it takes none."""
    words = host_sentence(estimate, unit)
    if not words:
        return ""
    held = tr("On the host: {words}.").format(words=words)
    return "\n".join(filter(None, (held, pinned_sentence(estimate, unit))))


def band_words(need: Need, unit: Unit) -> str:
    """What the range of the need means, low to high."""
    low, high = format_bytes(need.low, unit), format_bytes(need.high, unit)
    words = tr("The need, low to high: {low} to {high}. What fragmentation and the context add, measured.")
    return words.format(low=low, high=high)


def tight_margin(estimate: Estimate, unit: Unit) -> str:
    """How far the band of the need reaches to either side of the usable line."""
    free, over = estimate.usable_bytes - estimate.need.low, estimate.need.high - estimate.usable_bytes
    return tr("{free} free to {over} over").format(free=format_bytes(free, unit), over=format_bytes(over, unit))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
