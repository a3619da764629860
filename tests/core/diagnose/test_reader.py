"""Every message that people posted is read: each figure that it states, no other, whatever became of its lines."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from memplan.diagnose import Amount, Message, read_messages
from memplan.diagnose.causes import causes, short_by
from memplan.errors import MemplanError
from memplan.units import GIB
from tests.core.diagnose.oom_cases import MESSAGES, RECORDS

KINDS = {
    "pytorch-cuda": "cuda",
    "pytorch-cuda+deepspeed": "cuda",
    "pytorch-hip": "hip",
    "pytorch-mps": "mps",
    "pytorch-npu": "npu",
    "pytorch-xpu": "xpu",
    "pytorch-cpu": "host",
    "pytorch-xla": "xla",
    "jax-gpu": "xla",
    "jax-tpu": "xla",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-tpu": "tensorflow",
    "bitsandbytes": "bitsandbytes",
    "mlx": "mlx",
}
FIELDS = (
    "asked",
    "total",
    "limit",
    "allocated",
    "pools",
    "active",
    "reserved",
    "unallocated",
    "free",
    "contiguous",
    "process",
    "outside",
)
FIGURE = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:[KMGTE]i?B|bytes|B\b|[KMG](?=[\s.,;)]))|(?:_bytes_|memory_limit_|available bytes): (\d+)"
)


def one(text: str | bytes) -> Message:
    found = read_messages(text).messages
    assert len(found) == 1, found
    return found[0]


def bare(message: Message) -> Message:
    """What is stated, without where it stands."""
    return replace(message, line=1, rank=None, repeats=1, place="", instant=None, makes=None, in_warning=False)


def amounts(message: Message) -> dict[str, Amount]:
    found = {name: getattr(message, name) for name in FIELDS}
    return {name: amount for name, amount in found.items() if amount is not None}


@pytest.mark.parametrize("record", MESSAGES, ids=lambda record: record["id"])
def test_kind_and_stated_numbers(record: dict[str, Any]) -> None:
    message = one(record["text"])
    assert message.kind == KINDS[record["framework"]]
    for name, gib in record.get("stated_gib", {}).items():
        amount = message.reserved_in_all if name == "reserved" else getattr(message, name)
        if name == "outside_allocator" and amount is None:
            continue  # a difference that the record takes of other figures
        assert amount is not None, name
        assert amount.low_bytes / GIB - 0.006 <= gib <= amount.high_bytes / GIB + 0.006, name


@pytest.mark.parametrize("record", MESSAGES, ids=lambda record: record["id"])
def test_no_figure_is_lost_and_none_is_made_up(record: dict[str, Any]) -> None:
    """Each figure with a unit that stands in the text is in one field (or told as not believed), and no other is."""
    text = " ".join(record["text"].split())
    message = one(record["text"])
    stated = amounts(message)
    if message.shape is not None:
        del stated["asked"]  # follows from shape and dtype
    read = Counter(float(amount.text.split()[0]) for amount in stated.values())
    read += Counter(float(other.held.text.split()[0]) for other in message.others)
    written = Counter(float(next(group for group in found if group)) for found in FIGURE.findall(text))
    refused = Counter(float(found[0]) for note in message.notes for found in FIGURE.findall(note) if "left out" in note)
    twice = Counter({64.0: 1} if "64.00MiB (67108864B)" in text else {})
    assert read == written - refused - twice


WIDTHS = (20, 37, 61, 80, 100, 118)


@pytest.mark.parametrize("record", MESSAGES, ids=lambda record: record["id"])
def test_the_same_is_read_however_it_was_copied(record: dict[str, Any]) -> None:
    text = record["text"]
    plain = bare(one(text))
    chance = random.Random(record["id"])
    copies = [
        *("\n".join(text[start : start + width] for start in range(0, len(text), width)) for width in WIDTHS),
        "before\r\n" + text.replace("\n", "\r\n") + "\r\nafter",
        "".join(("\x1b[31m" if chance.random() < 0.1 else "") + letter for letter in text),
        f" 10%|███       | 5/50 [00:01<00:10,  4.5it/s]\r{text}\n 12%|█▏        | 6/50 [00:01<00:10]",
        text.encode("utf-16"),
        b"\xef\xbb\xbf" + text.encode(),
        "\n".join(f"> {line}" for line in text.split("\n")),
        f"{text}\n\nDuring handling of the above exception, another exception occurred:\n\n{text}",
    ]
    for copy in copies:
        assert bare(one(copy)) == plain


def test_ranks_are_told_apart() -> None:
    lines = RECORDS["oom-047"]["text"].split("\n")
    text = "\n".join(f"[rank{rank}]: {line}" for line in lines for rank in (0, 3))
    found = read_messages(text).messages
    assert [message.rank for message in found] == [0, 3]
    assert bare(found[0]) == bare(found[1]) == bare(one(RECORDS["oom-047"]["text"]))


def test_several_messages_in_one_text() -> None:
    text = "\n".join(record["text"] for record in MESSAGES if record["framework"] == "pytorch-cuda")
    found = read_messages(text).messages
    assert len(found) == len([record for record in MESSAGES if record["framework"] == "pytorch-cuda"])
    assert [message.line for message in found] == sorted(message.line for message in found)


def test_missing_numbers_are_not_stated() -> None:
    message = one("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB (GPU 0; [...]")
    assert (message.device, amounts(message).keys()) == (0, {"asked"})
    assert one("RuntimeError: CUDA out of memory.").asked is None


def test_zero_that_is_stated_is_zero() -> None:
    message = one(RECORDS["oom-106"]["text"])
    assert message.free is not None
    assert (message.free.low_bytes, message.free.high_bytes) == (0, 0)


def test_a_counter_that_ran_over_is_not_believed() -> None:
    """2^64 bytes, read in oom-003: PyTorch subtracted more than there was."""
    message = one(RECORDS["oom-003"]["text"])
    assert message.process is None
    assert "17179869184.00 GiB" in message.notes[0]


def test_a_lost_point_is_refused_and_told() -> None:
    """oom-136 was typed from a photograph: 37.64 GiB became 3764 GiB on a card of 39.43."""
    message = one(RECORDS["oom-136"]["text"])
    assert message.reserved is None
    assert "37.64 GiB" in message.notes[0]
    assert (message.device, message.asked.text if message.asked else "") == (0, "388.00 MiB")


def test_windows_lends_memory_beyond_the_card() -> None:
    message = one(
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 14.10 GiB already allocated; "
        "0 bytes free; 14.35 GiB reserved in total by PyTorch)"
    )
    assert message.allocated is not None
    assert "Windows" in message.notes[0]


def test_this_process_under_a_number_is_recognized() -> None:
    """In containers PyTorch does not know its own process; oom-037 has four other ranks' contexts beside it."""
    message = one(RECORDS["oom-037"]["text"])
    assert message.process is not None
    assert message.process.text == "21.98 GiB"
    assert [other.held.text for other in message.others] == ["398.00 MiB"] * 4


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[metal::malloc] Attempting to allocate 134217728000 bytes which is greater than the maximum allowed buffer size of 77309411328 bytes.", "mlx"),
        ("[METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)", "metal"),
        ("RuntimeError: CUDA error: out of memory", "driver"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "driver"),
        ("NCCL WARN Cuda failure 'out of memory'", "driver"),
        ("Out of memory: Killed process 4123 (python) total-vm:98765kB, anon-rss:61234567kB, file-rss:0kB", "host"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.", "host"),
        ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 12.0 GiB for an array with shape (32000, 100663) and data type float32", "host"),
        ("./run.sh: line 3: 12345 Killed                  python train.py", "host"),
        ("[1]+  12345 Killed                  python train.py", "host"),
        ("zsh: killed     python train.py", "host"),
        ("torch.distributed.elastic.multiprocessing.api: failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: python", "host"),
        ("RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.27G of 15.48G hbm. Exceeded hbm capacity by 1.79G.", "xla"),
        ("[2024-01-22 16:50:49,560] [ERROR] [launch.py:321:sigkill_handler] ['python', 'train.py'] exits with return code = -9", "host"),
        ("Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137", "host"),
        ("RuntimeError: DataLoader worker (pid 12345) is killed by signal: Killed.", "host"),
        ("OSError: [WinError 1455] The paging file is too small for this operation to complete.", "host"),
        ("Your session crashed after using all available RAM.", "host"),
        ("Runtime error\nMemory limit exceeded (16Gi)", "host"),
        ("    self.fp32_groups[i] = t.pin_memory()\nRuntimeError: CUDA error: out of memory", "host"),
        ("RuntimeError: unable to mmap 9976572928 bytes from file <a.bin>: Cannot allocate memory (12)", "host"),
        ("[Alloc][DevMem] rtMalloc failed, return value[207001], para: size[209715200]", "driver"),
        ("RuntimeError: No executable batch size found, reached zero.", "batch_search"),
        ("NCCL WARN Cuda failure 2 'out of memory'", "driver"),
        ("torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/", "driver"),
        ("MPS backend out of memory (MPS allocated: 1.00 GB, other allocations: 2.00 MB). Tried to allocate 3.00 GB on private pool.", "mps"),
    ],
)  # fmt: skip
def test_further_wordings(text: str, kind: str) -> None:
    assert one(text).kind == kind


