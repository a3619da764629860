"""What an estimate says, in sentences: the same ones in the window, on the command line and in reports."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from memplan.number_style import number
from memplan.result import Basis, Estimate, Instant, InstantName, Need, StageShare, Verdict
from memplan.translation import tr, tr_later, translated
from memplan.units import UNIT_NAMES, Unit, counted, format_bytes, format_count, to_unit

VERDICT_TITLES: dict[Verdict, str] = {"fits": "Fits", "tight": "Tight", "does_not_fit": "Does not fit"}

AT: dict[InstantName, str] = {
    "loaded": tr_later("once loaded"),
    "forward": tr_later("in forward"),
    "loss": tr_later("at the loss"),
    "backward": tr_later("in backward"),
    "optimizer_step": tr_later("at the optimizer step"),
    "prefill": tr_later("in prefill"),
    "decode": tr_later("in decoding"),
}
_NO_SLOWER = 0.01
"""A change of time below this fraction is none that anyone could measure."""
_MORE_THAN_THE_NEED = 1.01
_BASES: dict[Basis, str] = {
    "traced": tr_later("traced: held against traces of the framework's own code"),
    "measured": tr_later("measured: held against runs on real devices"),
    "published": tr_later("published: follows figures and formulas that others published"),
    "extrapolated": tr_later("extrapolated: in part neither traced nor measured, so take it as a rough figure"),
}


class VerdictWords(NamedTuple):
    """A verdict in words: in a sentence, and in its parts."""

    sentence: str
    word: str
    """Whether it fits."""
    margin: str
    """By how much, either way; empty where that is open."""
    detail: str
    """What it needs of what, and when."""


class Judged(Protocol):
    """An estimate, or a device that one was held against."""

    @property
    def verdict(self) -> Verdict:
        """Of the need and what is usable."""

    @property
    def runs_alone(self) -> bool:
        """Whether the run is divided over devices that cannot share one."""


def verdict_title(found: Judged) -> str:
    """A verdict in a word or two; where a device's share would fit, but its kind cannot share a run, that instead."""
    if found.runs_alone and found.verdict != "does_not_fit":
        return tr("Runs alone")
    return translated(VERDICT_TITLES[found.verdict])


def verdict_tone(found: Judged) -> Verdict:
    """The colour and the mark that go with it."""
    return "does_not_fit" if found.runs_alone else found.verdict


def verdict_sentence(estimate: Estimate, unit: Unit = "gib") -> str:
    """Say whether it fits, by how much, and at which instant it is fullest.

    "Does not fit: needs 84.9 GiB (83.4 to 90.1) of 75.1 GiB usable (9.8 GiB over), at the optimizer step". The figures
    agree with each other as they are printed: the last is the difference of the need and what is usable.
    """
    return verdict_words(estimate, unit).sentence


def verdict_words(estimate: Estimate, unit: Unit = "gib") -> VerdictWords:
    """The same, and its parts: a window shows them in sizes of their own."""
    band, usable = estimate.need, estimate.usable_bytes
    word, when = verdict_title(estimate), peak_words(estimate)
    if verdict_tone(estimate) != estimate.verdict:
        low, high, of = _together([band.low, band.high, usable], unit)
        figures = {"low": low, "high": high, "usable": of, "when": when}
        margin = tr("cannot share a run")
        sentence = tr(
            "Runs alone: devices of this kind cannot share a run, though each needs {low} to {high} of "
            "{usable} usable, {when}"
        )
        detail = tr("Each needs {low} to {high} of {usable} usable, {when}")
        return VerdictWords(sentence.format(**figures), word, margin, detail.format(**figures))
    if estimate.verdict == "tight":
        low, high, of = _together([band.low, band.high, usable], unit)
        sentence = tr("Tight: needs {low} to {high} of {usable} usable, {when}")
        detail = tr("Needs {low} to {high} of {usable} usable, {when}")
        figures = {"low": low, "high": high, "usable": of, "when": when}
        return VerdictWords(sentence.format(**figures), word, "", detail.format(**figures))
    need, low, high, of = _together([estimate.need_bytes, band.low, band.high, usable], unit, with_difference=True)[:4]
    margin = margin_words(estimate.need_bytes, band, usable, unit)
    figures = {
        "need": need,
        "low": low.split()[0],
        "high": high.split()[0],
        "usable": of,
        "margin": margin,
        "when": when,
    }
    fits, has_band = estimate.verdict == "fits", low != high
    detail = tr("Needs {need} of {usable} usable, {when}")
    if has_band:
        detail = tr("Needs {need} ({low} to {high}) of {usable} usable, {when}")
    amount = (tr("{margin} free") if fits else tr("{margin} over")).format(margin=margin)
    return VerdictWords(
        _verdict_template(fits=fits, has_band=has_band).format(**figures), word, amount, detail.format(**figures)
    )


