"""Reading a long log, and answering one message: with a plan, and without."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.table import Table

import memplan
from benchmarks.timing import Timing, table, time_calls

LOG_BYTES = 100_000_000
LINE = b"{'loss': 1.2345, 'grad_norm': 0.53, 'learning_rate': 1e-05, 'epoch': 0.12} allocated 12.3 GiB\n"
MESSAGE = (
    b"[rank5]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.14 GiB (GPU 5; 31.75 GiB total "
    b"capacity; 28.28 GiB already allocated; 1.95 GiB free; 28.28 GiB reserved in total by PyTorch)\n"
)
RUN = {
    "model": {"catalog": "huggyllama/llama-7b"},
    "training": {"weights_dtype": "fp16", "master_weights": True, "sequence_length": 512},
    "hardware": {"device": "v100-32gb", "devices": 8, "sharding": {"strategy": "zero2"}},
}


def measure() -> Table:
    """Times the log, the message alone, and the message held against a plan."""
    log = LINE * (LOG_BYTES // len(LINE)) + MESSAGE
    message = memplan.read_messages(MESSAGE).messages[0]
    scenario = memplan.Scenario.model_validate(RUN)
    small = time_calls("one message read", lambda: memplan.read_messages(MESSAGE), runs=200)
    timings: list[Timing] = [
        small,
        time_calls("a log of 100 MB read", lambda: memplan.read_message_stream(io.BytesIO(log)), runs=5),
        time_calls("one message, numbers alone", lambda: memplan.diagnose(message), runs=200),
        time_calls("one message with its plan", lambda: memplan.diagnose(message, scenario), runs=20),
    ]
    return table("Out-of-memory messages", [timings[0], *(replace(t, beside=small) for t in timings[1:])])