POSTED: list[tuple[str, str, dict[str, str]]] = [
    (
        "Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.7, ID: fc2be) where the task "
        "(actor ID: f9cc, name=Worker.__init__, pid=4331, memory used=2.22GB) was running was 59.49GB / 62.58GB (0.950744), "
        "which exceeds the memory usage threshold of 0.95.",
        "host", {"allocated": "59.49 GB", "total": "62.58 GB", "process": "2.22 GB"},
    ),  # ray 2, real-stanford/flingbot#11
    (
        "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node\nlab-7 is used (11.8 / 12.3 GB). The top 5",
        "host", {"allocated": "11.8 GB", "total": "12.3 GB"},
    ),  # ray 0.8, ray-project/ray#3323
    (
        "[utils.py:799:see_memory_usage] CPU Virtual Memory: used = 26.4 GB, percent = 84.6%\n"
        "[launch.py:315:sigkill_handler] Killing subprocess 108\n['python', 'train.py'] exits with return code = -9",
        "host", {"allocated": "26.4 GB"},
    ),  # deepspeedai/DeepSpeed#4571
    (
        "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.85 GiB "
        "(GPU  0; 15.56 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)",
        "xpu", {"asked": "6.85 GiB", "contiguous": "4 GB", "total": "15.56 GiB", "allocated": "0 bytes", "reserved": "0 bytes"},
    ),  # intel/intel-extension-for-pytorch#629
    ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.", "cuda", {"asked": "1 EB"}),
    (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which "
        "244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB "
        "allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.",
        "hip", {"asked": "2.00 MiB", "total": "255.98 GiB", "free": "244.65 GiB", "limit": "1.05 GiB", "allocated": "1017.01 MiB",
                "pools": "17.00 MiB", "unallocated": "54.99 MiB"},
    ),  # ROCm/TheRock#2118
    (
        "[3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n\n[3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc "
        "6291456 bytes\nLast error:\nFailed to CUDA calloc 6291456 bytes",
        "driver", {"asked": "6291456 bytes"},
    ),  # NVIDIA/nccl#1235
    (
        "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::3288334336 (3136)MB",
        "hpu", {"asked": "3288334336 bytes"},
    ),  # huggingface/optimum-habana#289
    ("RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM OOM: No enough memory for defragment.", "hpu", {}),
    (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        "host", {},
    ),  # hongsukchoi/TCMR_RELEASE#24; pytorch, torch/csrc/DataLoader.cpp
    (
        "RuntimeError: DataLoader worker (pid 11011) is killed by signal: Bus error. It is possible that dataloader's "
        "workers are out of shared memory. Please try to raise your shared memory limit.",
        "host", {},
    ),  # pytorch/pytorch#108861
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "stated"), POSTED)
def test_each_figure_of_messages_that_were_posted(text: str, kind: str, stated: dict[str, str]) -> None:
    message = one(text)
    assert message.kind == kind
    assert {name: amount.text for name, amount in amounts(message).items()} == stated