def _verdict_template(*, fits: bool, has_band: bool) -> str:
    if fits and has_band:
        return tr("Fits: needs {need} ({low} to {high}) of {usable} usable ({margin} free), {when}")
    if fits:
        return tr("Fits: needs {need} of {usable} usable ({margin} free), {when}")
    if has_band:
        return tr("Does not fit: needs {need} ({low} to {high}) of {usable} usable ({margin} over), {when}")
    return tr("Does not fit: needs {need} of {usable} usable ({margin} over), {when}")


def usable_words(estimate: Estimate, unit: Unit = "gib") -> str:
    """Say what is usable, and of what: "75.1 GiB usable (79.1 GiB less 5% headroom)"."""
    found, usable = estimate.usable_from, format_bytes(estimate.usable_bytes, unit)
    if found is None or not (found.others_bytes or found.headroom):
        return tr("{usable} usable").format(usable=usable)
    words = tr("{usable} usable ({given} less {others} of other programs and {headroom}% headroom)")
    if not found.others_bytes:
        words = tr("{usable} usable ({given} less {headroom}% headroom)")
    elif not found.headroom:
        words = tr("{usable} usable ({given} less {others} of other programs)")
    return words.format(
        usable=usable,
        given=format_bytes(found.given_bytes, unit),
        others=format_bytes(found.others_bytes, unit),
        headroom=number(found.headroom * 100, ".3g"),
    )


def peak_words(estimate: Estimate) -> str:
    """Say when the peak stands: "at the optimizer step", "in backward of the first step"."""
    return instant_words(estimate.peak, only_first=estimate.peak.step == 1 and not _peaks_later_too(estimate))


def instant_words(instant: Instant, *, only_first: bool = False) -> str:
    """Say when an instant is, as a sentence goes on: "in backward"."""
    when = translated(AT[instant.name])
    return tr("{when} of the first step").format(when=when) if only_first else when


def place_words(instant: Instant) -> str:
    """Say where inside an instant its fullest moment is: "in layer 31 of 32"; empty where the instant says it all."""
    where = instant.where
    if not where or instant.name == "loss":
        return ""
    if where == "loss":
        return "at the loss's gradient"
    if where.startswith("layer "):
        return f"in {where}"
    return f"while {where}" if where.startswith(("gathering", "reducing")) else f"at the {where}"


def basis_sentence(estimate: Estimate) -> str:
    """Say how well the estimate is founded."""
    return translated(_BASES[estimate.basis])


def model_sentence(estimate: Estimate) -> str:
    """Say which model, how large, and how much of it trains: "Llama-3.1-8B: 8.03B parameters, all of them trained"."""
    counts = estimate.parameters
    words = f"{estimate.model_name}: {counted(counts.total, 'parameter')}"
    if counts.active != counts.total:
        words += f", {format_count(counts.active)} active for a token"
    if counts.trainable == counts.total:
        return f"{words}, {'trained' if counts.total == 1 else 'all of them trained'}"
    if counts.trainable == 0:
        return f"{words}, {'not' if counts.total == 1 else 'none of them'} trained"
    share = counts.trainable / counts.total
    return f"{words}, {format_count(counts.trainable)} trained ({number(share, '.2%')})"


