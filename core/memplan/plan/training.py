"""How a scenario trains: method, recipe, batch, kernels. Every field's description, range and unit live here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from memplan.plan.model_choice import STRICT

Method = Literal["full", "lora", "qlora", "freeze", "inference"]
WeightsDtype = Literal["fp32", "bf16", "fp16"]
Optimizer = Literal[
    "adamw",
    "sgd",
    "sgd_momentum",
    "adafactor",
    "adagrad",
    "rmsprop",
    "lion",
    "muon",
    "adamw_8bit",
    "adamw_4bit",
    "lion_8bit",
    "paged_adamw_8bit",
    "paged_adamw_32bit",
    "galore",
    "apollo",
    "adamw_fp8",
    "ademamix",
    "ademamix_8bit",
    "schedule_free_adamw",
]
_WITH_VARIANTS: tuple[Optimizer, ...] = ("adamw", "sgd", "sgd_momentum", "adafactor", "adagrad", "rmsprop")
Kernels = Literal["transformers", "liger", "torchtune", "torchtitan", "litgpt", "megatron", "unsloth", "mlx"]


class Lora(BaseModel):
    """Low-rank adapters beside frozen matrices (PEFT's defaults, but for the targets and the rank)."""

    model_config = STRICT

    rank: Annotated[int, Field(ge=1, le=65_536)] = Field(
        16,
        title="LoRA rank",
        description="Inner width of each adapter; adapters, their gradients and states grow with it.",
    )
    targets: Literal["all-linear", "all-linear+lm_head"] | tuple[str, ...] = Field(
        "all-linear",
        title="LoRA targets",
        description=(
            "Which linear modules get an adapter: all-linear (every one but the head), all-linear+lm_head (the head as "
            "well), or module names such as q_proj."
        ),
    )
    last_layers: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        title="LoRA layers",
        json_schema_extra={"unit": "layers"},
        description=(
            "How many layers get adapters, counted from the last; empty means all. Layers before them keep nothing for "
            "backward, unless checkpointing makes their input need a gradient, as PEFT does."
        ),
    )
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        title="LoRA dropout",
        description="Dropout before each adapter. Above 0 every adapter keeps a dropped copy of its input.",
    )
    adapter_dtype: WeightsDtype = Field(
        "fp32",
        title="Adapter precision",
        description="What the adapters are held in. PEFT makes them fp32 even on a 16-bit base.",
    )
    modules_to_save: tuple[str, ...] = Field(
        (),
        title="Modules trained in full",
        description="Modules that are copied and trained whole beside the adapters, such as embed_tokens and lm_head.",
    )


class Quantization(BaseModel):
    """How the frozen base is packed under QLoRA."""

    model_config = STRICT

    format: Literal["nf4", "fp4", "int8", "gptq_int4", "mlx_int4"] = Field(
        "nf4",
        title="Base format",
        description="How the frozen weights are stored: about half a byte each in 4 bit, a byte in int8.",
    )
    double_quant: bool = Field(
        True,
        title="Double quantisation",
        description="Quantise the block scales again: 0.516 instead of 0.5625 bytes a weight.",
    )
    fp32_unquantized: bool = Field(
        True,
        title="Upcast the rest to fp32",
        description=(
            "What is not quantised (embeddings, head, norms) is held in fp32, as prepare_model_for_kbit_training does."
        ),
    )


class Freeze(BaseModel):
    """Which parts train when the rest is frozen."""

    model_config = STRICT

    trainable_layers: Annotated[int, Field(ge=0, le=100_000)] = Field(
        4,
        title="Trainable layers",
        description="How many layers train, counted from the last; only these have gradients and states.",
    )
    embeddings: bool = Field(False, title="Train embeddings", description="Whether the input embeddings train.")
    head: bool = Field(True, title="Train head", description="Whether the output head (and the final norm) trains.")


class Inference(BaseModel):
    """What a pass without training is for: to generate text, or to score it."""

    model_config = STRICT

    kv_cache: bool = Field(
        True,
        title="KV cache",
        description=(
            "Generate text: keep keys and values of a prompt as long as the sequence length, and make the next token. "
            "Off: one pass that keeps none and gives every position's logits, as in evaluation."
        ),
    )


