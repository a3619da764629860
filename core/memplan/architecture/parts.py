"""The parts that decoder models are composed of: frozen shapes, no arithmetic of memory.

A family is a composition of these parts (`families`); counts follow from their weights (`weights`), and what a training
step keeps follows from walking them (`memplan.memory.blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from memplan.architecture.modules import Component, Linear, Norm, NormKind, Table, Weight
from memplan.architecture.positions import Rotary, rotary_tables

if TYPE_CHECKING:
    from memplan.architecture.expert_parts import Experts
    from memplan.architecture.latent_parts import LatentAttention
    from memplan.architecture.linear_parts import StateMixer
    from memplan.architecture.shared_parts import LayerInput, LayerInputs, Streams

__all__ = [
    "Activation",
    "Architecture",
    "Attention",
    "Component",
    "EmbeddingScale",
    "HeadTransform",
    "Layer",
    "Linear",
    "Mlp",
    "Modules",
    "Norm",
    "NormKind",
    "Table",
    "Weight",
]

Activation = Literal["silu", "gelu", "gelu_tanh", "gelu_new", "relu", "relu2", "xielu", "bloom_gelu"]
EmbeddingScale = Literal["no", "buffer", "number", "number_inside"]
Modules = Literal["transformers", "litgpt", "torchtune", "megatron"]


@dataclass(frozen=True, slots=True)
class Attention:
    """Self-attention with `heads` query heads that share `kv_heads` key and value heads."""

    name: str
    heads: int
    kv_heads: int
    head_dim: int
    inputs: tuple[Linear, ...]
    """q, k and v; or one fused matrix."""
    output: Linear
    fused: Literal["no", "by_part", "by_head", "by_index", "by_shard", "one_pair", "grouped"] = "no"
    """How a fused matrix's output is cut: q | k | v over the whole width; within each head, in one go or by three
    indices (Bloom); within four parts, whose pieces are copied (CodeGen); the last two of all heads are the key and the
    value (Falcon); or so in groups (Falcon 40B)."""
    groups: int = 1
    """Query heads for each key and value of a product cut in groups: keys and values are repeated at once."""
    scores: Literal["kernel", "gpt_neo", "mpt", "bloom", "falcon", "granite_swa", "xglm", "gpt"] = "kernel"
    """Whose way of writing out scores it is where the family has one of its own."""
    alibi: bool = False
    """Biases by distance are part of the mask, for each head (Falcon RW)."""
    bias_distances: int = 0
    """How many distances the model's table of biases has, whatever the sequence (MPT)."""
    rotary_dim: int = 0
    """How many values of each head positions turn; 0 for none."""
    rotary: Rotary = Rotary()  # noqa: RUF009 - frozen
    query_norm: Norm | None = None
    key_norm: Norm | None = None
    """Over each head; over all heads at once where the norm is as wide as the projection (OLMo 2)."""
    value_norm: Norm | None = None
    """Over each head's value; without a projection of values they are keys before their norm (Gemma 4)."""
    norms_after_turning: bool = False
    """Queries and keys are normed once positions have turned them (HunYuan)."""
    inner_norm: Norm | None = None
    """A norm of what the heads found, before the output projection (BitNet)."""
    shares: Literal["no", "gives", "takes"] = "no"
    """Later layers read its keys and values, or it has none of its own and takes those of an earlier one (Gemma 3n)."""
    waits: bool = False
    """Shared keys and values have a gradient of a later layer's when its backward begins."""
    dropout: float = 0.0
    softcap: bool = False
    window: int | None = None
    scores_in_fp32: bool = False
    """Eager attention casts queries and keys for the scores (GPT-J)."""
    softmax_in_fp32: bool = True
    """Eager attention casts its scores for the softmax (GPT-2 does not)."""
    clips: bool = False
    """Projections are clipped between two numbers, in place (OLMo)."""
    scaled_queries: Literal["no", "first", "after_turning", "in_fp32"] = "no"
    """Queries are scaled by a product of their own: as they are (OPT), once turned (Ministral 3), in fp32 (Llama 4)."""
    unit_heads: bool = False
    """Turned queries and keys are divided by their root mean square (Llama 4)."""
    differential: bool = False
    """Two answers of the same scores, one taken off the other (DiffLlama)."""
    gated: bool = False
    """The query projection makes a gate for the output as well (Qwen3-Next)."""
    gate: Linear | None = None
    """A projection of its own makes the gate: a number for each value (AFMoE), or for each head (Laguna)."""
    softplus_gate: bool = False
    """The gate opens by a softplus in fp32, not by a sigmoid (Laguna)."""
    sinks: bool = False
    """Each head has one more score, a weight of its own (GPT-OSS); only flash attention has a kernel for it."""
    steadied: bool = False
    """Eager attention takes the largest score of each row off before the softmax, which keeps its dtype (MiMo)."""
    value_width: int = 0
    """Width of a value where it is not that of a key."""
    scaled: Literal["no", "keys", "values"] = "no"
    """What is multiplied by a number: keys before they are turned (Falcon H1), values (MiMo)."""
    chunked: bool = False
    """`window` cuts the sequence in pieces that do not see each other (Llama 4)."""

    @property
    def value_dim(self) -> int:
        """Width of a value."""
        return self.value_width or self.head_dim

    def linears(self) -> Iterator[Linear]:
        """All projections."""
        yield from self.inputs
        if self.gate is not None:
            yield self.gate
        yield self.output

    def weights(self) -> Iterator[Weight]:
        """Projections, output, query and key norms."""
        norms = (self.query_norm, self.key_norm, self.value_norm, self.inner_norm)
        for part in (*self.inputs, self.gate, self.output, *norms):
            if part is not None:
                yield from part.weights()
        if self.sinks:
            yield Weight("sinks", (self.heads,), "attention")
        yield from self.vectors()

    def vectors(self) -> Iterator[Weight]:
        """What the number that one answer is taken off the other by is made of."""
        if self.differential:
            for name in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"):
                yield Weight(name, (self.head_dim,), "attention")


