"""How many bytes a value takes in each format that weights, gradients, states and activations come in."""

from __future__ import annotations

BYTES_PER_VALUE: dict[str, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int64": 8, "int32": 4, "uint8": 1, "bool": 1}
"""IEEE 754 single and half precision, bfloat16, and the integers that ids, masks and packed weights are held in."""
