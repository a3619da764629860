"""Gemma: norms before and after each block, scaled embeddings, capped scores and logits."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    read_activation,
    read_attention,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import (
    Architecture,
    Layer,
    Norm,
)


def _gemma2(reader: ConfigReader) -> Architecture:
    hidden, num_layers = reader.size("hidden_size"), reader.size("num_hidden_layers")
    window = reader.optional_size("sliding_window", 4096)
    softcap = reader.config.get("attn_logit_softcapping", 50.0) is not None
    bias = reader.flag("attention_bias", False)
    mlp = gated_mlp(
        "mlp",
        hidden,
        reader.size("intermediate_size"),
        read_activation(reader, "gelu_pytorch_tanh", "hidden_activation", "hidden_act"),
    )

    def layer(of_window: int | None) -> Layer:
        return Layer(
            attention=read_attention(
                reader, qkv_bias=bias, out_bias=bias, default_kv_heads=4, window=of_window, softcap=softcap
            ),
            mlp=mlp,
            attention_norm=Norm("input_layernorm", "gemma_rms", hidden),
            attention_out_norm=Norm("post_attention_layernorm", "gemma_rms", hidden),
            mlp_norm=Norm("pre_feedforward_layernorm", "gemma_rms", hidden),
            mlp_out_norm=Norm("post_feedforward_layernorm", "gemma_rms", hidden),
        )

    # Layers alternate between a sliding window and full attention, the first one slides.
    sliding, full = layer(window), layer(None)
    kinds = tuple(((full if index % 2 else sliding), 1) for index in range(num_layers))
    return compose_decoder(
        reader,
        kinds,
        norm="gemma_rms",
        tied_default=True,
        embedding_scale="buffer",
        logits_softcap=reader.config.get("final_logit_softcapping", 30.0) is not None,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {"gemma2": _gemma2}
"""Model types with a composition of their own."""