def process_sentence(estimate: Estimate, unit: Unit = "gib") -> str:
    """Say what the device's monitor will likely show, of what where it is more than is usable, and why it may be more.

    Empty for a run that the whole device is too small for: it ends before there is anything to see.
    """
    if estimate.verdict == "does_not_fit" and estimate.process.high <= estimate.need.low:
        return ""
    low, high = _together([estimate.process.low, estimate.process.high], unit)
    words, found = tr("the device's monitor will likely show {low} to {high}"), estimate.usable_from
    given = ""
    if found is not None and min(estimate.process.high, found.given_bytes) > estimate.usable_bytes:
        words = tr("the device's monitor will likely show {low} to {high} of the device's {given}")
        given = format_bytes(found.given_bytes, unit)
    seen = words.format(low=low, high=high, given=given)
    if estimate.process.high <= estimate.need.high * _MORE_THAN_THE_NEED:
        return seen
    return tr("{seen}. What is beyond the need is cache: the run can do without it.").format(seen=seen)


def stage_words(estimate: Estimate) -> str:
    """Say which stage of a pipeline the estimate is of: "stage 1 of 4"; empty without a pipeline."""
    if not estimate.stages:
        return ""
    first = estimate.stages[0]
    return tr("stage {number} of {count}").format(number=number(first.rank + 1), count=number(first.ranks))


def stage_sentence(estimate: Estimate, unit: Unit = "gib") -> str:
    """Say which stage is the fullest and what it has, and what the others hold; empty without a pipeline.

    "stage 1 of 4: layers 1 to 8 and the embeddings, 4 micro-batches in flight, 24.5 GiB of tensors; 22.1 GiB on stage 4
    (layers 25 to 32, head and loss, 1 in flight)".
    """
    if not estimate.stages:
        return ""
    fullest, *others = estimate.stages
    many = "1 micro-batch" if fullest.in_flight == 1 else f"{number(fullest.in_flight)} micro-batches"
    words = f"{stage_words(estimate)}: {_parts_of(fullest)}, {many} in flight"
    words += f", {format_bytes(fullest.peak_bytes, unit)} of tensors"
    for other in others[:2]:
        which = (
            f"stage {number(other.rank + 1)}"
            if other.alike == 1
            else f"the {number(other.alike)} from stage {number(other.rank + 1)} on"
        )
        size = format_bytes(other.peak_bytes, unit)
        words += f"; {size} on {which} ({_parts_of(other)}, {number(other.in_flight)} in flight)"
    return words


def _parts_of(stage: StageShare) -> str:
    first, last = stage.first_layer + 1, stage.first_layer + stage.layers
    words = f"layer {number(first)}" if stage.layers == 1 else f"layers {number(first)} to {number(last)}"
    if stage.has_embeddings:
        words += " and the embeddings"
    return f"{words}, head and loss" if stage.has_head else words


def host_sentence(estimate: Estimate, unit: Unit = "gib") -> str:
    """Say what lives in the hosts' memory: "15.0 GiB for each device, 120 GiB for the 8 of a node"; empty if nothing.

    The program's own memory and what loads the data come on top.
    """
    host = estimate.host
    if not host.device_bytes:
        return ""
    words = format_bytes(host.device_bytes, unit)
    if host.devices_on_node > 1:
        words += (
            f" for each device, {format_bytes(host.node_bytes, unit)} for the {number(host.devices_on_node)} of a node"
        )
    held = ", ".join(f"{term} {format_bytes(size, unit)}" for term, size in host.bytes_by_term.items())
    return f"{words} ({held})" if len(host.bytes_by_term) > 1 else f"{words} ({held.rsplit(' ', 2)[0]})"


def host_words(estimate: Estimate, unit: Unit = "gib") -> str:
    """The same in a few words: "120 GiB a node"; empty if nothing lives there."""
    host = estimate.host
    if not host.device_bytes:
        return ""
    words = tr("{size} a node") if host.devices_on_node > 1 else "{size}"
    return words.format(size=format_bytes(host.node_bytes, unit))


