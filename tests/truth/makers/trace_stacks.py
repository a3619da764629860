"""Traces two training steps of another stack's own modules: what `tests/truth/stacks.json` holds.

    python trace_stacks.py cases.json > traced.jsonl     # a list of cases; prints one a line, with "bytes" filled in

Needs torch 2.13 (CPU) and the stack itself: litgpt 0.5.13 with lightning 2.6, or torchtune 0.6.1. Every tensor is a
FakeTensor: the stack's model, autograd and the optimizer run, and no memory is used. A storage counts from the
operation that makes it until its last reference goes, rounded up to 512 bytes. `trace_step.py` does the same for
transformers.
"""

from __future__ import annotations

import contextlib
import json
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
BLOCK = 512
DEFAULTS: dict[str, Any] = {
    "method": "full",
    "weights_dtype": "bf16",
    "autocast": "none",
    "optimizer_impl": "foreach",
    "micro_batch": 1,
    "sequence_length": 1024,
    "gradient_accumulation": 1,
    "checkpointing": "none",
    "loss": "plain",
}
LORA = {"rank": 16, "targets": "all-linear", "dropout": 0.0, "adapter_dtype": "fp32"}

for _name in list(vars(torch.nn.init)):
    if _name.endswith("_") and not _name.startswith("_"):
        setattr(torch.nn.init, _name, lambda tensor, *_, **__: tensor)  # no data, so nothing to initialise


