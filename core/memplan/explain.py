"""Why each term is as large as it is: the formula with this scenario's numbers, its source, its tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from memplan.chosen_model import ChosenModel
from memplan.ledger_rows import (
    RECOMPUTED,
    cache_rows,
    divided,
    filled,
    in_words,
    is_loss,
    kept_row,
    rows_of_a_pass,
)
from memplan.memory.account import States
from memplan.memory.instants import Timeline
from memplan.memory.moment import Moment
from memplan.memory.optimizers import RULES
from memplan.memory.setup import Setup
from memplan.memory.states import held_tensors, packed_scale_bytes, weight_bytes
from memplan.memory.step import Passes
from memplan.memory.zero import buckets_in_words
from memplan.number_formats import BYTES_PER_VALUE
from memplan.number_style import number
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import TERMS, UNTIL_FORWARD_ENDS, Instant, LedgerRow, Term, TermName
from memplan.units import format_bytes

_TRACES = "traces of transformers 5.24 and PyTorch 2.13"


def terms_of(
    chosen: ChosenModel,
    setup: Setup,
    scenario: Scenario,
    states: States,
    line: Timeline,
    instants: Sequence[Instant],
    peak: Instant,
) -> tuple[Term, ...]:
    """Every term that is there at any instant, in the order of TERMS."""
    found, training = [], scenario.training
    for name in TERMS:
        largest = max((instant.bytes_by_term.get(name, 0) for instant in instants), default=0)
        if largest:
            if name == "communication buffers":
                hidden = chosen.architecture.hidden_size
                formula, source = buckets_in_words(training, scenario.hardware, hidden)
            else:
                formula, source = _formula(name, chosen, setup, training, states, line)
            formula += _share_in_words(_whole(name, states), largest)
            tensors = _tensors(name, chosen, setup, training, line)
            at_peak, rows_at = peak.bytes_by_term.get(name, 0), partial(_rows_at, name, line, tensors)
            found.append(Term(name, at_peak, largest, formula, source, tensors, rows_at))
    return tuple(found)


def _rows_at(name: TermName, line: Timeline, tensors: tuple[LedgerRow, ...], instant: Instant) -> tuple[LedgerRow, ...]:
    """Rows that add up to what the term holds at an instant."""
    size, pass_and_moment = instant.bytes_by_term.get(name, 0), _moment_at(line, instant)
    if name in ("weights", "adapters"):
        return divided(tensors, size)
    if pass_and_moment is not None:
        return rows_of_a_pass(name, *pass_and_moment, in_backward=instant.name == "backward")
    return filled([], size, "token numbers and the model's positions") if name == "activations" else ()


def _moment_at(line: Timeline, instant: Instant) -> tuple[Passes, Moment] | None:
    """The pass that an instant is the fullest moment of, and that moment."""
    walked, decoded = line.walked, line.decoded
    if instant.name == "decode" and decoded is not None:
        return decoded, decoded.fullest
    found = {
        "forward": walked.forward,
        "loss": walked.loss,
        "backward": walked.backward,
        "prefill": walked.fullest,
    }.get(instant.name)
    return (walked, found) if found is not None else None


def _whole(name: TermName, states: States) -> int:
    """What the term takes for the whole model; 0 where it is no state."""
    return {
        "weights": states.weights,
        "adapters": states.adapters,
        "gradients": states.gradients,
        "optimizer states": states.optimizer,
        "master weights": states.master,
    }.get(name, 0)


def _share_in_words(whole: int, largest: int) -> str:
    """Says that a device holds a part of it, where states are divided."""
    return (
        f"; of these {format_bytes(whole)} this device holds {format_bytes(largest)}" if largest < 0.98 * whole else ""
    )


def _formula(
    name: TermName, chosen: ChosenModel, setup: Setup, training: Training, states: States, line: Timeline
) -> tuple[str, str]:
    if name == "weights":
        held = f"{number(chosen.parameters)} parameters"
        if setup.packed:
            return f"{held}: matrices of the layers in 4 bit with their scales, the rest in {setup.unpacked_dtype}", (
                "bitsandbytes 0.50.2, quantize_4bit"
            )
        return (
            f"{held} × {number(states.weights / max(1, chosen.parameters), '.3g')} bytes ({setup.weights_dtype})",
            "exact count",
        )
    if name == "adapters":
        return f"{number(states.adapter_parameters)} parameters in {setup.adapter_dtype}", "rank × (inputs + outputs)"
    if name == "gradients":
        per = states.gradients / max(1, states.trainable)
        return f"{number(states.trainable)} trainable parameters × {number(per, '.3g')} bytes", "PyTorch autograd"
    if name == "optimizer states":
        rule, per = RULES[training.optimizer], states.optimizer / max(1, states.trainable)
        return (
            f"{number(states.trainable)} trainable parameters × {number(per, '.3g')} bytes ({rule.title})",
            rule.source,
        )
    if name == "master weights":
        return f"{number(states.trainable)} trainable parameters × 4 bytes (fp32)", "DeepSpeed, Megatron-LM"
    return _passing_formula(name, chosen, setup, training, line)


def _passing_formula(
    name: TermName, chosen: ChosenModel, setup: Setup, training: Training, line: Timeline
) -> tuple[str, str]:
    batch, sequence = training.micro_batch, training.sequence_length
    tokens = f"{number(batch * sequence)} tokens"
    if training.method == "inference" and name in _GENERATION:
        return _inference_formula(name, f"{tokens} of a prompt" if line.decoded else tokens, chosen, training, line)
    if name == "activations":
        layers = " + ".join(f"{run.count} × {number(run.walk.kept)}" for run in line.walked.runs[:4])
        more = " + …" if len(line.walked.runs) > 4 else ""
        held = "checkpointed inputs, and one layer recomputed" if setup.checkpointing else "tensors that autograd keeps"
        return f"{tokens}; {held}: layers × bytes = {layers}{more}{_copies_in_words(line)}", _TRACES
    if name == "logits and loss":
        return _loss_formula(tokens, chosen, setup)
    if name == "temporary buffers":
        where = "gradients of activations and what operations hold while they run; at the step, the optimizer's copies"
        return where, _TRACES
    if name == "framework":
        return "CUDA context and libraries, cuBLAS workspace", "measured on T4 and data-centre cards"
    return (
        f"{number(0.018, '.1%')} of what is allocated: blocks that fragmentation keeps",
        "median of 49 out-of-memory messages",
    )


def _loss_formula(tokens: str, chosen: ChosenModel, setup: Setup) -> tuple[str, str]:
    """What the loss that is walked holds of the logits, as `memory/blocks/loss.py` walks it."""
    entries = f"{tokens} × {number(chosen.architecture.vocab_size)} entries"
    if setup.loss == "fused":
        words = (
            "never whole: one chunk of logits at a time, "
            "and gradients of hidden states and of a head that trains, made in forward"
        )
        return f"{entries}, {words}", "liger-kernel 0.3.1, ops/fused_linear_cross_entropy.py"
    if setup.loss == "chunked" and setup.stack.kernels in ("litgpt", "torchtune"):
        words = "logits and log-softmax whole; copies and gradients of one chunk at a time"
        return f"{entries}: {words}", f"{setup.stack.kernels}'s own loss in chunks"
    if setup.loss == "chunked":
        words = "logits whole; fp32 copy, log-softmax and their gradients of one chunk at a time"
        return f"{entries}: {words}", "torchtune, CEWithChunkedOutputLoss"
    return f"{entries}: logits, fp32 copy, log-softmax, gradients", "transformers 5.24, loss_utils.py"


def _copies_in_words(line: Timeline) -> str:
    """Autocast's copies of weights that only its cache holds."""
    copies = [f"{run.count} × {number(run.walk.cached)}" for run in line.walked.runs if run.walk.cached]
    more = " + …" if len(copies) > _MOST_PARTS else ""
    return f"; until forward is over also weights cast to 16 bit: {' + '.join(copies[:_MOST_PARTS])}{more}" * bool(
        copies
    )


