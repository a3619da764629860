"""How fast a device computes, and how fast bytes come to it: from its memory, its host and its neighbours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memplan.catalog import Device

UTILISATION = 0.4
"""Share of a device's peak arithmetic that training reaches: 38% to 43% on H100s (Llama 3, arXiv:2407.21783, table 4).
40% is taken for every device; slowdowns, being ratios, depend little on it."""
HOST_GB_S = 100
"""What a server's processor reads and writes of its own memory: eight channels of DDR4-3200 come to 205 GB/s at best;
half of it is taken."""
_PCIE_GB_S = {3: 16, 4: 32, 5: 64, 6: 128}
"""PCIe, 16 lanes, one way, as its generations are specified (PCI-SIG)."""
_PCIE_SHARE = 0.8
"""Share of it that copies of page-locked memory reach, packets' headers and acknowledgements taken off: NVIDIA's
bandwidthTest shows about 25 GB/s over 16 lanes of PCIe 4.0 (general knowledge, not looked up)."""
_NETWORK_GB_S = 50
"""Between nodes, for each device's own network card: 400 Gb/s InfiniBand, as DGX H100 has. Devices of one node send
over all of their cards together: NCCL lays a ring through each card (NVIDIA/nccl-tests issue 290: 46 to 48 GB/s a card;
NVIDIA/nccl issue 1218: 340 GB/s over 32 nodes of 8 H100)."""
_TFLOPS_PER_GB_S = 0.17
"""Where a source gives no arithmetic: what devices of the catalog have for each GB/s of memory, in the middle."""
_UNKNOWN_GB_S = 300


@dataclass(frozen=True, slots=True)
class Links:
    """Rates of one device, in bytes and operations per second."""

    flops: float
    memory: float
    host: float | None
    """None where device and host share one memory."""
    neighbours: float
    """Between devices of one node, one way."""
    network: float
    """Between nodes, one way, over one device's network card."""

    def between(self, cards: int) -> float:
        """The rate between devices of a group.

        Args:
            cards: how many of a node's network cards the group sends over; 0 where all of it is of one node.
        """
        return min(self.neighbours, cards * self.network) if cards else self.neighbours


@lru_cache(maxsize=512)
def links_of(device: Device) -> Links:
    """What a device's catalog entry says of its rates; PCIe 4.0 where it is silent.

    NVLink is quoted both ways together, so half of it is one way.

    >>> from memplan.catalog import device
    >>> found = links_of(device("a100-80gb-sxm"))
    >>> round(found.flops / 1e12), found.host / 1e9, found.neighbours / 1e9
    (125, 25.6, 300.0)
    """
    text = device.interconnect or ""
    memory = device.bandwidth_gb_s or _UNKNOWN_GB_S
    tflops = device.bf16_tflops or device.fp16_tflops or device.fp32_tflops or memory * _TFLOPS_PER_GB_S
    found = re.search(r"PCIe (\d)\.0(?: x(\d+))?", text)
    specified = (
        _PCIE_GB_S[int(found[1])] * int(found[2] or 16) / 16 if found else _PCIE_GB_S[5 if _is_new(device) else 4]
    )
    pcie = _PCIE_SHARE * specified
    near = re.search(r"(?:NVLink|Infinity Fabric)(?:-C2C)? ([\d.]+) GB/s", text)
    shared = device.device_class == "unified"
    host = float(near[1]) / 2 if near and "C2C" in text else pcie
    return Links(
        flops=UTILISATION * tflops * 1e12,
        memory=memory * 1e9,
        host=None if shared else host * 1e9,
        neighbours=(float(near[1]) / 2 if near and "C2C" not in text else pcie) * 1e9,
        network=_NETWORK_GB_S * 1e9,
    )


def _is_new(device: Device) -> bool:
    return device.architecture.startswith(("Hopper", "Blackwell"))
