"""The tape. What is right: PyTorch's own rules for what autograd holds and for how long (torch 2.13, checked by traces)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.storage import ACTIVATIONS, BLOCK_BYTES, GRADIENTS, LOGITS, TEMPORARY, Meter, Storage, rounded
from memplan.memory.tape import Parameter, Tape, Tensor

TOKENS, WIDTH = 128, 64
BF16, FP32 = 2, 4
X = TOKENS * WIDTH * BF16
"""Bytes of the input that most tests use; a whole number of blocks."""
W = WIDTH * WIDTH * BF16


def leaf(tape: Tape, *, needs_grad: bool = True, dtype: str = "bf16") -> Tensor:
    return tape.leaf((1, TOKENS, WIDTH), dtype, needs_grad=needs_grad)


def weight(name: str = "w", *, trains: bool = True, dtype: str = "bf16") -> Parameter:
    return Parameter(name, (WIDTH, WIDTH), dtype, trains)


def kept_bytes(tape: Tape) -> int:
    return sum(int(row[-1]) for row in tape.kept)


# storages


def test_a_storage_counts_while_something_refers_to_it() -> None:
    tape = Tape()
    x = leaf(tape)
    same = op.view(x, (TOKENS, WIDTH))
    assert tape.meter.now == X
    del x
    assert tape.meter.now == X
    del same
    assert tape.meter.now == 0
    assert tape.meter.peak == X


def test_a_storage_takes_whole_blocks() -> None:
    """c10/core/AllocatorConfig.h: kMinBlockSize is 512."""
    tape = Tape()
    one = tape.new((1,), "fp32")
    assert tape.meter.now == BLOCK_BYTES == 512
    assert one.storage.num_bytes == 512


@given(st.integers(0, 10**15))
def test_rounding_adds_less_than_a_block(num_bytes: int) -> None:
    assert 0 <= rounded(num_bytes) - num_bytes < 512
    assert rounded(num_bytes) % 512 == 0


def test_a_meter_remembers_what_the_peak_was_made_of() -> None:
    meter = Meter()
    first, second = Storage(meter, 10, ACTIVATIONS), Storage(meter, 5, TEMPORARY)
    del second
    third = Storage(meter, 4, LOGITS)
    assert (meter.now, meter.peak) == (14, 15)
    assert meter.peak_tally[ACTIVATIONS] == 10
    assert meter.peak_tally[TEMPORARY] == 5
    meter.restart()
    assert meter.peak == 14
    del first, third
    assert meter.now == 0
    assert meter.tally == [0, 0, 0, 0]


# views


@pytest.mark.parametrize("needs_grad", [True, False])
def test_a_view_is_free(needs_grad: bool) -> None:
    tape = Tape()
    x = leaf(tape, needs_grad=needs_grad)
    y = op.view(op.view(x, (TOKENS, WIDTH)), (2, TOKENS // 2, WIDTH))
    assert tape.meter.peak == X
    assert tape.kept == []
    assert y.needs_grad == needs_grad
    assert y.storage is x.storage


def test_casting_to_the_same_dtype_is_free() -> None:
    tape = Tape()
    x = leaf(tape)
    assert op.to(tape, x, "bf16") is x


# what linear modules keep


def test_a_linear_that_trains_keeps_its_input() -> None:
    tape = Tape()
    x = leaf(tape)
    y = products.linear(tape, x, weight())
    del x
    assert [row[1:4] for row in tape.kept] == [("input", (1, TOKENS, WIDTH), "bf16")]
    assert tape.meter.now == X + X
    tape.backward(y)
    del y
    assert tape.meter.tally[ACTIVATIONS] == 0


def test_a_frozen_linear_keeps_no_input() -> None:
    """Its backward needs the weight alone: PyTorch saves the input only for the weight's gradient."""
    tape = Tape()
    x = leaf(tape)
    y = products.linear(tape, x, weight(trains=False))
    del x
    assert tape.kept == []
    assert tape.meter.now == X  # the output
    assert y.needs_grad