def test_a_limit_and_room_on_the_card_blame_nobody_else() -> None:
    """ROCm/TheRock#2118: 244.65 GiB were free; the process was allowed 1.05 GiB."""
    assert [cause.name for cause in causes(one(POSTED[5][0]))][:1] == ["limit"]


@pytest.mark.parametrize(
    "text",
    [
        "No out of memory here",
        "train loss 2.3; no OOM so far",
        "we never ran out of memory with this",
        "INFO set expandable_segments to avoid CUDA out of memory errors",
        "If you run out of memory, lower --batch",
        "This may cause CUDA out of memory on small cards.",
        "except torch.cuda.OutOfMemoryError:",
        "        if 'out of memory' in str(error):",
        "[INFO] oom killer disabled",
        "low 0\noom 0\noom_kill 0\n",
        "OOM errors: 0",
        '"OOMKilled": false,',
        "TORCH out of memory handling enabled",
        "from torch.cuda import OutOfMemoryError",
        "OOM errors can be avoided with gradient checkpointing",
        "see https://example.org/faq#cuda-out-of-memory",
    ],
)
def test_what_only_mentions_the_words_is_no_message(text: str) -> None:
    assert read_messages(text).messages == ()
    assert read_messages(f"step 1\n{text}\nstep 2").messages == ()


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA out of memory.",
        "I get OOM when I train",
        "if I use batch 4 I get CUDA out of memory",
        "it ran out of memory after 3 steps",
        "WARNING: ran out of memory in one batch, retrying",
        "python invoked oom-killer: gfp_mask=0xcc0, order=0",
        "the run was killed because of out of memory",
        "MemoryError",
        "        except torch.cuda.OutOfMemoryError:\nRuntimeError: CUDA out of memory.",
    ],
)
def test_what_says_that_it_happened_is_one(text: str) -> None:
    assert len(read_messages(text).messages) == 1