@dataclass(frozen=True, slots=True)
class Mlp:
    """A feed-forward block: down(act(gate(x)) * up(x)) when gated, down(act(up(x))) otherwise."""

    name: str
    up: Linear
    down: Linear
    activation: Activation
    gate: Linear | None = None
    fused: bool = False
    """gate and up are one matrix (`up`), cut after the product."""
    width: int = 0
    """Width of the activation's input."""
    sparse: bool = False
    """Of the gate only what is above a share of its values passes (Gemma 3n)."""
    inner_norm: Norm | None = None
    """A norm before the last matrix (BitNet)."""
    scaled: bool = False
    """Gate and output are multiplied by a number; the other projection runs first (Falcon H1)."""

    def linears(self) -> Iterator[Linear]:
        """Gate, up, down."""
        for part in (self.gate, self.up, self.down):
            if part is not None:
                yield part

    def weights(self) -> Iterator[Weight]:
        """Gate, up, down, and the slopes of an activation that has some."""
        for part in (*self.linears(), self.inner_norm):
            if part is not None:
                yield from part.weights()
        yield from self.slopes()

    def slopes(self) -> Iterator[Weight]:
        """The parameters of the activation: two slopes of xIELU."""
        if self.activation == "xielu":
            yield Weight("act_fn.alpha_p", (1,), "mlp")
            yield Weight("act_fn.alpha_n", (1,), "mlp")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One decoder layer: attention and a feed-forward block around a residual stream."""

    attention: Attention | LatentAttention | StateMixer
    mlp: Mlp | Experts | None
    attention_norm: Norm | None
    mlp_norm: Norm | None
    attention_out_norm: Norm | None = None
    mlp_out_norm: Norm | None = None
    parallel: bool = False
    """Attention and feed-forward read the same input (GPT-NeoX); the same norm's output without an `mlp_norm` (Phi)."""
    residual_first: bool = False
    """In parallel, the attention is added to the residual before the feed-forward is (Cohere)."""
    residual_scale: bool = False
    """What is added to the residual is scaled first (Granite)."""
    buffers: tuple[int, ...] = ()
    """Bytes of each buffer that comes with the layer (a causal mask: GPT-Neo)."""
    mask_side: int = 0
    """Side of a causal mask in the model's dtype that comes with the layer (GPT)."""
    post_norm: bool = False
    """Norms stand after the residual sums (OPT-350m)."""
    dropout: float = 0.0
    drops_attention: bool = True
    """Whether what the attention gives meets the layer's dropout as well (Persimmon: the feed-forward block alone)."""
    modules_of: Modules = "transformers"
    """Whose modules run the layer."""
    holds_attention: bool = False
    """The attention's output has a name of its own, and lives until the layer is through (Llama 4)."""
    holds_norm: Literal["no", "until_next", "until_end"] = "no"
    """What the first norm makes has a name of its own: it lives until the next norm takes the name (MPT), or until the
    layer is through (StableLM)."""
    streams: Streams | None = None
    """Several residual streams, of which it runs one (Gemma 3n)."""
    layer_input: LayerInput | None = None
    """What the layer reads beside the residual (Gemma 3n, Gemma 4)."""
    scaled_in_place: bool = False
    """What it gives is multiplied by a buffer, in place (Gemma 4)."""
    waiting: tuple[tuple[int, int], ...] = ()
    """Keys and values of other layers whose gradients wait while it runs back: heads and width of each."""
    adapted: bool = True
    """Whether its linear modules get adapters, where there are any: they may stand on the last layers alone."""
    checkpointed: bool = True
    """Whether it is run again in backward, where layers are: it may be one in so many."""

    def weights(self) -> Iterator[Weight]:
        """Every parameter tensor of the layer."""
        norms = (self.attention_norm, self.mlp_norm, self.attention_out_norm, self.mlp_out_norm)
        for part in (self.attention, self.mlp, *norms):
            if part is not None:
                place = "" if isinstance(part, Norm) or not part.name else f"{part.name}."
                yield from (replace(weight, name=place + weight.name) for weight in part.weights())
        for own in (self.streams, self.layer_input):
            if own is not None:
                yield from own.weights()

    def linears(self) -> Iterator[Linear]:
        """Every linear module of the layer."""
        for part in (self.attention, self.mlp, self.streams, self.layer_input):
            if part is not None:
                yield from part.linears()


