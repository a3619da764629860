"""What a term is made of at an instant: rows of tensors that add up to it, the last of which names the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from memplan.memory.moment import Moment
from memplan.memory.step import Passes
from memplan.memory.tape import Kept
from memplan.memory.walk_layer import LayerWalk
from memplan.number_style import number
from memplan.result import UNTIL_FORWARD_ENDS, LedgerRow

RECOMPUTED = "recomputed, one layer at a time"


def kept_row(kept: Kept, count: int, note: str = "", first_layer: int = 0) -> LedgerRow:
    """Equal tensors of a walk's ledger as one row."""
    module, role, shape, dtype, num_bytes = kept
    name = f"{module}: {role}" if module else role
    return LedgerRow(name, in_words(shape), dtype, count, count * num_bytes, note, first_layer)


def in_words(shape: tuple[int, ...]) -> str:
    """A shape for a person.

    >>> in_words((2, 4096))
    '2 × 4,096'
    """
    return " × ".join(number(size) for size in shape)


def is_loss(kept: Kept) -> bool:
    """Whether it is kept by the loss."""
    return kept[0] == "loss"


def filled(rows: Sequence[LedgerRow], size: int, rest: str) -> tuple[LedgerRow, ...]:
    """Rows that add up to a size: those given with the rest of it, or one for all where not all are there at once.

    >>> row = LedgerRow("a", "2 × 3", "fp32", 1, 24)
    >>> [(one.name, one.total_bytes) for one in filled([row], 30, "the rest")]
    [('a', 24), ('the rest', 6)]
    >>> [(one.name, one.count, one.total_bytes) for one in filled([row, row], 30, "the rest")]
    [('the rest', 1, 30)]
    """
    listed = sum(row.total_bytes for row in rows)
    if not size:
        return ()
    if listed > size:
        return (LedgerRow(rest, "", "", 1, size),)
    return (*rows, LedgerRow(rest, "", "", 1, size - listed)) if listed < size else tuple(rows)


def divided(rows: Sequence[LedgerRow], size: int) -> tuple[LedgerRow, ...]:
    """Whole tensors, or this device's part of each where it holds less than all of them."""
    whole = sum(row.total_bytes for row in rows)
    if not rows or not size:
        return ()
    if whole > size:
        rows = [replace(row, total_bytes=row.total_bytes * size // whole, note="this device's part") for row in rows]
    return filled(rows, size, "rounding, padding and the model's buffers")


def activation_rows(passes: Passes, moment: Moment, *, in_backward: bool) -> tuple[LedgerRow, ...]:
    """What is kept at a moment of a pass: of whole layers, of the one under way, and of what stands outside."""
    rows = list(_of_layers(passes, _whole_layers(passes, moment), in_backward=in_backward))
    outside = [kept_row(kept, 1) for kept in passes.ends.ledger if not is_loss(kept)]
    if moment.layer:
        walk = _walk_of(passes, moment.layer)
        own = [kept_row(kept, 1) for kept in walk.ledger] if in_backward and walk.kept else []
        own += [kept_row(kept, 1, RECOMPUTED) for kept in walk.recomputed] if in_backward else []
        rows += filled(own, moment.under_way, f"layer {moment.layer} under way")
    else:
        rows += filled(outside, moment.under_way, _OUTSIDE)
    for name, size in (
        ("kept for other micro-batches in flight", passes.others),
        ("held from pass to pass: casts of weights, kernels' buffers", passes.stays),
        ("inputs on their way to and from the host", passes.staged if _whole_layers(passes, moment) else 0),
    ):
        rows += [LedgerRow(name, "", "", 1, int(size))] if size else []
    return filled(rows, moment.activations, _OUTSIDE)


_OUTSIDE = "ids, positions, masks and what else stands outside the layers"


def _of_layers(passes: Passes, whole: int, *, in_backward: bool) -> Iterator[LedgerRow]:
    """What the first so many layers hold."""
    alike: dict[tuple[Kept, str], int] = {}
    first = 0
    for run in passes.runs:
        held, walk = min(run.count, max(0, whole - first)), run.walk
        first += run.count
        if not held:
            continue
        for kept in walk.ledger if walk.kept else ():
            alike[kept, ""] = alike.get((kept, ""), 0) + held
        if walk.cached and not in_backward:
            for kept in _casts(walk.cast_ledger, int(walk.cached)):
                alike[kept, UNTIL_FORWARD_ENDS] = alike.get((kept, UNTIL_FORWARD_ENDS), 0) + held
    for (kept, note), count in alike.items():
        yield kept_row(kept, count, note)


def _casts(ledger: Iterable[Kept], cached: int) -> Sequence[Kept]:
    """Autocast's copies one by one; where backward's are among them, all in one."""
    casts = tuple(ledger)
    if sum(num_bytes for *_, num_bytes in casts) == cached:
        return casts
    return (("", "weights cast to 16 bit", (), "", cached),)


def _whole_layers(passes: Passes, moment: Moment) -> int:
    """Layers that hold all that they keep, without the one under way."""
    if moment.layer:
        return moment.layer - 1
    before = moment.where == passes.ends.places[0] or moment.where.startswith("reducing")
    return 0 if before else sum(run.count for run in passes.runs)


def _walk_of(passes: Passes, layer: int) -> LayerWalk:
    last = 0
    for run in passes.runs:
        last += run.count
        if layer <= last:
            return run.walk
    return passes.runs[-1].walk


def rows_of_a_pass(name: str, passes: Passes, moment: Moment, *, in_backward: bool) -> tuple[LedgerRow, ...]:
    """Rows of one of the terms that a pass makes; none of those that its formula says all of."""
    found: dict[str, Callable[[], tuple[LedgerRow, ...]]] = {
        "activations": lambda: activation_rows(passes, moment, in_backward=in_backward),
        "logits and loss": lambda: filled(
            [kept_row(kept, 1) for kept in passes.ends.ledger if is_loss(kept)],
            moment.logits,
            "copies and gradients of logits, for a moment",
        ),
        "KV cache": lambda: filled(
            list(cache_rows(passes)), moment.gradients, "keys and values as they are put together"
        ),
    }
    return found[name]() if name in found else ()


def cache_rows(passes: Passes) -> Iterator[LedgerRow]:
    """What each kind of layer has cached once the pass is over."""
    alike: dict[Kept, int] = {}
    for run in passes.runs:
        for kept in run.walk.cache_ledger:
            alike[kept] = alike.get(kept, 0) + run.count
    for kept, count in alike.items():
        yield kept_row(kept, count)
