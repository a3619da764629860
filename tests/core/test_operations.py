"""Operations. What is right: PyTorch's derivative formulas (derivatives.yaml) and kernels, read from traces of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.storage import GRADIENTS
from memplan.memory.tape import Parameter, Tape, Tensor

TOKENS, WIDTH = 256, 128
BF16, FP32, INT64 = 2, 4, 8
N = TOKENS * WIDTH


def leaf(tape: Tape, dtype: str = "bf16", *, needs_grad: bool = True) -> Tensor:
    return tape.leaf((1, TOKENS, WIDTH), dtype, needs_grad=needs_grad)


def kept(tape: Tape) -> list[tuple[str, int]]:
    """What backward reads: role and bytes."""
    return [(role, num_bytes) for _, role, _, _, num_bytes in tape.kept]


def extra_in_backward(tape: Tape, y: Tensor) -> int:
    """What the backward pass holds at its fullest, on top of what is alive when it starts."""
    tape.meter.restart()
    before = tape.meter.now
    tape.backward(y)
    return int(tape.meter.peak - before)


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [("bf16", "bf16", "bf16"), ("bf16", "fp32", "fp32"), ("fp16", "fp32", "fp32"), ("bf16", "fp16", "fp32")],
)
def test_mixed_inputs_are_promoted(one: str, other: str, result: str) -> None:
    assert op.promoted(one, other) == op.promoted(other, one) == result


def test_an_addition_keeps_nothing_and_passes_its_gradient_on() -> None:
    tape = Tape()
    y = op.add(tape, leaf(tape), leaf(tape))
    assert kept(tape) == []
    assert extra_in_backward(tape, y) == N * BF16


def test_a_product_keeps_each_factor_that_the_other_needs() -> None:
    tape = Tape()
    x, constant = leaf(tape), leaf(tape, needs_grad=False)
    y = op.mul(tape, x, constant, role_a="x", role_b="constant")
    assert kept(tape) == [("constant", N * BF16)]
    z = op.mul(tape, x, y, role_a="x", role_b="y")
    assert kept(tape) == [("constant", N * BF16), ("x", N * BF16), ("y", N * BF16)]
    del z


def test_a_broadcast_constant_is_kept_and_its_factor_is_not() -> None:
    """Cosines of the positions: (1, tokens, width) for every head."""
    tape = Tape()
    cosines = tape.new((1, TOKENS, 8), "bf16")
    y = op.mul_by_constant(tape, leaf(tape), cosines, "cosines")
    assert kept(tape) == [("cosines", TOKENS * 8 * BF16)]
    del y


@pytest.mark.parametrize("operation", [op.times, op.plus_constant])
def test_numbers_are_not_kept(operation: object) -> None:
    tape = Tape()
    y = operation(tape, leaf(tape))  # type: ignore[operator]
    assert kept(tape) == []
    assert y.needs_grad


def test_silu_and_gelu_keep_their_input_and_relu_its_result() -> None:
    """silu_backward and gelu_backward read self; threshold_backward reads result."""
    tape = Tape()
    x = leaf(tape)
    y = op.pointwise(tape, x, "input")
    assert y.storage is not x.storage
    assert x.storage.kept
    assert not y.storage.kept
    z = op.pointwise_by_output(tape, x, "output")
    assert z.storage.kept


def test_a_square_and_its_mean_keep_the_input_once() -> None:
    tape = Tape()
    x = leaf(tape, "fp32")
    y = op.square_mean(tape, x)
    assert y.shape == (1, TOKENS, 1)
    assert kept(tape) == [("input in fp32", N * FP32)]


def test_layer_norm_keeps_its_input_and_two_numbers_a_token() -> None:
    tape = Tape(on_device=True)
    y = op.layer_norm(tape, leaf(tape), Parameter("w", (WIDTH,), "bf16", True), Parameter("b", (WIDTH,), "bf16", True))
    assert kept(tape) == [("input", N * BF16), ("mean", TOKENS * FP32), ("1 / deviation", TOKENS * FP32)]
    tape.backward(y)
    assert tape.meter.tally[GRADIENTS] == 2 * 512  # gain and offset, a block each


def test_layer_norm_runs_in_fp32_under_autocast() -> None:
    tape = Tape(autocast="bf16", on_device=True)
    y = op.layer_norm(tape, leaf(tape), Parameter("w", (WIDTH,), "fp32", True), None)
    assert y.dtype == "fp32"
    assert kept(tape)[0] == ("input", N * FP32)


def test_a_frozen_gain_keeps_no_normalised_input() -> None:
    for trains in (True, False):
        tape = Tape()
        y = op.scale(tape, leaf(tape), Parameter("w", (WIDTH,), "bf16", trains))
        assert kept(tape) == ([("normalised", N * BF16)] if trains else [])
        del y


def test_no_dropout_is_no_operation() -> None:
    tape = Tape()
    x = leaf(tape)
    assert op.dropout(tape, x, 0.0) is x


def test_dropout_on_a_device_keeps_one_byte_a_value() -> None:
    """native_dropout keeps a mask of booleans; a CPU multiplies by noise in the input's dtype."""
    masks = []
    for on_device in (True, False):
        tape = Tape(on_device=on_device)
        y = op.dropout(tape, leaf(tape), 0.1)
        masks.append(kept(tape))
        del y
    assert masks == [[("dropout mask", N)], [("dropout mask", N * BF16)]]