_GENERATION: tuple[TermName, ...] = ("KV cache", "activations", "logits and loss", "temporary buffers")


def _inference_formula(
    name: TermName, tokens: str, chosen: ChosenModel, training: Training, line: Timeline
) -> tuple[str, str]:
    if name == "KV cache":
        return _cache_formula(training, line), "transformers 5.24, cache_utils.py (DynamicCache); traces"
    if name == "activations":
        words = "nothing is kept for backward: ids, positions, masks, and hidden states while a layer reads them"
        return f"{tokens}; {words}", _TRACES
    if name == "temporary buffers":
        return "what operations hold while they run; joined keys and values count as cached", _TRACES
    vocabulary = number(chosen.architecture.vocab_size)
    if line.decoded is None:
        return f"{tokens} × {vocabulary} entries: logits of every position", _TRACES
    rows = f"{number(training.micro_batch)} × {vocabulary} entries"
    return f"{rows}: logits of the last position, and fp32 copies of them", "transformers 5.24, generation/utils.py"


def _cache_formula(training: Training, line: Timeline) -> str:
    """layers × tensors × shape × bytes, of each kind of layer; once the next token is there."""
    assert line.decoded is not None, "who generates no text caches nothing"
    alike: dict[tuple[str, int], int] = {}
    for row in cache_rows(line.decoded):
        key = row.shape, BYTES_PER_VALUE[row.dtype]
        alike[key] = alike.get(key, 0) + row.count
    parts = [f"{count} × ({shape}) × {size}" for (shape, size), count in alike.items()]
    more = " + …" if len(parts) > _MOST_PARTS else ""
    of = "tensors of all layers × (sequences × heads × tokens × width) × bytes"
    tokens = number(training.sequence_length + 1)
    return f"{tokens} tokens of a sequence; {of} = {' + '.join(parts[:_MOST_PARTS])}{more}"