def test_nothing_is_kept_where_nothing_needs_a_gradient() -> None:
    tape = Tape()
    x = leaf(tape, needs_grad=False)
    y = products.linear(tape, x, weight(trains=False))
    y = op.add(tape, y, op.pointwise(tape, y, "input"))
    assert tape.kept == []
    assert not y.needs_grad


def test_an_input_kept_by_three_linears_counts_once() -> None:
    """q, k and v read one tensor."""
    tape = Tape()
    x = leaf(tape)
    outputs = [products.linear(tape, x, weight(name)) for name in ("q", "k", "v")]
    del x
    assert kept_bytes(tape) == X
    assert tape.meter.now == X + 3 * X
    del outputs
    assert tape.meter.now == 0


def test_kept_by_a_view_or_by_itself_is_one_storage() -> None:
    tape = Tape()
    x = leaf(tape)
    first = products.linear(tape, x, weight("a"))
    second = products.linear(tape, op.view(x, (TOKENS, WIDTH)), weight("b"))
    assert kept_bytes(tape) == X
    del first, second


def test_an_input_that_needs_no_gradient_gets_none() -> None:
    """The first layer under frozen embeddings."""
    peaks = []
    for needs_grad in (True, False):
        tape = Tape()
        y = products.linear(tape, leaf(tape, needs_grad=needs_grad), weight())
        tape.meter.restart()
        tape.backward(y)
        peaks.append(tape.meter.peak)
    assert peaks[0] - peaks[1] == X


def test_an_adapter_on_a_frozen_linear_keeps_its_own_inputs_only() -> None:
    tape, rank = Tape(), 16
    x = leaf(tape)
    frozen = products.linear(tape, x, weight(trains=False))
    a, b = Parameter("a", (rank, WIDTH), "bf16", True), Parameter("b", (WIDTH, rank), "bf16", True)
    delta = products.linear(tape, products.linear(tape, x, a), b)
    y = op.add(tape, frozen, delta)
    shapes = [row[2] for row in tape.kept]
    assert shapes == [(1, TOKENS, WIDTH), (1, TOKENS, rank)]
    del frozen, delta, y


# gradients


def test_gradients_of_weights_stay_and_count_as_such() -> None:
    tape = Tape()
    parameter = weight()
    tape.backward(products.linear(tape, leaf(tape), parameter))
    assert tape.meter.tally[GRADIENTS] == W
    assert parameter.grad is not None
    assert parameter.grad.dtype == "bf16"


def test_a_frozen_weight_gets_no_gradient() -> None:
    tape = Tape()
    parameter = weight(trains=False)
    tape.backward(products.linear(tape, leaf(tape), parameter))
    assert parameter.grad is None
    assert tape.meter.tally[GRADIENTS] == 0


def test_later_micro_batches_add_to_the_gradient_that_is_there() -> None:
    tape = Tape()
    tape.accumulating = True
    parameter = weight()
    y = products.linear(tape, leaf(tape), parameter)
    tape.meter.restart()
    tape.backward(y)
    assert tape.meter.peak >= X + X + W  # it exists for a moment
    del y
    assert tape.meter.tally[GRADIENTS] == 0


def residual(tape: Tape) -> Tensor:
    x = op.times(tape, leaf(tape))
    return op.add(tape, x, op.times(tape, x))


def test_gradients_that_meet_are_summed_into_a_third_tensor_by_fake_tensors() -> None:
    """At a residual two gradients reach the same output. Fake tensors never add in place."""
    tape = Tape()
    y = residual(tape)
    tape.meter.restart()
    before = tape.meter.now
    tape.backward(y)
    # The output's gradient goes both ways as one tensor; the branch makes a second; the sum is a third.
    assert tape.meter.peak - before == 3 * X


def test_gradients_that_meet_are_added_in_place_on_a_device() -> None:
    """torch/csrc/autograd/input_buffer.cpp adds into a gradient that has one owner."""
    tape = Tape(on_device=True)
    y = residual(tape)
    tape.meter.restart()
    before = tape.meter.now
    tape.backward(y)
    assert tape.meter.peak - before == 2 * X


