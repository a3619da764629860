"""Levers after which the run learns something else: fewer weights that train, fewer sequences or tokens at once."""

from __future__ import annotations

from memplan.levers.lever import (
    ALWAYS,
    Changes,
    Lever,
    adapts,
    half_the_sequences,
    micro_batch_words,
    never,
    no_fewer_sequences,
    setting,
)
from memplan.number_style import number
from memplan.plan.scenario import Scenario
from memplan.translation import tr

_SHORTEST = 128


def _rank_why_not(scenario: Scenario) -> str | None:
    if not adapts(scenario):
        return tr("there are no adapters")
    return tr("the rank is 1 already") if scenario.training.lora.rank == 1 else None


def _dropout_why_not(scenario: Scenario) -> str | None:
    if not adapts(scenario):
        return tr("there are no adapters")
    return None if scenario.training.lora.dropout else tr("the adapters have no dropout")


def _saved_why_not(scenario: Scenario) -> str | None:
    saved = adapts(scenario) and scenario.training.lora.modules_to_save
    return None if saved else tr("no module trains whole beside adapters")


def _has_4bit_format(scenario: Scenario) -> bool:
    return scenario.training.quantization.format != "int8"


def _4bit_base(scenario: Scenario) -> Changes:
    changes = {"training.method": "qlora"}
    if scenario.training.kernels == "mlx":
        return {**changes, "training.quantization.format": "mlx_int4"}
    return changes if _has_4bit_format(scenario) else {**changes, "training.quantization.format": "nf4"}


METHODS: tuple[Lever, ...] = (
    Lever(
        id="no_lora_dropout",
        title="No LoRA dropout",
        short="Less regularised",
        price="Adapters see their whole input, and keep no dropped copy of it.",
        does="No adapter keeps a dropped copy of its input.",
        idle="There is no dropout, or layers are recomputed: then one layer's copies are held at a time.",
        source="PEFT 0.21, lora.layer: a dropped copy for each adapter",
        group="lora_dropout",
        on=lambda scenario: {"training.lora.dropout": 0.0},
        off={},
        is_on=never,
        why_not=_dropout_why_not,
        changes_what="method",
        counts_as=0.05,
    ),
    Lever(
        id="lower_rank",
        title="Lower rank",
        short="Learns less",
        price="Adapters of half the rank learn less; what they take is small beside the base.",
        does="Halves adapters with their gradients and states.",
        idle="Nearly always: at rank 16 they are under a hundredth of the base.",
        source="Hu et al. 2021, arXiv:2106.09685, section 7.2",
        group="rank",
        on=lambda scenario: {"training.lora.rank": scenario.training.lora.rank // 2},
        off={},
        is_on=never,
        why_not=_rank_why_not,
        changes_what="method",
        counts_as=0.1,
        times=4,
        comes_to=lambda scenario: tr("rank {count}").format(count=number(scenario.training.lora.rank)),
    ),
    Lever(
        id="frozen_embeddings",
        title="Frozen embeddings",
        short="No new tokens",
        price="Modules that were copied to train whole stay frozen: tokens that were added are not learnt.",
        does="Takes away the trained copies of whole modules, with their gradients and states.",
        idle="Nothing but adapters trains.",
        source="PEFT 0.21, ModulesToSaveWrapper",
        group="saved_modules",
        on=lambda scenario: {"training.lora.modules_to_save": ()},
        off={},
        is_on=never,
        why_not=_saved_why_not,
        changes_what="method",
        counts_as=0.3,
    ),
    setting(
        id="lora",
        title="LoRA",
        short="Learns less",
        price="Trains low-rank adapters beside the linear layers, not the weights: it learns less than full "
        "fine-tuning.",
        does="Gradients, states and the step's copies shrink to those of the adapters.",
        idle="Weights or activations are what is too much: the base stays whole, and layers keep about as much "
        "for backward.",
        source="Hu et al. 2021, arXiv:2106.09685; Biderman et al. 2024, arXiv:2405.09673",
        group="method",
        on={"training.method": "lora"},  # Rank and targets stay as they are set: 16 and all-linear unless changed.
        off={"training.method": "full"},
        is_on=adapts,
        changes_what="method",
        counts_as=1.5,
    ),
    Lever(
        id="base_4bit",
        title="4-bit base",
        short="Rounds, learns less",
        price="LoRA on weights rounded to 4 bits (QLoRA): every use unpacks them.",
        does="As LoRA, over a base of about half a byte a weight.",
        idle="Activations are what is too much, or most weights are not packed, as experts held as one 3-D "
        "tensor are not.",
        source="Dettmers et al. 2023, arXiv:2305.14314",
        group="method",
        on=_4bit_base,
        off={"training.method": "lora"},
        is_on=lambda scenario: scenario.training.method == "qlora" and _has_4bit_format(scenario),
        why_not=lambda scenario: None,
        changes_what="method",
        counts_as=2.0,
    ),
    Lever(
        id="fewer_sequences",
        title="Fewer sequences a step",
        short="Another batch",
        price="Half the sequences for each update: another batch, which wants another learning rate.",
        does="Halves what grows with the micro-batch, and no gradients pile up for it.",
        idle="The micro-batch is 1, or weights, gradients and states alone are too much.",
        source="McCandlish et al. 2018, arXiv:1812.06162",
        group="sequences",
        on=half_the_sequences,
        off={},
        is_on=never,
        why_not=no_fewer_sequences,
        changes_what="effective_batch",
        counts_as=0.3,
        times=20,
        comes_to=micro_batch_words,
    ),
    Lever(
        id="shorter_sequence",
        title="Shorter sequence",
        short="Cuts what it sees",
        price="Half the tokens at once: what lies further apart is not seen together, and longer texts are cut.",
        does="Halves what grows with tokens: activations, logits, cached keys and values; eager attention's scores "
        "shrink to a quarter.",
        idle="Weights, gradients and states alone are too much.",
        source="arithmetic: tokens of a sequence",
        group="sequence",
        on=lambda scenario: {"training.sequence_length": scenario.training.sequence_length // 2},
        off={},
        is_on=never,
        why_not=lambda scenario: (
            tr("sequences are short already") if scenario.training.sequence_length <= _SHORTEST else None
        ),
        changes_what="sequence_length",
        counts_as=1.1,
        serves=ALWAYS,
        times=6,
        comes_to=lambda scenario: tr("{count} tokens").format(count=number(scenario.training.sequence_length)),
    ),
)