@dataclass(frozen=True, slots=True)
class HeadTransform:
    """A matrix, an activation and a norm before the head."""

    name: str
    dense: Linear
    activation: Activation
    norm: Norm

    def weights(self) -> Iterator[Weight]:
        """The matrix and the norm, both a part of the head."""
        for part in (self.dense, self.norm):
            for weight in part.weights():
                yield replace(weight, name=f"{self.name}.{weight.name}", component="head")


@dataclass(frozen=True, slots=True, eq=False)
class Architecture:
    """A decoder model: embeddings, layers by kind, final norm, head."""

    model_type: str
    hidden_size: int
    vocab_size: int
    tokens: Table
    layers: tuple[tuple[Layer, int], ...]
    """Runs of equal layers from first to last, each with how many there are."""
    final_norm: Norm | None
    head: Linear
    tied: bool
    """The head is the token table."""
    positions: Table | None = None
    fixed_positions: Table | None = None
    """Positions that are added, of a table that is no parameter (XGLM)."""
    position_ids_per_row: bool = False
    """Positions are worked out from a mask for each row (OPT)."""
    embedding_scale: EmbeddingScale = "no"
    """Embeddings are scaled: by a tensor (Gemma), by a plain number (Granite), by one inside their module (BioGPT)."""
    embedding_dropout: float = 0.0
    embedding_norm: Norm | None = None
    """A norm of the embeddings (Bloom)."""
    projections: tuple[Linear, ...] = ()
    """In and out of a narrower embedding (OPT-350m)."""
    streams: Streams | None = None
    """Further residual streams around the layers (Gemma 3n)."""
    layer_inputs: LayerInputs | None = None
    """What is made for each layer beside the residual (Gemma 3n, Gemma 4)."""
    idle: tuple[tuple[Weight, int], ...] = ()
    """Weights that text does not pass through, with how often each occurs: towers, layers that look at images."""
    tower_values: int = 0
    """How many of them are of what reads images or sound."""
    logits_softcap: bool = False
    buffers: tuple[int, ...] = ()
    """Bytes of each buffer that comes with the model (a causal mask: GPT-BigCode)."""
    logits_scale: bool = False
    """Logits are scaled by a number (Granite, Cohere)."""
    scales_head_input: bool = False
    """What the head reads is scaled by a number first (MiniCPM 3)."""
    head_transform: HeadTransform | None = None
    """What stands before the head (ModernBERT's decoder)."""
    wide_logits: bool = False
    """The model itself turns its logits into fp32, which it gives back (Mamba, Nemotron H)."""
    loss_was_narrow: bool = False
    """Before transformers 4.49 its loss was computed in the logits' own dtype (GPT-BigCode)."""
    caveat: str = ""
    """What the walk leaves out or takes from a relative, in words for a person."""
    known: bool = True
    """Whether the composition is this model type's own; otherwise it is the nearest one."""
    nearest: str = "a llama-like model"
    """What is walked when the composition is not the model type's own."""
    generates: bool = True
    """Whether it makes text token by token: encoders (BERT and its like) read their input in one pass."""
    starts: bool = True
    """Whether ids come in here: a later stage of a pipeline receives hidden states instead."""
    ends: bool = True
    """Whether the loss is here: an earlier stage of a pipeline sends hidden states on instead."""

    @property
    def num_layers(self) -> int:
        """How many layers there are."""
        return sum(count for _, count in self.layers)

    @property
    def kinds(self) -> dict[Layer, int]:
        """Each kind of layer with how many there are of it."""
        found: dict[Layer, int] = {}
        for layer, count in self.layers:
            found[layer] = found.get(layer, 0) + count
        return found

    def buffer_sizes(self, value_bytes: float) -> Iterator[float]:
        """Bytes of each buffer that the composition names, in a model whose values take so many."""
        yield from self.buffers
        if self.fixed_positions is not None:
            yield self.fixed_positions.rows * self.fixed_positions.width * value_bytes
        for layer, count in self.layers:
            own = (*layer.buffers, *((layer.mask_side**2 * value_bytes,) if layer.mask_side else ()))
            yield from own * count

    @property
    def feeds_rows(self) -> bool:
        """Whether the first layer's attention reads rows of the token table as the table's module gives them."""
        positions = self.positions or self.fixed_positions
        added = (self.embedding_norm, positions, self.embedding_dropout, self.projections, self.streams)
        first, _ = self.layers[0]
        return first.attention_norm is None and self.embedding_scale != "number" and not any(added)

    @property
    def rotary_tables(self) -> tuple[tuple[int, int], ...]:
        """Each table of rotary positions as (number, width); empty without."""
        return rotary_tables(self.kinds)

    def outer_weights(self) -> Iterator[Weight]:
        """Parameter tensors outside the layers; tied weights once."""
        own = (self.tokens, self.embedding_norm, self.positions, self.layer_inputs, *self.projections[:1])
        to, back = (self.streams.projections, self.streams.unembeddings) if self.streams is not None else ((), ())
        first = (*own, *to) if self.starts else ()
        last = (*back, *self.projections[1:], self.final_norm, self.head_transform) if self.ends else ()
        for part in (*first, *last):
            if part is not None:
                yield from part.weights()
        if not self.ends:
            return
        if not self.tied:
            yield from self.head.weights()
            return
        if not self.starts:  # a copy of the table, which is kept equal to the first stage's
            yield from self.tokens.weights()
        if self.head.bias:
            yield Weight(f"{self.head.name}.bias", (self.head.outputs,), "head")
