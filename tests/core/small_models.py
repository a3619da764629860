"""Small models of every composed family, as their config.json says them."""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

LLAMA: Config = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 4000,
}
MIXTRAL: Config = {
    **LLAMA,
    "model_type": "mixtral",
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
}
OPT: Config = {
    "model_type": "opt",
    "hidden_size": 384,
    "ffn_dim": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "vocab_size": 5000,
    "max_position_embeddings": 1024,
}
GPT2: Config = {
    "model_type": "gpt2",
    "n_embd": 320,
    "n_head": 5,
    "n_layer": 4,
    "vocab_size": 5000,
    "n_positions": 1024,
}
GEMMA2: Config = {
    **LLAMA,
    "model_type": "gemma2",
    "head_dim": 96,
    "sliding_window": 200,
}
QWEN3_MOE: Config = {
    **LLAMA,
    "model_type": "qwen3_moe",
    "head_dim": 80,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 256,
}
GPT_NEOX: Config = {
    "model_type": "gpt_neox",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "vocab_size": 5000,
}
SMALL: dict[str, Config] = {
    "llama": LLAMA,
    "llama tied": {**LLAMA, "tie_word_embeddings": True},
    "mistral": {**LLAMA, "model_type": "mistral", "sliding_window": 100},
    "qwen2": {**LLAMA, "model_type": "qwen2"},
    "qwen3": {**LLAMA, "model_type": "qwen3", "head_dim": 80},
    "phi3": {**LLAMA, "model_type": "phi3"},
    "gemma2": GEMMA2,
    "gpt2": GPT2,
    "gpt_neox": GPT_NEOX,
    "opt": OPT,
    "opt narrow": {**OPT, "word_embed_proj_dim": 192, "do_layer_norm_before": False},
    "mixtral": MIXTRAL,
    "qwen3_moe": QWEN3_MOE,
}