def pinned_sentence(estimate: Estimate, unit: Unit = "gib") -> str:
    """Say how much of it is page-locked, and what that means; empty if nothing is."""
    host = estimate.host
    if not host.pinned_bytes:
        return ""
    words = tr(
        "{size} of it is page-locked, in blocks rounded up to powers of two: up to twice as much is taken."
    ).format(size=format_bytes(host.pinned_bytes, unit))
    if host.pinned_bytes == host.device_bytes:
        words = tr("All of it is page-locked, in blocks rounded up to powers of two: up to twice as much is taken.")
    return words


def _peaks_later_too(estimate: Estimate) -> bool:
    """Whether every later step is as full as the first one."""
    return any(instant.total_bytes >= estimate.peak.total_bytes for instant in estimate.instants)


def margin_words(need_bytes: int, need: Need, usable_bytes: int, unit: Unit = "gib") -> str:
    """Write how far a need is from what is usable, either way, as its verdict does: "13.8 GiB".

    >>> margin_words(5 * 2**30, Need(5 * 2**30, 5 * 2**30), 8 * 2**30)
    '3.00 GiB'
    """
    return _together([need_bytes, need.low, need.high, usable_bytes], unit, with_difference=True)[-1]


def _together(amounts: list[int], unit: Unit, *, with_difference: bool = False) -> list[str]:
    """Write amounts with the same number of decimals, so that they can be compared: as many as their largest has,
    and one where only the smallest has one: what is usable is "75.1 GiB" beside a need of 120 as anywhere else.
    """
    values = [to_unit(amount, unit) for amount in amounts]
    whole = min(values) >= 99.95 or max(values) >= 9999.5
    first_decimals = 0 if whole else 1 if max(values) >= 9.995 else 2
    for decimals in range(first_decimals, 4):
        rounded = [round(value, decimals) for value in values]
        difference = abs(rounded[0] - rounded[-1])
        if not with_difference or difference >= 10.0**-decimals / 2:
            break  # Otherwise the difference would read as none: one more decimal.
    shown = [*rounded, difference] if with_difference else rounded
    comma = "," if max(values) >= 9999.5 else ""
    return [f"{number(value, f'{comma}.{decimals}f')} {UNIT_NAMES[unit]}" for value in shown]


def slowdown_words(slowdown: float) -> str:
    """Write a ratio of times as a difference: what steps take longer, or less.

    >>> slowdown_words(1.314), slowdown_words(1.004), slowdown_words(0.667), slowdown_words(3.24)
    ('+31% time', 'no slower', '−33% time', '+224% time')
    """
    if abs(slowdown - 1) < _NO_SLOWER:
        return tr("no slower")
    sign = "+" if slowdown > 1 else "−"
    return tr("{change} time").format(change=f"{sign}{number(abs(slowdown - 1), ',.0%')}")


def slowdown_sentence(slowdown: float) -> str:
    """The same as a sentence; empty where time is no cost.

    >>> slowdown_sentence(1.314), slowdown_sentence(1.001), slowdown_sentence(0.667), slowdown_sentence(3.24)
    ('Steps take about 31% longer.', '', 'Steps take about 33% less.', 'Steps take about 3.2 times as long.')
    """
    if abs(slowdown - 1) < _NO_SLOWER:
        return ""
    if slowdown >= 2:
        times = number(slowdown, ".1f" if slowdown < 10 else ",.0f")
        return tr("Steps take about {times} times as long.").format(times=times)
    words = tr("Steps take about {share} longer.") if slowdown > 1 else tr("Steps take about {share} less.")
    return words.format(share=f"{abs(slowdown - 1):.0%}")


def saving_words(saving_bytes: int, unit: Unit = "gib") -> str:
    """Write a saving with its sign: "−15.0 GiB" takes less memory, "+0.40 GiB" more."""
    return format_bytes(-saving_bytes, unit, signed=True)
