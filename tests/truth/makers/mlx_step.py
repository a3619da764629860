"""Measures training steps of mlx-lm by MLX's own count: what `tests/truth/mlx.json` holds.

    pip install "mlx[cpu]==0.32.4" mlx-lm==0.32.2
    python mlx_step.py cases.json > measured.jsonl

Each case runs in a process of its own, on real arrays: `mx.get_peak_memory()` over the second of two steps, as
mlx_lm.tuner.trainer runs them (its loss, gradients and update in one compiled function), and `mx.get_active_memory()`
after the model is built and after a step.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "method": "full",
    "weights_dtype": "bf16",
    "micro_batch": 1,
    "checkpointing": "none",
    "gradient_accumulation": 1,
    "lora": {"rank": 8, "targets": "all-linear", "dropout": 0.0, "adapter_dtype": "fp32"},
}


def measure(case: dict[str, Any]) -> dict[str, int]:
    import mlx.core as mx
    import mlx.nn as nn
    import mlx.optimizers as optim
    from mlx.utils import tree_flatten, tree_map
    from mlx_lm.models import llama
    from mlx_lm.tuner.trainer import default_loss, grad_checkpoint
    from mlx_lm.tuner.utils import linear_to_lora_layers

    case = {**DEFAULTS, **case}
    config = {"rms_norm_eps": 1e-5, "rope_theta": 10000.0, **case["model"]}
    model = llama.Model(llama.ModelArgs.from_dict(config))
    model.set_dtype({"bf16": mx.bfloat16, "fp16": mx.float16, "fp32": mx.float32}[case["weights_dtype"]])
    if case["method"] == "lora":
        lora = {**DEFAULTS["lora"], **case["lora"]}
        model.freeze()
        keys = lora["targets"]
        config = {"rank": lora["rank"], "scale": 20.0, "dropout": lora["dropout"]}
        if keys != "all-linear":
            names = {"q_proj": "self_attn", "k_proj": "self_attn", "v_proj": "self_attn", "o_proj": "self_attn"}
            config["keys"] = [f"{names.get(key, 'mlp')}.{key}" for key in keys]
        linear_to_lora_layers(model, lora.get("last_layers") or len(model.layers), config)
    if case["checkpointing"] == "full":
        grad_checkpoint(model.layers[0])
    model.train()
    mx.eval(model.parameters())
    out = {
        "parameters": sum(one.size for _, one in tree_flatten(model.parameters())),
        "trainable": sum(one.size for _, one in tree_flatten(model.trainable_parameters())),
        "loaded": mx.get_active_memory(),
    }
    optimizer = optim.AdamW(learning_rate=1e-5)
    loss_value_and_grad = nn.value_and_grad(model, default_loss)
    state = [model.state, optimizer.state, mx.random.state]

    pieces = case["gradient_accumulation"]

    @partial(mx.compile, inputs=state, outputs=state)
    def step(batch: mx.array, lengths: mx.array, earlier: Any, updates: bool) -> tuple[mx.array, Any]:
        (value, _), grad = loss_value_and_grad(model, batch, lengths)
        if earlier is not None:
            grad = tree_map(lambda one, other: one + other, grad, earlier)
        if updates:
            if pieces > 1:
                grad = tree_map(lambda one: one / pieces, grad)
            optimizer.update(model, grad)
            grad = None
        return value, grad

    rows, tokens = case["micro_batch"], case["sequence_length"]
    batch = mx.ones((rows, tokens + 1), dtype=mx.int32)  # the trainer predicts each token from those before it
    lengths = mx.array([[0, tokens]] * rows)
    earlier = None
    for _ in range(2):
        mx.reset_peak_memory()
        for piece in range(pieces):
            value, earlier = step(batch, lengths, earlier, piece == pieces - 1)
            mx.eval(state, value, earlier)
        out["peak"], out["step_end"] = mx.get_peak_memory(), mx.get_active_memory()
    return out


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(measure(json.loads(sys.argv[2]))))
        return
    for case in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        run = subprocess.run(
            [sys.executable, __file__, "--one", json.dumps(case)], capture_output=True, text=True, check=True
        )
        print(json.dumps({**case, "bytes": json.loads(run.stdout.strip().splitlines()[-1])}), flush=True)


if __name__ == "__main__":
    main()