class LiveBytes(TorchDispatchMode):
    """Bytes of all storages alive, and their peak."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.now = self.peak = 0

    def _drop(self, key: int) -> None:
        self.now -= self.sizes.pop(key, 0)

    def _see(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.sizes:
            self.sizes[key] = -(-storage.nbytes() // BLOCK) * BLOCK
            self.now += self.sizes[key]
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._drop, key)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for one in tree_iter(out):
            if isinstance(one, torch.Tensor):
                self._see(one)
        return out

    def restart(self) -> None:
        self.peak = self.now


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


class _Product4Bit(torch.autograd.Function):
    """bitsandbytes' 4-bit product. Before 0.43 it kept its input."""

    keeps_input = False

    @staticmethod
    def forward(ctx, x, weight, shape):
        ctx.shape, ctx.tensors = shape, (x if _Product4Bit.keeps_input else None, weight)
        unpacked = torch.empty(shape, dtype=x.dtype)  # noqa: F841
        return torch.empty((*x.shape[:-1], shape[0]), dtype=x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return torch.matmul(grad, torch.empty(ctx.shape, dtype=grad.dtype)), None, None


class _Linear4Bit(torch.nn.Module):
    def __init__(self, linear: torch.nn.Linear, *, double_quant: bool) -> None:
        super().__init__()
        values = linear.out_features * linear.in_features
        self.full_shape = (linear.out_features, linear.in_features)
        self.out_features, self.bias = linear.out_features, linear.bias
        self.weight = torch.nn.Parameter(torch.empty((values + 1) // 2, 1, dtype=torch.uint8), requires_grad=False)
        if double_quant:
            self.register_buffer("scales", torch.empty(values // 64, dtype=torch.uint8))
            self.register_buffer("scales_of_scales", torch.empty(-(-values // 64 // 256), dtype=torch.float32))
        else:
            self.register_buffer("scales", torch.empty(values // 64, dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Product4Bit.apply(x, self.weight, self.full_shape)


def quantise(model: torch.nn.Module, *, double_quant: bool) -> None:
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear):
                setattr(module, name, _Linear4Bit(child, double_quant=double_quant))


def checkpoint(model: torch.nn.Module, layer: type[torch.nn.Module]) -> None:
    from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrapper

    wrapper.apply_activation_checkpointing(
        model, checkpoint_wrapper_fn=wrapper.checkpoint_wrapper, check_fn=lambda module: isinstance(module, layer)
    )


class LitGpt:
    """litgpt as `litgpt finetune` and `finetune_full` run it, under Lightning's precision plug-ins."""

    def __init__(self, case: dict[str, Any]) -> None:
        import litgpt.lora
        import litgpt.model

        lora, adapted = {**LORA, **case.get("lora", {})}, case["method"] in ("lora", "qlora")
        module, options = (litgpt.lora, self._adapters(lora)) if adapted else (litgpt.model, {})
        config = module.Config(**self._shape(case["model"]), **options)
        self.case, self.dtype = case, DTYPES[case["weights_dtype"]]
        with default_dtype(self.dtype):
            self.model = module.GPT(config)
        if adapted:
            litgpt.lora.mark_only_lora_as_trainable(self.model)
        if case["method"] == "qlora":
            quantise(self.model, double_quant=case.get("quantization", {}).get("double_quant", True))
        self.model.max_seq_length = case["sequence_length"]
        if case["checkpointing"] == "full":
            checkpoint(self.model, litgpt.model.Block)

    def _shape(self, model: dict[str, Any]) -> dict[str, Any]:
        kind, heads = model["model_type"], model["num_attention_heads"]
        shape = {
            "name": kind,
            "n_layer": model["num_hidden_layers"],
            "n_embd": model["hidden_size"],
            "vocab_size": model["vocab_size"],
            "padded_vocab_size": model["vocab_size"],
            "n_head": heads,
            "n_query_groups": model.get("num_key_value_heads", heads),
            "head_size": model.get("head_dim"),
            "intermediate_size": model["intermediate_size"],
        }
        if kind == "phi":
            turned = {"rotary_percentage": 0.5, "shared_attention_norm": True, "lm_head_bias": True}
            return {**shape, **turned, "gelu_approximate": "tanh", "bias": True}
        if kind == "gpt_neox":
            return {**shape, "rotary_percentage": model["rotary_pct"], "bias": True}
        llama = {"rotary_percentage": 1.0, "parallel_residual": False, "bias": False, "norm_class_name": "RMSNorm"}
        own = {"attn_bias": kind == "qwen2", "norm_qk": kind == "qwen3", "mlp_class_name": "LLaMAMLP"}
        return {**shape, **llama, **own}

    def _adapters(self, lora: dict[str, Any]) -> dict[str, Any]:
        def has(*names: str) -> bool:
            return lora["targets"] == "all-linear" or any(name in lora["targets"] for name in names)

        return {
            "lora_r": lora["rank"],
            "lora_alpha": 16,
            "lora_dropout": lora["dropout"],
            "lora_query": has("q_proj", "query_key_value"),
            "lora_key": has("k_proj", "query_key_value"),
            "lora_value": has("v_proj", "query_key_value"),
            "lora_projection": has("o_proj", "dense"),
            "lora_mlp": has("gate_proj", "up_proj", "down_proj", "fc1"),
        }

    def loss(self, ids: torch.Tensor) -> tuple[Any, torch.Tensor]:
        from lightning.fabric.plugins.precision.utils import _convert_fp_tensor
        from lightning_utilities.core.apply_func import apply_to_collection
        from litgpt.utils import chunked_cross_entropy

        chunked, autocast = self.case["loss"] == "chunked", self.case["autocast"]
        runs_in = torch.autocast("cpu", dtype=DTYPES[autocast]) if autocast != "none" else default_dtype(self.dtype)
        with runs_in:
            logits = self.model(ids, lm_head_chunk_size=128 if chunked else 0)
        logits = apply_to_collection(logits, torch.Tensor, _convert_fp_tensor, dst_type=torch.float32)
        if not chunked:
            return logits, chunked_cross_entropy(logits[..., :-1, :], ids[..., 1:])
        logits[-1] = logits[-1][..., :-1, :]
        return logits, chunked_cross_entropy(logits, ids[..., 1:])


class TorchTune:
    """torchtune as its single-device recipes run it, without torch.compile. What it imports and never calls here
    (datasets, tokenizers) may be stubs."""

    CHUNKS = 8

    def __init__(self, case: dict[str, Any]) -> None:
        from torchtune.models.llama3_1._position_embeddings import Llama3ScaledRoPE
        from torchtune.models.llama3_2._component_builders import llama3_2, lora_llama3_2
        from torchtune.modules import TransformerSelfAttentionLayer
        from torchtune.modules.peft import get_adapter_params, set_trainable_params

        # Frequencies are scaled by their values, which fake tensors do not have.
        Llama3ScaledRoPE.apply_scaling = lambda self, frequencies, *_, **__: frequencies
        model, adapted = case["model"], case["method"] == "lora"
        lora = {**LORA, **case.get("lora", {})}
        shape = {
            "vocab_size": model["vocab_size"],
            "num_layers": model["num_hidden_layers"],
            "num_heads": model["num_attention_heads"],
            "num_kv_heads": model["num_key_value_heads"],
            "embed_dim": model["hidden_size"],
            "intermediate_dim": model["intermediate_size"],
            "max_seq_len": case["sequence_length"],
            "tie_word_embeddings": model.get("tie_word_embeddings", False),
        }
        self.case = case
        with default_dtype(DTYPES[case["weights_dtype"]]):
            self.model = lora_llama3_2(**self._adapters(lora), **shape) if adapted else llama3_2(**shape)
        if adapted:
            set_trainable_params(self.model, get_adapter_params(self.model))
        if case["checkpointing"] == "full":
            checkpoint(self.model, TransformerSelfAttentionLayer)
        if case["loss"] == "chunked":
            self.model.set_num_output_chunks(self.CHUNKS)

    def _adapters(self, lora: dict[str, Any]) -> dict[str, Any]:
        every = lora["targets"] == "all-linear"
        names = {"q_proj": "q_proj", "k_proj": "k_proj", "v_proj": "v_proj", "o_proj": "output_proj"}
        return {
            "lora_attn_modules": [own for name, own in names.items() if every or name in lora["targets"]],
            "apply_lora_to_mlp": every or "gate_proj" in lora["targets"],
            "lora_rank": lora["rank"],
            "lora_alpha": 16,
            "lora_dropout": lora["dropout"],
        }

    def loss(self, ids: torch.Tensor) -> tuple[Any, torch.Tensor]:
        from torchtune.modules.loss import CEWithChunkedOutputLoss

        logits = self.model(ids)
        labels = torch.hstack((ids[..., 1:], torch.full((ids.shape[0], 1), -100)))
        if self.case["loss"] == "chunked":
            return None, CEWithChunkedOutputLoss(self.CHUNKS)(logits, labels)
        return None, torch.nn.CrossEntropyLoss()(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))


STACKS: dict[str, Callable[[dict[str, Any]], Any]] = {"litgpt": LitGpt, "torchtune": TorchTune}


def trace(case: dict[str, Any]) -> dict[str, Any]:
    """Two steps of a case; its `bytes`."""
    full = {**DEFAULTS, **case}
    _Product4Bit.keeps_input = full.get("kernels_version") == "0.4"
    live, out, steps = LiveBytes(), {}, []
    with FakeTensorMode(allow_non_fake_inputs=True), live:
        stack = STACKS[full["kernels"]](full)
        parameters = list(stack.model.parameters())
        trained = [one for one in parameters if one.requires_grad]
        out["parameters"] = sum(one.numel() * (2 if one.dtype == torch.uint8 else 1) for one in parameters)
        out["trainable"], out["loaded"] = sum(one.numel() for one in trained), live.now
        impl = full["optimizer_impl"]
        optimizer = torch.optim.AdamW(
            trained, **({"fused": True} if impl == "fused" else {"foreach": impl == "foreach"})
        )
        ids = torch.ones((full["micro_batch"], full["sequence_length"]), dtype=torch.long)
        for _ in range(2):
            steps.append(step(stack, optimizer, ids, live, full["gradient_accumulation"]))
        states = (one for state in optimizer.state.values() for one in state.values())
        out["optimizer_state"] = sum(one.numel() * one.element_size() for one in states)
    peaks = {f"{key} of step {number}": one[key] for number, one in enumerate(steps, 1) for key in one if "peak" in key}
    top = max(peaks, key=lambda key: peaks[key])
    return {**out, **steps[1], "first_step": steps[0], "peak": peaks[top], "peak_phase": top}


def step(
    stack: Any, optimizer: torch.optim.Optimizer, ids: torch.Tensor, live: LiveBytes, count: int
) -> dict[str, int]:
    """One step: what is alive at each instant. The outputs of a batch go before the next begins."""
    seen: dict[str, int] = {}
    for _ in range(count):
        live.restart()
        outputs, loss = stack.loss(ids)
        seen["forward_end"], seen["forward_peak"] = live.now, live.peak
        live.restart()
        loss.backward()
        seen["backward_peak"] = live.peak
        del outputs, loss
        seen["backward_end"] = live.now
    live.restart()
    optimizer.step()
    seen["step_peak"], seen["step_end"] = live.peak, live.now
    optimizer.zero_grad()
    seen["zeroed"] = live.now
    return seen


if __name__ == "__main__":
    for one in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print(json.dumps({**one, "bytes": trace(one)}), flush=True)