def test_a_copy_repeats_values_and_sums_their_gradients() -> None:
    """Key and value heads that are shared by several query heads."""
    tape = Tape()
    x = tape.leaf((1, 2, TOKENS, 16), "bf16", needs_grad=True)
    y = op.copied(tape, x, (1, 8, TOKENS, 16))
    assert y.storage.num_bytes == 4 * x.storage.num_bytes
    assert kept(tape) == []
    assert extra_in_backward(tape, y) == y.storage.num_bytes + x.storage.num_bytes


def test_halves_are_rotated_by_way_of_two_full_sized_tensors() -> None:
    """slice_backward puts each half's gradient into zeros of the whole shape, and the two are added."""
    tape = Tape()
    y = op.rotate_half(tape, leaf(tape))
    assert kept(tape) == []
    assert extra_in_backward(tape, y) >= 4 * N * BF16


# products


def test_attention_products_keep_both_factors() -> None:
    tape = Tape()
    q, k = (tape.leaf((1, 4, TOKENS, 32), "bf16", needs_grad=True) for _ in range(2))
    y = products.matmul(tape, q, k, (1, 4, TOKENS, TOKENS), "queries", "keys")
    assert {role for role, _ in kept(tape)} == {"queries", "keys"}
    assert y.storage.num_bytes == 4 * TOKENS * TOKENS * BF16


def test_softmax_keeps_its_result_not_its_input() -> None:
    tape = Tape(on_device=True)
    x = leaf(tape)
    y = products.softmax(tape, x, "fp32")
    assert y.dtype == "fp32"
    assert y.storage.kept
    assert not x.storage.kept


def test_softmax_on_a_device_multiplies_gradient_and_result_before_it_subtracts() -> None:
    """aten/src/ATen/native/cuda/SoftMax.cu: host_softmax_backward is given grad * output."""
    extra = []
    for on_device in (False, True):
        tape = Tape(on_device=on_device)
        y = products.softmax(tape, leaf(tape, "fp32"), "fp32")
        extra.append(extra_in_backward(tape, y))
    assert extra[1] - extra[0] == N * FP32


@given(st.integers(1, 64), st.integers(1, 8))
def test_fused_attention_never_keeps_the_scores(blocks: int, heads: int) -> None:
    """It keeps q, k, v, its output and a log-sum-exp for each row: linear in the sequence."""
    sequence = 256 * blocks
    tape = Tape()
    q, k, v = (tape.leaf((1, heads, sequence, 64), "bf16", needs_grad=True) for _ in range(3))
    y = products.flash_attention(tape, q, k, v)
    assert sum(num_bytes for _, num_bytes in kept(tape)) == 4 * heads * sequence * 64 * BF16 + heads * sequence * FP32
    del y


def test_a_table_keeps_its_ids_and_its_gradient_is_as_large_as_it_is() -> None:
    rows = 1000
    for trains in (True, False):
        tape = Tape()
        ids = tape.new((1, TOKENS), "int64")
        table = Parameter("table", (rows, WIDTH), "bf16", trains)
        y = products.embedding(tape, ids, table)
        assert kept(tape) == ([("ids", TOKENS * INT64)] if trains else [])
        if trains:
            tape.backward(y)
            assert tape.meter.tally[GRADIENTS] == rows * WIDTH * BF16


def test_the_loss_keeps_the_log_softmax_once() -> None:
    """log_softmax keeps its result, and nll_loss keeps the same tensor."""
    vocabulary = 1024
    tape = Tape()
    logits = tape.leaf((1, TOKENS, vocabulary), "fp32", needs_grad=True)
    targets = tape.new((1, TOKENS), "int64")
    loss = products.cross_entropy(tape, logits, targets)
    assert kept(tape)[:2] == [("log-softmax", TOKENS * vocabulary * FP32), ("targets", TOKENS * INT64)]
    assert not logits.storage.kept
    # Two gradients of that size: by the likelihood's backward step, then by the log-softmax's.
    assert extra_in_backward(tape, loss) == pytest.approx(2 * TOKENS * vocabulary * FP32, abs=1024)


def test_a_linear_with_a_bias_makes_the_same_gradients_and_one_more() -> None:
    tallies = []
    for bias in (None, Parameter("b", (WIDTH,), "bf16", True)):
        tape = Tape()
        tape.backward(products.linear(tape, leaf(tape), Parameter("w", (WIDTH, WIDTH), "bf16", True), bias))
        tallies.append(tape.meter.tally[GRADIENTS])
    assert tallies[1] - tallies[0] == 512
