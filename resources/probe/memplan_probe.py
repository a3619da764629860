"""Measures what a training run takes of its device, for `memplan calibrate`.

Put this file beside your training script and write `import memplan_probe` near its top. When the run ends, it leaves
memplan-probe-rankN.json: the most that tensors held, that the allocator took, and that nvidia-smi shows. A few hundred
steps are enough, if the longest samples are among them. It changes nothing in the run, and needs nothing but PyTorch.
"""

import atexit
import json
import os
import subprocess


def _of_this_process():
    """What nvidia-smi shows for this process, in bytes; None where it does not know it (in most containers)."""
    command = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.splitlines()
        rows = [line.split(",") for line in lines if line.count(",") == 1]
        found = [int(used) * 2**20 for pid, used in rows if int(pid) == os.getpid()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return max(found, default=None)


def _write():
    import torch

    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return
    device = torch.cuda.current_device()
    stats = torch.cuda.memory_stats(device)
    rank = int(os.environ.get("RANK", "0"))
    content = {
        "memplan_probe": 1,
        "rank": rank,
        "device": torch.cuda.get_device_name(device),
        "total_bytes": torch.cuda.get_device_properties(device).total_memory,
        "torch": torch.__version__,
        "allocated_bytes": torch.cuda.max_memory_allocated(device),
        "reserved_bytes": torch.cuda.max_memory_reserved(device),
        "process_bytes": _of_this_process(),
        "ran_out": stats.get("num_ooms", 0) > 0,
    }
    with open(f"memplan-probe-rank{rank}.json", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)


atexit.register(_write)
