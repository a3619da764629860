"""MLX-LM's YAML (mlx_lm.lora --config). Precision and packing are the checkpoint's; the last layers alone train.

Defaults: mlx-lm 0.32.2, lora.py.
"""

from __future__ import annotations

from memplan.exchange.documents import Document
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Keys

_SIGNS = ("fine_tune_type", "lora_layers", "num_layers", "iters", "grad_checkpoint", "lora_parameters")
DEFAULT_LAYERS = 16


def recognises(document: Document) -> bool:
    """Whether it is MLX-LM's."""
    content = document.content
    return isinstance(content.get("model", ""), str) and sum(sign in content for sign in _SIGNS) >= 2


def read(keys: Keys, document: Document) -> None:
    """Read a recipe."""
    reading = keys.reading
    reading.state("given.trainer", Stated("mlx", document.file, ""))
    reading.state("given.model_name", keys.text("model"))
    reading.default("given.model_name", "Qwen/Qwen3-0.6B", "MLX-LM's default")
    kind = keys.text("fine_tune_type")
    word = kind.value.lower() if kind else "lora"
    if word not in ("lora", "dora", "full"):
        raise keys.refused(kind or Stated(None, "", ""), "lora, dora or full")
    layers = keys.whole("num_layers", "lora_layers", least=-1)
    adapter = keys.section("lora_parameters")
    if word == "full":
        _read_full(keys, kind, layers)
        adapter.any("rank"), adapter.any("dropout"), adapter.any("keys")
    else:
        _read_adapter(adapter, kind, layers)
    reading.default("training.weights_dtype", "bf16", "the checkpoint's dtype counts; most are bf16")
    reading.state("training.micro_batch", keys.whole("batch_size"))
    reading.default("training.micro_batch", 4, "MLX-LM's default")
    reading.state("training.sequence_length", keys.whole("max_seq_length"))
    reading.default("training.sequence_length", 2048, "MLX-LM's default")
    reading.state("training.gradient_accumulation", keys.whole("grad_accumulation_steps"))
    reading.default("training.gradient_accumulation", 1, "MLX-LM's default")
    kept = keys.switch("grad_checkpoint")
    reading.state("training.checkpointing", kept, value="full" if kept and kept.value else "none")
    reading.default("training.checkpointing", "none", "MLX-LM's default")
    _read_optimizer(keys)
    reading.default("training.kernels", "mlx", "MLX's own")
    reading.default("hardware.devices", 1, "MLX-LM trains on one device unless it is launched on several")


def _read_full(keys: Keys, kind: Stated | None, layers: Stated | None) -> None:
    """Under "full" the last layers train, embeddings and head stay frozen; -1 is every layer, and so is 0 (lora.py)."""
    reading = keys.reading
    if layers is not None and layers.value < 1:
        reading.state("training.method", kind, value="freeze")
        reading.default("training.freeze.trainable_layers", 100_000, f"{layers.key} is {layers.value}: every layer")
    else:
        reading.state("training.method", kind, value="freeze")
        reading.state("training.freeze.trainable_layers", layers)
        reading.default("training.freeze.trainable_layers", DEFAULT_LAYERS, "MLX-LM's default (num_layers)")
    reading.default("training.freeze.head", False, "MLX-LM trains layers alone")


def _read_adapter(adapter: Keys, kind: Stated | None, layers: Stated | None) -> None:
    reading = adapter.reading
    reading.state("training.method", kind, value="lora")
    reading.default("training.method", "lora", "MLX-LM's default (fine_tune_type)")
    if kind and kind.value.lower() == "dora":
        reading.leave_out(kind, "DoRA's magnitudes are not counted; LoRA is")
    rank = adapter.whole("rank")
    reading.state("training.lora.rank", rank)
    reading.default("training.lora.rank", 8, "MLX-LM's default")
    reading.state("training.lora.dropout", adapter.number("dropout"))
    targets = adapter.names("keys")
    if targets is not None:
        names = tuple(dict.fromkeys(name.rpartition(".")[2] for name in targets.value))
        reading.state("training.lora.targets", targets, value=names)
    reading.default("training.lora.targets", "all-linear", "MLX-LM's default: every linear module of a layer")
    reading.default("training.quantization.fp32_unquantized", False, "MLX leaves the rest as stored")
    reading.default("training.lora.adapter_dtype", "fp32", "MLX-LM makes adapters fp32")
    if layers is None:
        reading.default("training.lora.last_layers", DEFAULT_LAYERS, "MLX-LM's default (num_layers)")
    elif layers.value > 0:  # -1 and 0 are every layer
        reading.state("training.lora.last_layers", layers)


_OPTIMIZERS = {"adam": "adamw", "adamw": "adamw", "sgd": "sgd", "adafactor": "adafactor", "muon": "muon"}


def _read_optimizer(keys: Keys) -> None:
    reading, name = keys.reading, keys.text("optimizer")
    if name is not None and name.value.lower() not in _OPTIMIZERS:
        raise keys.refused(name, "adam, adamw, muon, sgd or adafactor")
    reading.state("training.optimizer", name, value=_OPTIMIZERS[name.value.lower()] if name else None)
    reading.default("training.optimizer", "adamw", "MLX-LM's default (adam)")