def test_a_device_does_not_add_into_a_gradient_that_another_branch_still_needs() -> None:
    """One gradient goes to three places: two of them meet, the third must not see their sum."""
    tape = Tape(on_device=True)
    x, other = op.times(tape, leaf(tape)), leaf(tape)
    y = op.add(tape, x, op.add(tape, x, other))
    tape.meter.restart()
    before = tape.meter.now
    tape.backward(y)
    assert tape.meter.peak - before == 3 * X  # the other's, the sum, and what follows from the sum


def test_a_tied_head_has_one_gradient_made_of_two() -> None:
    """Token table and head are one parameter: the head's gradient waits for the embedding's."""
    vocabulary = 256
    table_bytes = vocabulary * WIDTH * BF16
    tape = Tape()
    table = Parameter("table", (vocabulary, WIDTH), "bf16", True)
    table.shared = True
    ids = tape.new((1, TOKENS), "int64")
    logits = products.linear(tape, products.embedding(tape, ids, table), table)
    tape.meter.restart()
    before = tape.meter.now
    tape.backward(logits)
    del logits, ids
    assert tape.meter.tally[GRADIENTS] == table_bytes
    assert tape.meter.peak >= before + 2 * table_bytes


def test_a_walk_can_end_where_forward_is_needed_again() -> None:
    """What a checkpoint does: gradients arrive, and the first step that reads a kept value asks for recomputation."""
    tape = Tape()
    y = op.add(tape, leaf(tape), op.times(tape, products.linear(tape, leaf(tape), weight())))
    before = tape.meter.now
    alive = tape.backward(y, until_held=True)
    assert alive - before == 2 * X  # the output's gradient, and the branch's after the product with a number
    tape.backward(y)


# checkpointing


def test_a_checkpointed_module_keeps_nothing_and_knows_how_much_it_would() -> None:
    tape = Tape()
    x = leaf(tape)
    with tape.checkpointed() as told:
        y = op.pointwise(tape, products.linear(tape, x, weight()), "activation input")
    # The linear holds its input and its weight, the activation its input.
    assert told == [3]
    assert tape.kept == []
    assert tape.meter.now == X + X
    del y
    assert tape.meter.now == X


def test_recomputation_stops_when_the_last_value_is_back() -> None:
    """torch.utils.checkpoint stops early: what comes after the last saved value is not computed again."""
    tape = Tape()
    x = leaf(tape)

    def module() -> Tensor:
        y = products.linear(tape, x, weight())
        return op.times(tape, op.times(tape, y))

    with tape.checkpointed() as told:
        del_me = module()
    del del_me
    tape.meter.restart()
    with tape.recomputing(told[0]):
        again = module()
    # Only the linear's input is there already; its output comes after the last value and costs nothing.
    assert tape.meter.peak == X
    del again
    tape.meter.restart()
    with tape.recomputing(-1):
        whole = module()
    assert tape.meter.peak == X + 3 * X
    del whole


# autocast


def test_autocast_casts_a_weight_that_trains_once() -> None:
    """ATen/autocast_mode.cpp caches casts of fp32 leaves that need gradients until autocast ends."""
    tape = Tape(autocast="bf16")
    parameter = weight(dtype="fp32")
    x = leaf(tape)
    first, second = products.linear(tape, x, parameter), products.linear(tape, x, parameter)
    assert [row[1] for row in tape.kept].count("weight cast to 16 bit") == 1
    assert tape.meter.now == X + W + 2 * X
    tape.release_casts()
    assert tape.meter.now == X + W + 2 * X  # backward reads it
    del first, second
    assert tape.meter.now == X


def test_a_cast_that_backward_does_not_read_goes_when_autocast_ends() -> None:
    tape = Tape(autocast="bf16")
    x = leaf(tape, needs_grad=False)
    y = products.linear(tape, x, weight(dtype="fp32"))
    assert tape.meter.now == X + W + X
    tape.release_casts()
    assert tape.meter.now == X + X
    del y


