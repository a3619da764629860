"""Walks recorded at symbols and read at numbers. What is right: the same operations run at those numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.peak import Peak, peak_of
from memplan.memory.recorder import Recorder
from memplan.memory.recording import Ledger, Recordings
from memplan.memory.storage import ACTIVATIONS, Meter, Storage
from memplan.memory.symbols import Symbols, counted, digits
from memplan.memory.tape import Parameter, Tape

WIDTH, WINDOW = 96, 300
STEPS = ("linear", "silu", "square", "cast", "mean", "dropout", "windowed", "chunked")


def thirds(batch: int, sequence: int, parts: int) -> int:
    return -(-batch * sequence // parts)


def run(tape: Tape, batch: Any, sequence: Any, steps: list[str]) -> None:
    """A chain of operations, forward; then the gradients."""
    x = tape.leaf((batch, sequence, WIDTH), "bf16", needs_grad=True)
    for number, step in enumerate(steps):
        if step == "linear":
            x = products.linear(tape, x, Parameter(f"w{number}", (WIDTH, WIDTH), "bf16", trainable=number % 2 == 0))
        elif step == "silu":
            x = op.pointwise(tape, x, "input")
        elif step == "square":
            x = op.mul(tape, x, x)
        elif step == "cast":
            x = op.to(tape, x, "fp32" if x.dtype == "bf16" else "bf16")
        elif step == "mean":
            x = op.mul_by_row_scalar(tape, x, op.mean(tape, x))
        elif step == "dropout":
            x = op.dropout(tape, x, 0.5)
        elif step == "windowed" and sequence >= WINDOW:
            mask = tape.new((sequence, sequence), "bool")
            x = op.mul_by_constant(tape, x, mask, "mask")
        elif step == "chunked":
            chunk = tape.new((counted(batch, sequence, thirds, 3), WIDTH), "fp32")
            x = op.plus_constant(tape, x)
            del chunk
    tape.backward(x)


@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=8),
    places=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 700)), min_size=1, max_size=4),
)
def test_what_is_read_is_what_the_same_operations_take(steps: list[str], places: list[tuple[int, int]]) -> None:
    def record(recorder: Recorder, symbols: Symbols) -> tuple[Peak, Peak, Ledger]:
        tape = Tape(recorder)
        run(tape, symbols.batch, symbols.sequence, steps)
        return peak_of(recorder), Peak(0, tuple(recorder.tally)), Ledger(tuple(tape.kept))

    recordings = Recordings(record)
    for batch, sequence in places:
        (peak, left, ledger), reading = recordings.at(batch, sequence)
        plain = Tape(Meter())
        run(plain, batch, sequence, steps)
        found = reading.peak(peak)
        assert (found.total, found.tally) == (plain.meter.peak, plain.meter.peak_tally)
        assert reading.peak(left).tally == tuple(plain.meter.tally)
        assert list(ledger.read(reading)) == plain.kept


def test_a_walk_that_asks_how_long_a_sequence_is_is_recorded_for_each_answer() -> None:
    recorded: list[int] = []

    def record(recorder: Recorder, symbols: Symbols) -> None:
        recorded.append(symbols.sequence.example)
        run(Tape(recorder), symbols.batch, symbols.sequence, ["windowed"])

    recordings = Recordings(record)
    for sequence in (1000, WINDOW, 5000, WINDOW - 1, 1, 700):
        recordings.at(2, sequence)
    assert recorded == [1000, WINDOW - 1]


def test_the_peak_of_symbols_is_every_level_that_may_be_the_fullest() -> None:
    """Either a square or two rows are the most, by how long the sequence is."""

    def record(recorder: Recorder, symbols: Symbols) -> Peak:
        for size in (symbols.sequence**2, 2000 * symbols.sequence):
            Storage(recorder, recorder.size(size), ACTIVATIONS)
        return peak_of(recorder)

    symbols = Symbols(1, 512)
    noted, reading = Recordings(record).at(symbols.batch, symbols.sequence)
    levels = {level.total for level in reading.peak(noted).levels}
    assert levels == {symbols.sequence**2, 2000 * symbols.sequence}


@given(st.dictionaries(st.integers(0, 40), st.integers(-(2**28), 2**28).filter(bool), max_size=6))
def test_digits_are_read_as_they_were_written(written: dict[int, int]) -> None:
    number = sum(digit << (30 * place) for place, digit in written.items())
    assert dict(digits(number, 30)) == written


@pytest.mark.parametrize("sequence", [1, 511, 512, 513])
def test_each_tensor_is_rounded_up_to_blocks_of_its_own(sequence: int) -> None:
    def record(recorder: Recorder, symbols: Symbols) -> int:
        held = [Storage(recorder, recorder.size(3 * symbols.sequence), ACTIVATIONS) for _ in range(5)]
        now: int = recorder.now
        del held
        return now

    now, reading = Recordings(record).at(1, sequence)
    assert reading.amount(now) == 5 * -(-3 * sequence // 512) * 512
