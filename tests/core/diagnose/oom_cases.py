"""Messages that people posted, and the plans of the runs that ended with them, as far as the posts tell.

`wanted` is the tensor that the record's explanation names, in memplan's words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memplan.plan.scenario import Scenario

RECORDS: dict[str, dict[str, Any]] = {
    record["id"]: record
    for record in json.loads((Path(__file__).parents[2] / "truth" / "oom_messages.json").read_text(encoding="utf-8"))
}
MESSAGES = [record for record in RECORDS.values() if record["is_message"]]

_LLAMA, _LLAMA_2 = "huggyllama/llama-7b", "meta-llama/Llama-2-7b-hf"


@dataclass(frozen=True)
class PlannedCase:
    """A record with the plan of its run."""

    id: str
    scenario: Scenario
    wanted: str
    """A pattern of the tensor's name."""


def _hardware(devices: int, strategy: str) -> dict[str, Any]:
    return {"devices": devices, "sharding": {"strategy": strategy}}


def _case(number: str, model: str | dict[str, Any], wanted: str, hardware: Any = None, **training: Any) -> PlannedCase:
    choice = model if isinstance(model, dict) else {"catalog": model}
    scenario = Scenario.model_validate({"model": choice, "training": training, "hardware": hardware or {}})
    return PlannedCase(f"oom-{number}", scenario, wanted)


PLANNED = (
    _case("001", "EleutherAI/gpt-j-6b", "all weights in one buffer", _hardware(4, "zero2"), weights_dtype="fp16", master_weights=True),
    _case("002", "mistralai/Mistral-7B-Instruct-v0.2", "4-bit weight, unpacked.*mlp", method="qlora"),
    _case("011", "google-bert/bert-base-multilingual-cased", r"second moment.*word_embeddings", weights_dtype="fp32", sequence_length=128, optimizer_impl="for_loop"),
    _case("017", "meta-llama/Meta-Llama-3-8B", "4-bit weight, unpacked.*mlp", method="qlora", optimizer="paged_adamw_32bit"),
    _case("026", "Qwen/Qwen3-30B-A3B", "logits", _hardware(64, "zero3"), sequence_length=32768),
    _case("029", "mistralai/Mixtral-8x7B-v0.1", r"weight.*w1", _hardware(2, "ddp"), method="qlora", kernels_version="4.36"),
    _case("031", "bigcode/starcoder", r"weight.*mlp\.c_fc", method="qlora", quantization={"format": "int8"}, sequence_length=1024),
    _case("033", _LLAMA, "gathered weights.*layer", _hardware(5, "fsdp1"), weights_dtype="fp32", sequence_length=512),
    _case("034", _LLAMA, r"optimizer state.*layer", _hardware(4, "fsdp1"), weights_dtype="fp32", sequence_length=512),
    _case("035", _LLAMA, r"(weight, cast|gradient).*mlp", weights_dtype="fp32", autocast="fp16", sequence_length=512),
    _case("036", _LLAMA, "optimizer step's temporary.*all trained weights", _hardware(8, "zero2"), weights_dtype="fp16", master_weights=True, sequence_length=512),
    _case("037", "meta-llama/Llama-2-13b-hf", r"weight.*mlp", _hardware(5, "zero3"), weights_dtype="fp16"),
    _case("038", "EleutherAI/gpt-j-6b", r"optimizer state.*mlp", optimizer="adamw_8bit", weights_dtype="fp16"),
    _case("040", "meta-llama/Llama-3.1-8B", "logits", _hardware(8, "fsdp2"), weights_dtype="fp32", micro_batch=3, sequence_length=8192),
    _case("043", "mistralai/Mixtral-8x7B-v0.1", r"weight.*w1", _hardware(4, "zero3"), weights_dtype="fp16", sequence_length=4096, kernels_version="4.36", master_weights=True),
    _case("053", _LLAMA_2, "optimizer step's temporary.*layer", _hardware(8, "fsdp1"), weights_dtype="fp32", micro_batch=4, sequence_length=4096),
    _case("054", "meta-llama/Llama-3.1-8B", "logits", method="qlora", micro_batch=2, sequence_length=4096),
    _case("075", "Qwen/Qwen2.5-7B", r"copy of second moments.*mlp", _hardware(3, "ddp"), micro_batch=2, sequence_length=768),
    _case("102", {"parameters": 8_000_000_000, "layers": 32, "hidden_size": 4096, "vocab_size": 156_032}, "logits of 8.652 tokens", _hardware(4, "zero3"), sequence_length=8192),
    _case("103", "Qwen/Qwen2.5-7B", r"4-bit weight, unpacked.*mlp", method="qlora"),
    _case("106", {"parameters": 6_243_584_000, "layers": 28, "hidden_size": 4096, "vocab_size": 65_024}, r"weight.*lm_head", method="lora"),
    _case("107", {"parameters": 8_540_000_000}, "optimizer step's temporary.*all trained weights", _hardware(7, "zero2"), master_weights=True, sequence_length=512),
    _case("133", _LLAMA, r"optimizer.*layer", _hardware(8, "fsdp1"), weights_dtype="fp32", micro_batch=2, sequence_length=2048, checkpointing="full"),
    _case("136", _LLAMA, "gathered weights.*layer", _hardware(2, "fsdp1"), weights_dtype="fp16"),
)  # fmt: skip
"""Where a post does not tell length or batch, the plan has the defaults."""

NAMED_BY_SHAPE = {"oom-065": "embedding", "oom-068": "attention scores"}
"""TensorFlow states the shape; no plan is needed."""
