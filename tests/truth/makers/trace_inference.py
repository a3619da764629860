"""Traces a prompt read and the next token made, with the cache of keys and values: what `tests/truth/generation.json` holds.

    python trace_inference.py cases.json > traced.jsonl     # a list of cases; prints one a line, with "bytes" filled in

Needs `trace_step.py` beside it or on PYTHONPATH, torch 2.13 (CPU) and transformers 5.24. Every tensor is a FakeTensor,
and bytes are counted as `trace_step.py` counts them. What is done between two calls of the model is what
`GenerationMixin._sample` does greedily: the last position's logits are copied to fp32, the best token is appended to
the ids, the outputs go. Two runs make a case: a prompt of `sequence_length` tokens (`loaded`, `prefill_peak`,
`prefill_end` with the outputs still there), and one of a token less whose second new token meets a cache of
`sequence_length` tokens that decoding has made (`decode_peak`, `decode_end`; `kv_cache` is what the cache holds then).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from trace_step import BLOCK, DEFAULTS, DTYPES, LORA, SHARD, LiveBytes, _build


def generate(case: dict[str, Any], prompt: int, steps: int) -> dict[str, int]:
    """Read a prompt and make `steps` further tokens; bytes alive, those of decoding of the last token."""
    live, out = LiveBytes(), {}
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), live:
            model = _build({**case, "method": "full"}, LORA, SHARD, None).eval()
            out["parameters"] = sum(parameter.numel() for parameter in model.parameters())
            out["loaded"] = live.now
            ids = torch.ones((case["micro_batch"], prompt), dtype=torch.long)
            cache, fed, keeps = None, ids, "logits_to_keep" if model._supports_logits_to_keep() else ""
            with (
                torch.no_grad(),
                torch.autocast("cpu", DTYPES.get(case["autocast"]), enabled=case["autocast"] != "none"),
            ):
                for step in range(steps + 1):
                    live.reset_peak()
                    named = {_CACHE: cache} if cache is not None else {}
                    if keeps:
                        named[keeps] = 1
                    outputs = model(input_ids=fed, use_cache=True, return_dict=True, **named)
                    cache = getattr(outputs, _CACHE)
                    name = "decode" if step else "prefill"
                    logits = outputs.logits[:, -1].to(copy=True, dtype=torch.float32)
                    out[f"{name}_peak"], out[f"{name}_end"] = live.peak, live.now
                    tokens = torch.argmax(logits, dim=-1)
                    if not step:
                        _as_on_devices(model)
                    ids = torch.cat([ids, tokens[:, None]], dim=-1)
                    fed = ids[:, -1:].clone(memory_format=torch.contiguous_format)
                    del outputs
            out["kv_cache"] = held_by(cache)
    finally:
        LiveBytes.current = None
    return out


_CACHE = "cache"


def _as_on_devices(model: Any) -> None:
    """Decoding switches experts to products of selected matrices on every device but a CPU."""
    chosen = model.get_experts_implementation()
    if "grouped_mm" in chosen.values():
        model.set_experts_implementation(
            {key: "batched_mm" if how == "grouped_mm" else how for key, how in chosen.items()}
        )


def held_by(cache: Any) -> int:
    """Bytes of every storage that the cache's layers refer to, in whole blocks."""
    sizes: dict[int, int] = {}
    for layer in cache.layers:
        for value in vars(layer).values():
            for tensor in value.values() if isinstance(value, dict) else (value,):
                if isinstance(tensor, torch.Tensor) and tensor.numel() > 1:
                    storage = tensor.untyped_storage()
                    sizes[storage._cdata] = -(-storage.nbytes() // BLOCK) * BLOCK
    return sum(sizes.values())


def trace(case: dict[str, Any]) -> dict[str, int]:
    """The case's `bytes`."""
    case = {**DEFAULTS, **case}
    tokens = case["sequence_length"]
    read, made = generate(case, tokens, 0), generate(case, tokens - 1, 2)
    kept = ("parameters", "loaded", "prefill_peak", "prefill_end")
    return {
        **{name: read[name] for name in kept},
        **{name: made[name] for name in ("decode_peak", "decode_end", "kv_cache")},
    }


if __name__ == "__main__":
    for one in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print(json.dumps({**one, "bytes": trace(one)}, separators=(",", ":")), flush=True)