_MOST_PARTS = 4


def _tensors(
    name: TermName, chosen: ChosenModel, setup: Setup, training: Training, line: Timeline
) -> tuple[LedgerRow, ...]:
    if name in ("weights", "adapters") and chosen.exact:
        return _parameter_rows(name == "adapters", chosen, setup, training)
    if name == "weights":
        return _packed_rows(chosen, training) if setup.packed else ()
    if name == "activations":
        rows, first = [], 1
        for run in line.walked.runs[:4]:
            rows += [kept_row(kept, run.count, first_layer=first) for kept in run.walk.ledger if run.walk.kept]
            rows += [kept_row(kept, run.count, UNTIL_FORWARD_ENDS, first) for kept in run.walk.cast_ledger]
            first += run.count
        rows += [kept_row(kept, 1) for kept in line.walked.ends.ledger if not is_loss(kept)]
        last = line.walked.runs[-1].walk
        return tuple(rows + [kept_row(kept, 1, RECOMPUTED) for kept in last.recomputed])
    if name == "KV cache" and line.decoded is not None:
        return tuple(cache_rows(line.decoded))
    if name == "logits and loss":
        return tuple(kept_row(kept, 1) for kept in line.walked.ends.ledger if is_loss(kept))
    return ()


def _packed_rows(chosen: ChosenModel, training: Training) -> tuple[LedgerRow, ...]:
    """Of a model known by its size: the packed weights and their block scales."""
    packed = chosen.parameters // 2
    scales = packed_scale_bytes(chosen.parameters, double_quant=training.quantization.double_quant)
    shape = number(chosen.parameters)
    return (
        LedgerRow("packed weights", shape, training.quantization.format, 1, packed),
        LedgerRow("block scales", shape, "scales of 64 values", 1, scales),
    )


def _parameter_rows(adapters: bool, chosen: ChosenModel, setup: Setup, training: Training) -> tuple[LedgerRow, ...]:
    double_quant = training.quantization.double_quant
    return tuple(
        LedgerRow(
            tensor.name,
            in_words(tensor.shape),
            training.quantization.format if tensor.packed else tensor.dtype,
            tensor.count,
            weight_bytes(tensor, double_quant=double_quant),
        )
        for tensor in held_tensors(chosen.architecture, setup)
        if tensor.adapter == adapters
    )