def test_autocast_casts_a_frozen_weight_at_each_use() -> None:
    tape = Tape(autocast="bf16")
    parameter = weight(dtype="fp32", trains=False)
    x = leaf(tape, needs_grad=False)
    outputs = [products.linear(tape, x, parameter), products.linear(tape, x, parameter)]
    assert tape.casts == []
    assert tape.meter.now == X + 2 * X
    assert tape.meter.peak == X + 2 * X + W
    del outputs


def test_autocast_leaves_16_bit_weights_alone() -> None:
    tape = Tape(autocast="bf16")
    y = products.linear(tape, leaf(tape), weight())
    assert tape.meter.now == X + X
    del y


def test_gradients_come_back_in_the_dtype_of_what_was_cast() -> None:
    tape = Tape(autocast="bf16")
    parameter = weight(dtype="fp32")
    y = products.linear(tape, leaf(tape, dtype="fp32"), parameter)
    tape.release_casts()
    tape.backward(y)
    assert parameter.grad is not None
    assert parameter.grad.dtype == "fp32"
    assert tape.meter.tally[GRADIENTS] == WIDTH * WIDTH * FP32


def test_inside_a_kernel_autocast_is_off() -> None:
    tape = Tape(autocast="bf16")
    with tape.no_autocast():
        assert tape.autocast is None
    assert tape.autocast == "bf16"


# kinds


def test_what_is_kept_counts_as_activations_and_logits_stay_logits() -> None:
    tape = Tape()
    x = leaf(tape)
    hidden = products.linear(tape, x, weight())
    with tape.inside("lm_head", LOGITS):
        logits = products.linear(tape, hidden, weight("head"))
        loss = products.cross_entropy(tape, op.to(tape, logits, "fp32"), tape.new((1, TOKENS), "int64"))
    assert tape.meter.tally[ACTIVATIONS] == X + X  # both linears' inputs
    assert tape.meter.tally[LOGITS] >= X + 2 * X  # 16-bit logits and their log-softmax in fp32
    assert tape.module == ""
    del logits, loss


Step = Callable[[Tape, Tensor], Tensor]
STEPS: dict[str, Step] = {
    "linear": lambda tape, x: products.linear(tape, x, weight()),
    "frozen linear": lambda tape, x: products.linear(tape, x, weight(trains=False)),
    "silu": lambda tape, x: op.pointwise(tape, x, "input"),
    "relu": lambda tape, x: op.pointwise_by_output(tape, x, "output"),
    "residual": lambda tape, x: op.add(tape, x, op.times(tape, x)),
    "gate": lambda tape, x: op.mul(tape, x, op.pointwise(tape, x, "input")),
    "upcast": lambda tape, x: op.to(tape, x, "fp32"),
    "downcast": lambda tape, x: op.to(tape, x, "bf16"),
    "norm": lambda tape, x: op.layer_norm(tape, x, Parameter("n", (WIDTH,), "bf16", True), None),
    "dropout": lambda tape, x: op.dropout(tape, x, 0.1),
    "copy": lambda tape, x: op.copied(tape, x),
    "rotate": op.rotate_half,
    "view": lambda tape, x: op.view(x, x.shape),
    "softmax": lambda tape, x: products.softmax(tape, x, "fp32"),
}


@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=12),
    needs_grad=st.booleans(),
    on_device=st.booleans(),
    autocast=st.sampled_from([None, "bf16"]),
)
def test_any_chain_of_operations_leaves_nothing_behind(
    names: list[str], needs_grad: bool, on_device: bool, autocast: str | None
) -> None:
    tape = Tape(on_device=on_device, autocast=autocast)
    x = leaf(tape, needs_grad=needs_grad)
    for name in names:
        x = STEPS[name](tape, x)
    tape.release_casts()
    after_forward = tape.meter.now
    assert kept_bytes(tape) <= after_forward + W * len(names)
    assert tape.meter.peak >= after_forward
    if x.needs_grad:
        tape.backward(x)
        assert tape.meter.now == sum(tape.meter.tally)
        assert all(bytes_ >= 0 for bytes_ in tape.meter.tally)
        assert tape.meter.tally[ACTIVATIONS] <= X * FP32  # at most the last tensor itself
    del x
    assert tape.meter.now == tape.meter.tally[GRADIENTS]
