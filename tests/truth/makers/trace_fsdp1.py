"""Count what is alive while FSDP1 (FullyShardedDataParallel) runs a step: `python tools/trace_fsdp1.py --method lora`.

Needs torch, transformers and peft, which memplan itself never does. The model is small and its tensors are real; the
second device is made up by PyTorch's "fake" process group, whose collectives move nothing, so one process shows what
the first of two holds. A storage counts with the bytes it has at the time: FSDP1 frees weights by resizing them to 0.
Prints the fullest moment of each part of the second step, when optimizer states exist. The loss alone is kept after
forward, as transformers' Trainer does.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
from typing import Any

import torch
import torch.distributed
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.multiprocessing.reductions import StorageWeakRef
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from transformers import AutoConfig, AutoModelForCausalLM

MODELS = {
    "mistral": {"sliding_window": None},
    "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
    "llama": {},
    "qwen2": {},
}
VOCABULARY, LAYERS = 512, 6
BLOCK_BYTES = 512


class LiveBytes(TorchDispatchMode):
    """The most bytes alive in each part of the step."""

    def __init__(self) -> None:
        super().__init__()
        self.part, self.peaks = "", dict[str, int]()
        self._known = dict[int, StorageWeakRef]()

    def note(self, tensors: Any) -> None:
        """Count these tensors' storages from now on."""
        for tensor in tree_iter(tensors):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                known = self._known.get(storage._cdata)
                if known is None or known.expired():
                    self._known[storage._cdata] = StorageWeakRef(storage)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and count."""
        result = func(*args, **(kwargs or {}))
        self.note((args, kwargs, result))
        if self.part:
            self.peaks[self.part] = max(self.peaks.get(self.part, 0), self._alive())
        return result

    def _alive(self) -> int:
        total = 0
        for address in list(self._known):
            storage = torch.UntypedStorage._new_with_weak_ptr(address)
            if storage is None:
                del self._known[address]
            else:
                total += -(-storage.nbytes() // BLOCK_BYTES) * BLOCK_BYTES
        return total


def build(options: argparse.Namespace) -> torch.nn.Module:
    """The model, with its adapters and checkpoints, sharded."""
    size = {"vocab_size": VOCABULARY, "num_hidden_layers": LAYERS, "num_attention_heads": 8, "num_key_value_heads": 2}
    size |= {"hidden_size": options.hidden, "intermediate_size": 4 * options.hidden, "tie_word_embeddings": False}
    config = AutoConfig.for_model(options.model, **size, **MODELS[options.model])
    config._attn_implementation = "sdpa"
    model = AutoModelForCausalLM.from_config(config, torch_dtype=torch.bfloat16)
    layer_class = type(model.model.layers[0])
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={layer_class})
    if options.method == "lora":
        from peft import LoraConfig, get_peft_model
        from peft.utils.other import fsdp_auto_wrap_policy

        targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
        model = get_peft_model(model, LoraConfig(r=16, target_modules=targets, task_type="CAUSAL_LM"))
        for parameter in model.parameters():
            parameter.data = parameter.data.float() if parameter.requires_grad else parameter.data
        model.enable_input_require_grads()
        os.environ["FSDP_TRANSFORMER_CLS_TO_WRAP"] = layer_class.__name__
        policy = fsdp_auto_wrap_policy(model)
    model.gradient_checkpointing_enable({"use_reentrant": options.reentrant})
    model.train()
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    precision = MixedPrecision(*[torch.bfloat16] * 3) if options.mixed_precision else None
    return FullyShardedDataParallel(
        model, auto_wrap_policy=policy, device_id=torch.device("cpu"), mixed_precision=precision, use_orig_params=False
    )


def main() -> None:
    """Trace two steps and print the second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="mistral")
    parser.add_argument("--method", choices=("full", "lora"), default="full")
    parser.add_argument("--reentrant", action="store_true", help="as transformers before 5 does")
    parser.add_argument("--mixed-precision", action="store_true")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--sequence", type=int, default=1024)
    options = parser.parse_args()
    model, live = build(options), LiveBytes()
    live.note([*model.parameters(), *model.buffers()])
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], foreach=True)
    ids = torch.randint(0, VOCABULARY, (1, options.sequence))
    with live:
        for step in (1, 2):
            live.part = "forward" if step == 2 else ""
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
            live.part = "backward" if step == 2 else ""
            loss.backward()
            del loss
            live.part = "optimizer_step" if step == 2 else ""
            optimizer.step()
            optimizer.zero_grad()
    versions = {"torch": torch.__version__, "transformers": __import__("transformers").__version__}
    print(json.dumps({**vars(options), **versions, "bytes": live.peaks}))


if __name__ == "__main__":
    main()
