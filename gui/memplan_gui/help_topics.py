"""Which page of Help is about what: a field by its path, any other part by what it is."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from memplan_gui.presenters.labels import anchor

TOPIC = "help_topic"
"""The property by which a part says which page it belongs to; what stands in it belongs there as well."""
START = "start"

FIELD_TOPICS: dict[str, str] = {
    "model": "start#your-own-run",
    "training.method": "levers#lora",
    "training.lora": "method#lora-and-a-4-bit-base",
    "training.quantization": "method#lora-and-a-4-bit-base",
    "training.inference": "method#inference-the-kv-cache",
    "training.freeze": "glossary#gradients",
    "training.optimizer": "recipes#optimizers",
    "training.optimizer_impl": "method#the-optimizer-step",
    "training.optimizer_in_backward": "levers#optimizer-in-backward",
    "training.optimizer_state_dtype": "recipes",
    "training.weights_dtype": "recipes",
    "training.autocast": "recipes",
    "training.gradients_dtype": "recipes",
    "training.master_weights": "glossary#master-weights",
    "training.micro_batch": "levers#smaller-batch",
    "training.gradient_accumulation": "levers#smaller-batch",
    "training.sequence_length": "levers#shorter-sequence",
    "training.checkpointing": "levers#checkpointing",
    "training.checkpoint_every": "levers#checkpointing",
    "training.attention": "levers#flash-attention",
    "training.loss": "levers#fused-loss",
    "training.kernels": "method#other-training-stacks",
    "training.kernels_version": "why#another-version-of-the-libraries",
    "training.trainer": "why#another-version-of-the-libraries",
    "training.trainable_fraction": "glossary#adapters",
    "hardware.device": "glossary#usable",
    "hardware.used_by_others_bytes": "glossary#usable",
    "hardware.headroom": "glossary#usable",
    "hardware.offload": "method#host-memory",
    "hardware": "method#several-devices",
    "measured": "why",
}
"""The longest beginning of a field's path counts."""

VIEW_TOPICS: dict[str, str] = {
    "Memory": "method#the-instants-of-a-step",
    "Timeline": "method#the-instants-of-a-step",
    "Fit": "glossary#usable",
    "Make it fit": "method#what-a-lever-saves-and-what-it-costs",
    "Map": "glossary#need",
    "Compare": "glossary#scenario",
    "Diagnose": "method#out-of-memory-messages",
    "Evidence": "method#how-well-it-is-founded",
}


def topic_of_field(path: str) -> str:
    """The topic of a field of the plan.

    >>> topic_of_field("training.lora.rank"), topic_of_field("hardware.tensor_parallel")
    ('method#lora-and-a-4-bit-base', 'method#several-devices')
    """
    parts = path.split(".")
    beginnings = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((FIELD_TOPICS[name] for name in beginnings if name in FIELD_TOPICS), START)


def topic_of_lever(title: str) -> str:
    """The topic of a lever, by what it is called."""
    return f"levers#{anchor(title)}"


def topic_of(widget: QWidget | None) -> str:
    """The topic of what has the keyboard: its own, or that of what it stands in."""
    while widget is not None:
        topic = widget.property(TOPIC)
        if topic:
            return str(topic)
        widget = widget.parentWidget()
    return START
