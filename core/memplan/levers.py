"""Levers: changes a person can make to a scenario, what each saves now, and what it costs.

A lever's saving is not a constant of the lever: it is the difference of two estimates of this scenario, so it accounts
for everything else that is set, and for where the peak stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.plan.edit import replaced, value_at
from memplan.plan.scenario import Scenario
from memplan.plan.training import Optimizer
from memplan.result import Estimate, Verdict
from memplan.sentences import peak_words
from memplan.units import Unit, format_bytes

State = Literal["on", "off", "not_applicable"]

_FUSED: tuple[Optimizer, ...] = ("adamw", "sgd", "sgd_momentum", "adagrad")
"""PyTorch has a fused kernel for these (torch.optim, argument `fused`)."""
_SMALL = 0.001
"""A change of the need below this fraction is none that anyone could see."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One change that a person can make.

    Args:
        id: what programs call it.
        title: what a person reads on the toggle.
        price: what it costs, a sentence.
        source: where the price is known from.
        on: path inside the scenario → value, for everything that it sets.
        off: path → value, for taking it away again.
        is_on: says whether a scenario uses it already.
        why_not: says why it cannot be used with a scenario; None where it can.
    """

    id: str
    title: str
    price: str
    source: str
    on: Callable[[Scenario], Mapping[str, Any]]
    off: Mapping[str, Any]
    is_on: Callable[[Scenario], bool]
    why_not: Callable[[Scenario], str | None]

    def applies(self, scenario: Scenario) -> str | None:
        """Why the scenario cannot use it, in words; None where it can."""
        if scenario.training.method == "inference":
            return "inference trains nothing"
        return None if self.is_on(scenario) else self.why_not(scenario)

    def changes(self, scenario: Scenario) -> dict[str, Any]:
        """What toggling it sets: path inside the scenario → value."""
        return dict(self.off if self.is_on(scenario) else self.on(scenario))

    def apply(self, scenario: Scenario) -> Scenario:
        """The scenario with the lever on."""
        return scenario if self.is_on(scenario) else _changed(scenario, self.on(scenario))

    def remove(self, scenario: Scenario) -> Scenario:
        """The scenario without the lever; what it had set goes to what is usual without it."""
        return _changed(scenario, self.off) if self.is_on(scenario) else scenario


@dataclass(frozen=True, slots=True)
class LeverOffer:
    """What a lever does for one scenario now.

    `saving_bytes` is what it saves of the need: already, where it is on; if it were turned on, where it is off.
    Negative where it takes more. `scenario`, `need_bytes` and `verdict` are those after toggling it, and None where the
    lever does not apply.
    """

    lever: Lever
    state: State
    saving_bytes: int
    sentence: str
    scenario: Scenario | None = None
    need_bytes: int | None = None
    verdict: Verdict | None = None


def lever_offers(scenario: Scenario, now: Estimate | None = None, unit: Unit = "gib") -> tuple[LeverOffer, ...]:
    """Say for every lever what it would save now, or why it does not apply.

    Args:
        scenario: the set-up as it is.
        now: its estimate, where it is at hand.
        unit: of the figures in the sentences.

    Raises:
        MemplanError: the scenario itself cannot be estimated.
    """
    known = now if now is not None else estimate(scenario)
    return tuple(_offer(lever, scenario, known, unit) for lever in LEVERS)


def _offer(lever: Lever, scenario: Scenario, now: Estimate, unit: Unit) -> LeverOffer:
    if reason := lever.applies(scenario):
        return LeverOffer(lever, "not_applicable", 0, f"Does not apply: {reason}.")
    is_on = lever.is_on(scenario)
    toggled = lever.remove(scenario) if is_on else lever.apply(scenario)
    try:
        then = estimate(toggled)
    except MemplanError as problem:
        return LeverOffer(lever, "not_applicable", 0, f"Cannot be estimated here: {problem.message}")
    saving = then.need_bytes - now.need_bytes if is_on else now.need_bytes - then.need_bytes
    return LeverOffer(
        lever=lever,
        state="on" if is_on else "off",
        saving_bytes=saving,
        sentence=_sentence_on(saving, now, then, unit) if is_on else _sentence_off(saving, now, then, unit),
        scenario=toggled,
        need_bytes=then.need_bytes,
        verdict=then.verdict,
    )


def _sentence_off(saving: int, now: Estimate, then: Estimate, unit: Unit) -> str:
    if abs(saving) <= _SMALL * now.need_bytes:
        return f"Would save nothing: the peak is {peak_words(now)}."
    if saving < 0:
        return f"Would take {format_bytes(-saving, unit)} more, {peak_words(then)}."
    words = f"Would save {format_bytes(saving, unit)}"
    if then.verdict != now.verdict:
        return f"{words}; the run {_THEN[then.verdict]}."
    moved = f"; the peak is then {peak_words(then)}" if then.peak.name != now.peak.name else ""
    if then.verdict == "does_not_fit":
        return f"{words}, with {format_bytes(-then.headroom_bytes, unit)} still over{moved}."
    return f"{words}{moved}."


def _sentence_on(saving: int, now: Estimate, without: Estimate, unit: Unit) -> str:
    if abs(saving) <= _SMALL * now.need_bytes:
        return f"Saves nothing: without it the peak is the same, {peak_words(without)}."
    if saving < 0:
        return f"Takes {format_bytes(-saving, unit)} more than without it."
    if without.verdict != now.verdict:
        return f"Saves {format_bytes(saving, unit)}; without it the run {_IS[without.verdict]}."
    return f"Saves {format_bytes(saving, unit)}."


_THEN: dict[Verdict, str] = {"fits": "then fits", "tight": "is then tight", "does_not_fit": "then does not fit"}
_IS: dict[Verdict, str] = {"fits": "fits", "tight": "is tight", "does_not_fit": "does not fit"}


def _changed(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    for path, value in changes.items():
        scenario = replaced(scenario, path, value)
    return scenario


def _setting(
    lever_id: str,
    title: str,
    price: str,
    source: str,
    *,
    on: Mapping[str, Any],
    off: Mapping[str, Any],
    why_not: Callable[[Scenario], str | None] = lambda scenario: None,
    is_on: Callable[[Scenario], bool] | None = None,
) -> Lever:
    """A lever that sets fixed values, and is on when they are set."""

    def all_set(scenario: Scenario) -> bool:
        return all(value_at(scenario, path) == value for path, value in on.items())

    return Lever(lever_id, title, price, source, lambda scenario: on, off, is_on or all_set, why_not)


def _fused_why_not(scenario: Scenario) -> str | None:
    training = scenario.training
    if training.optimizer not in _FUSED:
        return f"{training.optimizer} has no fused form in PyTorch"
    return "MLX has one implementation of each optimizer" if training.kernels == "mlx" else None


def _loss_why_not(scenario: Scenario) -> str | None:
    kernels = scenario.training.kernels
    if kernels == "liger":
        return "Liger's loss is fused already"
    return "Liger's kernels do not run under MLX" if kernels == "mlx" else None


def _on_cuda_only(scenario: Scenario) -> str | None:
    return "bitsandbytes does not run under MLX" if scenario.training.kernels == "mlx" else None


def _has_4bit_format(scenario: Scenario) -> bool:
    return scenario.training.quantization.format != "int8"


def _4bit_base(scenario: Scenario) -> Mapping[str, Any]:
    changes = {"training.method": "qlora"}
    if scenario.training.kernels == "mlx":
        return {**changes, "training.quantization.format": "mlx_int4"}
    return changes if _has_4bit_format(scenario) else {**changes, "training.quantization.format": "nf4"}


def _smaller_batch(scenario: Scenario) -> Mapping[str, Any]:
    """The largest micro-batch of at most half the size that divides the batch of one optimizer step."""
    training = scenario.training
    whole = training.micro_batch * training.gradient_accumulation
    micro_batch = next(size for size in range(training.micro_batch // 2, 0, -1) if whole % size == 0)
    return {"training.micro_batch": micro_batch, "training.gradient_accumulation": whole // micro_batch}


def _smaller_batch_why_not(scenario: Scenario) -> str | None:
    training = scenario.training
    if training.micro_batch == 1:
        return "the micro-batch is 1 already"
    if training.micro_batch * training.gradient_accumulation > 1_000_000:
        return "gradient accumulation would pass 1,000,000"
    return "the optimizer in backward rules out accumulation" if training.optimizer_in_backward else None


LEVERS: tuple[Lever, ...] = (
    _setting(
        "fused_optimizer",
        "Fused optimizer",
        "Costs nothing: the same update in one kernel, without the copy that foreach makes.",
        "PyTorch documentation, torch.optim: foreach takes about the parameters' size more at the peak, fused does not",
        on={"training.optimizer_impl": "fused"},
        off={"training.optimizer_impl": "foreach"},
        why_not=_fused_why_not,
    ),
    _setting(
        "fused_loss",
        "Fused loss",
        "Costs next to nothing: head and loss in one kernel, a chunk of the logits at a time; needs Liger's kernels.",
        "Hsu et al. 2024, arXiv:2410.10989",
        on={"training.loss": "fused"},
        off={"training.loss": "plain"},
        why_not=_loss_why_not,
    ),
    _setting(
        "checkpointing",
        "Checkpointing",
        "About a third more compute: forward runs a second time during backward.",
        "Chen et al. 2016, arXiv:1604.06174; Korthikanti et al. 2022, arXiv:2205.05198",
        on={"training.checkpointing": "full"},
        off={"training.checkpointing": "none"},
    ),
    Lever(
        "smaller_batch",
        "Smaller batch",
        "The same batch in more and smaller pieces that accumulate: devices are used less well, so steps take longer.",
        "arithmetic: the micro-batch times the accumulation stays the same",
        on=_smaller_batch,
        off={},
        why_not=_smaller_batch_why_not,
        is_on=lambda scenario: False,
    ),
    _setting(
        "optimizer_8bit",
        "8-bit optimizer",
        "States are rounded to 8 bits in blocks; needs bitsandbytes, results are close to those of 32-bit AdamW.",
        "Dettmers et al. 2021, arXiv:2110.02861",
        on={"training.optimizer": "adamw_8bit"},
        off={"training.optimizer": "adamw"},
        why_not=_on_cuda_only,
        is_on=lambda scenario: scenario.training.optimizer in ("adamw_8bit", "paged_adamw_8bit", "lion_8bit"),
    ),
    _setting(
        "lora",
        "LoRA",
        "Trains low-rank adapters beside the linear layers, not the weights: it learns less than full fine-tuning.",
        "Hu et al. 2021, arXiv:2106.09685; Biderman et al. 2024, arXiv:2405.09673",
        on={"training.method": "lora"},  # Rank and targets stay as they are set: 16 and all-linear unless changed.
        off={"training.method": "full"},
        is_on=lambda scenario: scenario.training.method in ("lora", "qlora"),
    ),
    Lever(
        "base_4bit",
        "4-bit base",
        "LoRA on weights rounded to 4 bits (QLoRA): every use unpacks them, so steps take longer.",
        "Dettmers et al. 2023, arXiv:2305.14314",
        on=_4bit_base,
        off={"training.method": "lora"},
        is_on=lambda scenario: scenario.training.method == "qlora" and _has_4bit_format(scenario),
        why_not=lambda scenario: None,
    ),
    _setting(
        "sgd",
        "SGD",
        "Another optimizer, without states: wants its own learning rate, and trains transformers worse than AdamW.",
        "Zhang et al. 2020, arXiv:1912.03194",
        on={"training.optimizer": "sgd"},
        off={"training.optimizer": "adamw"},
    ),
)
"""The levers, least costly first."""