class Training(BaseModel):
    """How the model is trained."""

    model_config = STRICT

    method: Method = Field(
        "full",
        title="Method",
        description=(
            "What is trained: everything, adapters (LoRA), adapters on a 4-bit base (QLoRA), the "
            "last layers, or nothing."
        ),
    )
    trainable_fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None,
        title="Trainable fraction",
        description="For a size alone: adapters as a fraction of the parameters, 0.001 for 0.1%.",
    )
    lora: Lora = Field(default_factory=Lora, title="LoRA", description="The adapters of LoRA and QLoRA.")
    quantization: Quantization = Field(
        default_factory=Quantization, title="Quantisation", description="The packed base of QLoRA."
    )
    freeze: Freeze = Field(default_factory=Freeze, title="Freeze", description="What trains under method freeze.")
    inference: Inference = Field(
        default_factory=Inference, title="Inference", description="What is done where nothing trains."
    )
    weights_dtype: WeightsDtype = Field(
        "bf16",
        title="Weights",
        description="What the model is loaded in: 4 bytes a parameter in fp32, 2 in bf16 and fp16.",
    )
    autocast: Literal["none", "bf16", "fp16"] = Field(
        "none",
        title="Autocast",
        description="Mixed precision by autocast: products run in 16 bit, weights stay as loaded.",
    )
    gradients_dtype: Literal["weights", "fp32", "bf16"] = Field(
        "weights", title="Gradients", description="What gradients are held in; PyTorch's own are in the weights' dtype."
    )
    master_weights: Annotated[bool, BeforeValidator(lambda given: True if given == "fp32" else given)] = Field(
        False,
        title="fp32 master weights",
        description=(
            'An fp32 copy beside 16-bit weights, 4 bytes a parameter, as DeepSpeed and Megatron keep; "fp32" is read '
            "as true."
        ),
    )
    optimizer: Optimizer = Field(
        "adamw",
        title="Optimizer",
        description="Which optimizer updates the trainable parameters, and what it keeps for each of them.",
    )
    optimizer_state_dtype: Literal["weights", "fp32", "bf16"] = Field(
        "weights",
        title="Optimizer states",
        description="What the states are held in; PyTorch's AdamW keeps them in the weights' dtype.",
    )
    optimizer_impl: Literal["foreach", "fused", "for_loop"] = Field(
        "foreach",
        title="Optimizer variant",
        description=(
            "foreach (PyTorch's default) holds one more copy of the weights during the step; fused "
            "(the Trainer's) none."
        ),
    )
    optimizer_in_backward: bool = Field(
        False,
        title="Optimizer in backward",
        description="Apply and free each gradient as it comes; rules out accumulation.",
    )
    micro_batch: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1,
        title="Micro-batch",
        json_schema_extra={"unit": "sequences"},
        description=(
            "Sequences that one device takes through forward and backward at once; activations and logits grow with it."
        ),
    )
    sequence_length: Annotated[int, Field(ge=1, le=100_000_000)] = Field(
        2048,
        title="Sequence length",
        json_schema_extra={"unit": "tokens"},
        description="Tokens of one sequence, padding included; activations and logits grow with it.",
    )
    gradient_accumulation: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1,
        title="Gradient accumulation",
        json_schema_extra={"unit": "micro-batches"},
        description=(
            "Micro-batches whose gradients add up before an optimizer step: a large batch in the memory of a small one."
        ),
    )
    checkpointing: Literal["none", "full", "selective", "offload"] = Field(
        "none",
        title="Checkpointing",
        description="Recompute activations in backward instead of keeping them: about a third more compute for full.",
    )
    checkpoint_every: Annotated[int, Field(ge=1, le=100_000)] = Field(
        1,
        title="Checkpoint every",
        json_schema_extra={"unit": "layers"},
        description=(
            "Under full checkpointing: 1 recomputes every layer, 2 every second one, and so on; the others keep what "
            "they make. torchtitan calls it selective_ac_option, torchtune ac_option."
        ),
    )
    attention: Literal["eager", "sdpa", "flash"] = Field(
        "sdpa",
        title="Attention",
        description="Which attention runs. Eager keeps scores that grow with the square of the sequence.",
    )
    loss: Literal["plain", "chunked", "fused"] = Field(
        "plain",
        title="Loss",
        description="plain turns all logits to fp32, chunked a part of them at a time; fused never holds them whole.",
    )
    kernels: Kernels = Field(
        "transformers", title="Kernels", description="Whose modules run: they decide which tensors are kept."
    )
    kernels_version: str | None = Field(
        None, title="Kernels version", description="The library's version; empty means the newest known."
    )
    trainer: Literal["none", "accelerate", "trl"] = Field(
        "none",
        title="Trainer",
        description=(
            "none holds the model's outputs through backward. accelerate, under transformers' Trainer, keeps the loss "
            "alone, and wraps forward in autocast where there is one. trl does so too, and QLoRA keeps norms in fp32 "
            "and the rest of what is not quantised in 16 bit."
        ),
    )

    @property
    def caches_keys(self) -> bool:
        """Whether keys and values of earlier tokens are kept for later ones."""
        return self.method == "inference" and self.inference.kv_cache

    @property
    def has_variants(self) -> bool:
        """Whether the optimizer comes in several implementations, as PyTorch's own do; others know no `optimizer_impl`.

        >>> Training(optimizer="adamw_8bit").has_variants
        False
        """
        return self.optimizer in _WITH_VARIANTS and self.kernels != "mlx"