def test_a_mention_beside_a_message_takes_nothing_away() -> None:
    text = RECORDS["oom-036"]["text"]
    assert bare(one(f"To avoid CUDA out of memory, lower the batch.\n{text}\nno OOM before that")) == bare(one(text))


def test_a_program_that_xla_did_not_start() -> None:
    """jaxlib's TPU compiler: what the whole program needs, of what there is."""
    message = one(
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.27G of "
        "15.48G hbm. Exceeded hbm capacity by 1.79G."
    )
    assert {name: amount.text for name, amount in amounts(message).items()} == {"asked": "17.27 G", "total": "15.48 G"}
    assert message.is_of_a_program
    missing = short_by(message)
    assert missing is not None
    assert missing.low_bytes <= 1.79 * GIB <= missing.high_bytes


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.\n"
            "{'bytes_in_use': 9999999, 'peak_bytes_in_use': 12000000, 'bytes_limit': 16106127360}",
            {"asked": 17179869184, "allocated": 9999999, "limit": 16106127360},
        ),
        (
            "bfc_allocator.cc:1138] Stats: \nLimit:                     25434587136\nInUse:                     "
            "23434587136\nMaxInUse:                  24434587136\nNumAllocs:  123\nXlaRuntimeError: RESOURCE_EXHAUSTED: "
            "Out of memory while trying to allocate 4294967296 bytes.",
            {"asked": 4294967296, "allocated": 23434587136, "limit": 25434587136},
        ),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes.", {"asked": 8589934592}),
    ],
)
def test_what_jax_has_and_may_have(text: str, stated: dict[str, int]) -> None:
    message = one(text)
    assert message.kind == "xla"
    assert {name: amount.low_bytes for name, amount in amounts(message).items()} == stated


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("RuntimeError: [metal::malloc] Resource limit (499000) exceeded.", 499_000),
        ("std::runtime_error: [malloc] Resource limit exceeded", None),
    ],
)
def test_mlx_counts_buffers_too(text: str, allowed: int | None) -> None:
    """mlx/backend/metal/allocator.cpp: a count of buffers, whatever they hold."""
    message = one(text)
    assert (message.kind, message.out_of, message.buffers) == ("mlx", "buffers", allowed)
    (cause,) = causes(message)
    assert cause.name == "not_memory"
    assert "count of buffers" in cause.sentence


