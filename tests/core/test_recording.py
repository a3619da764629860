"""Walks recorded at symbols and read at numbers. What is right: the same operations run at those numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.estimate import estimate
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.peak import Peak, peak_of
from memplan.memory.recorder import Recorder
from memplan.memory.recording import Ledger, Reading, Recordings
from memplan.memory.storage import ACTIVATIONS, Meter, Storage
from memplan.memory.summits import Course
from memplan.memory.symbols import Symbol, Symbols, counted, digits
from memplan.memory.tape import Parameter, Tape
from memplan.plan.scenario import Scenario
from tests.core.truth_cases import cases

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


class Found(NamedTuple):
    peak: Peak
    left: Peak
    ledger: Ledger


def read(found: Found, reading: Reading) -> Found:
    return Found(reading.peak(found.peak), reading.peak(found.left), found.ledger.read(reading))


@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=8),
    places=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 700)), min_size=1, max_size=4),
)
def test_what_is_read_is_what_the_same_operations_take(steps: list[str], places: list[tuple[int, int]]) -> None:
    def walk(meter: Meter, batch: Any, sequence: Any) -> Found:
        tape = Tape(meter)
        run(tape, batch, sequence, steps)
        return Found(peak_of(meter), Peak(0, tuple(meter.tally)), Ledger(tuple(tape.kept)))

    recordings = Recordings(walk, read, asked=True)
    for batch, sequence in places:
        found = recordings.at(batch, sequence)
        plain = Tape(Meter())
        run(plain, batch, sequence, steps)
        assert (found.peak.total, found.peak.tally) == (plain.meter.peak, plain.meter.peak_tally)
        assert found.left.tally == tuple(plain.meter.tally)
        assert list(found.ledger) == plain.kept


def test_a_walk_is_recorded_when_it_is_asked_for_again_and_for_each_answer_about_its_size() -> None:
    walked: list[int] = []

    def walk(meter: Meter, batch: Any, sequence: Any) -> None:
        walked.append(sequence.example if isinstance(sequence, Symbol) else -sequence)
        run(Tape(meter), batch, sequence, ["windowed"])

    recordings = Recordings(walk, lambda found, _: found)
    for sequence in (900, 1000, WINDOW, 5000, WINDOW - 1, 1, 700):
        recordings.at(2, sequence)
    assert walked == [-900, 1000, WINDOW - 1]


def test_the_peak_of_symbols_is_every_level_that_may_be_the_fullest() -> None:
    """Either a square or two rows are the most, by how long the sequence is."""

    def walk(meter: Meter, batch: Any, sequence: Any) -> Peak:
        for size in (sequence**2, 2000 * sequence):
            Storage(meter, meter.size(size), ACTIVATIONS)
        return peak_of(meter)

    symbols = Symbols(1, 512)
    found = Recordings(walk, lambda noted, reading: reading.peak(noted)).at(symbols.batch, symbols.sequence)
    assert {level.total for level in found.levels} == {symbols.sequence**2, 2000 * symbols.sequence}


@given(st.dictionaries(st.integers(0, 40), st.integers(-(2**28), 2**28).filter(bool), max_size=6))
def test_digits_are_read_as_they_were_written(written: dict[int, int]) -> None:
    number = sum(digit << (30 * place) for place, digit in written.items())
    assert dict(digits(number, 30)) == written


@pytest.mark.parametrize("sequence", [1, 511, 512, 513])
def test_each_tensor_is_rounded_up_to_blocks_of_its_own(sequence: int) -> None:
    def walk(meter: Meter, batch: Any, sequence: Any) -> int:
        held = [Storage(meter, meter.size(3 * sequence), ACTIVATIONS) for _ in range(5)]
        now: int = meter.now
        del held
        return now

    found = Recordings(walk, lambda now, reading: reading.amount(now), asked=True).at(1, sequence)
    assert found == 5 * -(-3 * sequence // 512) * 512


@pytest.mark.parametrize("sequence", [1, 170, 171, 512, 5000])
def test_of_two_moments_the_fuller_one_is_found_however_tensors_are_rounded_up(sequence: int) -> None:
    """Four tensors of a row each take up to four blocks, where one as large as five rows takes one: by hand."""

    def walk(meter: Meter, batch: Any, sequence: Any) -> Peak:
        for sizes in ([sequence] * 4, [5 * sequence]):
            held = [Storage(meter, meter.size(size), ACTIVATIONS) for size in sizes]
            del held
        return peak_of(meter)

    found = Recordings(walk, lambda noted, reading: reading.peak(noted), asked=True).at(1, sequence)
    assert found.total == max(4 * -(-sequence // 512), -(-5 * sequence // 512)) * 512


def test_moments_that_another_exceeds_at_every_size_are_left_out() -> None:
    """What makes reading cheap: of twelve moments, two may be the fullest."""
    symbols, recorder = Symbols(1, 512), Recorder()
    for number in range(1, 7):
        for size in (512 * number * symbols.sequence**2, 512 * number * 2000 * symbols.sequence):
            Storage(recorder, recorder.size(size), ACTIVATIONS)
    assert len(Course(recorder, symbols).summits(*recorder.span())) == 2


def test_a_size_of_nothing_is_nothing_at_every_sequence() -> None:
    """The gated delta rule has one state less than chunks: none where the first walk had one chunk."""
    config = next(case["model"] for case in cases("families_hybrid.json") if case["id"] == "olmo_hybrid, full")
    for checkpointing, sequence in (("none", 1), ("full", 1), ("none", 300), ("full", 300)):
        training = {"weights_dtype": "fp32", "autocast": "bf16", "checkpointing": checkpointing}
        scenario = {"model": {"config": config}, "training": {**training, "sequence_length": sequence}}
        assert estimate(Scenario.model_validate(scenario)).bytes.peak > 0