def test_text_without_a_message() -> None:
    found = read_messages("Iter 10: Train loss 1.2, Peak mem 121.550 GB")
    assert found.messages == ()
    assert found.figures == ("Train loss 1.2, Peak mem 121.550 GB",)
    assert read_messages("").messages == ()


def test_what_a_person_says() -> None:
    message = one(RECORDS["oom-026"]["text"])
    assert (message.kind, message.asked.text if message.asked else "") == ("unknown", "49 G")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n" + bytes(100), bytes(range(256)) * 40, b"\x1f\x8b\x08" + bytes(50)]
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(MemplanError, match="not text"):
        read_messages(data)


@pytest.mark.parametrize("before", [0, 8 * 2**20 - 300, 8 * 2**20 - 7000, 9_000_000])
def test_a_message_anywhere_in_a_long_log(before: int) -> None:
    """Logs are read in pieces of 8 MiB: none may cut a message."""
    line = b"step 1 loss 2.34 allocated 12.3 GiB\n"
    head = line * (before // len(line)) + b"x" * (before % len(line))
    text = RECORDS["oom-107"]["text"].encode()
    found = read_messages(head + b"\n[rank6]: " + text + b"\n" + line * 300_000).messages
    assert [bare(message) for message in found] == [bare(one(text))]
    assert (found[0].rank, found[0].line) == (6, head.count(b"\n") + 2)


def test_a_log_that_repeats_it_is_read_once_and_the_rest_is_counted() -> None:
    text = RECORDS["oom-036"]["text"].encode() + b"\n"
    found = read_messages(text * 40_000)
    assert len(found.messages) == 1
    assert found.messages[0].repeats > 100
    assert found.unread > 1000


def test_the_place_comes_from_the_traceback() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n    optimizer.step()\n'
        '  File "adamw.py", line 1, in _multi_tensor_adamw\n    exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)\n'
        + RECORDS["oom-053"]["text"]
    )
    message = one(text)
    assert (message.instant, message.makes) == ("optimizer_step", "temporary buffers")


def test_models_that_a_text_names() -> None:
    text = f"model_name_or_path: meta-llama/Llama-3.1-8B\n{RECORDS['oom-040']['text']}"
    assert read_messages(text).models == ("meta-llama/Llama-3.1-8B",)


def test_a_line_with_thousands_of_messages_is_read_in_one_go() -> None:
    """Looking anew through the whole line at each of them took minutes."""
    (message,) = read_messages("oom-kill event " * 10_000).messages
    assert (message.kind, message.repeats) == ("host", 10_000)


BUS_ERROR = (
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
    "RuntimeError: DataLoader worker (pid 2991) is killed by signal: Bus error. It is possible that dataloader's workers "
    "are out of shared memory. Please try to raise your shared memory limit."
)
"""hongsukchoi/TCMR_RELEASE#24, as PyTorch writes it."""


def test_a_bus_error_is_of_shared_memory_and_told_once() -> None:
    (message,) = read_messages(BUS_ERROR).messages
    assert (message.kind, message.out_of, message.killed) == ("host", "shared memory", False)


@pytest.mark.parametrize(
    "text",
    [
        "torch.distributed.elastic.multiprocessing.api: failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: python",
        "RuntimeError: DataLoader worker (pid 12345) is killed by signal: Killed.",
        "zsh: killed     python train.py",
        "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.",
    ],
)
def test_signal_9_alone_does_not_say_why(text: str) -> None:
    """A kernel out of memory sends it, and so do schedulers and people; beside the kernel's own word it is sure."""
    assert one(text).killed
    kernel = "Out of memory: Killed process 4123 (python) total-vm:98765kB, anon-rss:61234567kB, file-rss:0kB"
    assert not any(message.killed for message in read_messages(f"{text}\n{kernel}").messages)


def test_a_kernels_word_is_sure() -> None:
    assert not one("Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137").killed


def test_gaudi_names_the_rank() -> None:
    text = "[rank7]: RuntimeError: [Rank:7] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::2123366400 (2025)MB"
    assert (one(text).rank, one(text).asked.low_bytes) == (7, 2_123_366_400)  # huggingface/optimum-habana#2214
    assert one(text.partition(": ")[2]).rank == 7
