"""The formats that can be read, and which of them a file is in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.errors import MemplanError
from memplan.exchange import (
    accelerate_launcher,
    axolotl,
    deepspeed_engine,
    hf_model,
    hf_trainer,
    litgpt,
    llama_factory,
    mlx_lm,
    peft_adapter,
    torchtitan,
    torchtune,
    unsloth,
    unsloth_program,
)
from memplan.exchange.documents import Document
from memplan.exchange.notes import ImportNote
from memplan.exchange.reading import Keys, Reading, known_keys


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how it is known, who reads it."""

    title: str
    keys_of: str
    trains: bool
    """Whether it is a trainer's file, so that what it leaves open is asked for."""
    recognises: Callable[[Document], bool]
    read: Callable[[Keys, Document], None]


FORMATS = (
    Format("safetensors weights", "transformers", False, hf_model.are_weights, hf_model.read_weights),
    Format("Unsloth arguments", "unsloth_program+trl", True, unsloth_program.recognises, unsloth_program.read),
    Format("PEFT adapter", "peft", False, peft_adapter.recognises, peft_adapter.read),
    Format("Hugging Face model", "transformers", False, hf_model.recognises, hf_model.read),
    Format("torchtune YAML", "torchtune", True, torchtune.recognises, torchtune.read),
    Format("torchtitan TOML", "torchtitan", True, torchtitan.recognises, torchtitan.read),
    Format("Unsloth Studio YAML", "unsloth", True, unsloth.recognises, unsloth.read),
    Format("axolotl YAML", "axolotl", True, axolotl.recognises, axolotl.read),
    Format("LLaMA-Factory YAML, version 1", "llama_factory", True, llama_factory.recognises_v1, llama_factory.read_v1),
    Format("LLaMA-Factory YAML", "llama_factory", True, llama_factory.recognises, llama_factory.read),
    Format("litgpt YAML", "litgpt", True, litgpt.recognises, litgpt.read),
    Format("MLX-LM YAML", "mlx", True, mlx_lm.recognises, mlx_lm.read),
    Format("DeepSpeed JSON", "deepspeed", False, deepspeed_engine.recognises, deepspeed_engine.read),
    Format("accelerate configuration", "accelerate", False, accelerate_launcher.recognises, accelerate_launcher.read),
    Format("TRL arguments", "trl", True, hf_trainer.is_trl, hf_trainer.read_trl),
    Format("Trainer arguments", "transformers", True, hf_trainer.recognises, hf_trainer.read),
)
"""In the order that settles whose file it is: the surest signs first."""


def read_all(document: Document) -> list[Reading]:
    """Read a file, and what it holds of another format: DeepSpeed's configuration instead of its path, or an adapter's
    arguments among the Trainer's.

    Raises:
        MemplanError: as read_document.
    """
    if holds_both(document):
        return _read_both(document)
    reading = read_document(document)
    within = document.content.get("deepspeed")
    if not (reading.trains and isinstance(within, dict) and within):
        return [reading]
    engine = Reading(document.file, "DeepSpeed JSON", "deepspeed", trains=False)
    keys = Keys(engine, within, "deepspeed.")
    deepspeed_engine.read(keys, document)
    keys.finish()
    return [reading, engine]


def holds_both(document: Document) -> bool:
    """Whether the Trainer's arguments and an adapter's stand in one file, as programs of people's own have them."""
    content = document.content
    both = hf_trainer.recognises(document) and peft_adapter.has_adapter(content) and "peft_type" not in content
    return both and not unsloth_program.recognises(document)


def _read_both(document: Document) -> list[Reading]:
    of_adapter = known_keys("peft") - known_keys("trl") | set(peft_adapter.BESIDE_OTHERS)
    apart = {key: value for key, value in document.content.items() if key in of_adapter}
    rest = {key: value for key, value in document.content.items() if key not in of_adapter}
    adapter = Reading(document.file, "PEFT adapter", "peft", trains=False)
    keys = Keys(adapter, apart)
    peft_adapter.read(keys, document)
    keys.finish()
    return [*read_all(replace(document, content=rest)), adapter]


def read_document(document: Document) -> Reading:
    """Read a file in its format.

    Raises:
        MemplanError: it is in none that is known, or holds what its format does not allow.
    """
    if any(sign in document.content for sign in _MS_SWIFT) and "per_device_train_batch_size" in document.content:
        raise MemplanError(
            "is a recipe of ms-swift, which is not read.",
            place=document.file,
            remedy="Write it under the names of transformers' Trainer, with PEFT's adapter_config.json beside it.",
        )
    for one in FORMATS:
        if one.recognises(document):
            reading = Reading(document.file, one.title, one.keys_of, trains=one.trains)
            keys = Keys(reading, document.content)
            one.read(keys, document)
            keys.finish()
            if document.remark:
                reading.notes.append(ImportNote("ignored", "comments", document.remark, document.name))
            return reading
    raise _unknown(document)


def _unknown(document: Document) -> MemplanError:
    for signs, message, remedy in _OTHERS:
        if all(sign in document.content for sign in signs):
            return MemplanError(message, place=document.file, remedy=remedy)
    shown = ", ".join(list(map(str, document.content))[:5])
    message = f"is in no format that is known (its keys: {shown or 'none'})."
    titles = ", ".join(dict.fromkeys(one.title for one in FORMATS))
    return MemplanError(message, place=document.file, remedy=f"Known are: {titles}.")


_MS_SWIFT = ("tuner_type", "train_type", "sft_type")
"""Three generations of its own key; the other keys are the Trainer's, whose meaning they change."""

_GIVE_MODEL = "Give the config.json of the model's Hugging Face version."
_OTHERS = (
    (("scenarios",), "is a plan already.", "Open it as it is: memplan estimate PLAN."),
    (("dim", "n_layers"), "is a params.json in Meta's own form.", _GIVE_MODEL),
    (("dim", "n_heads"), "is a params.json in Meta's own form.", _GIVE_MODEL),
    (("base_emb_dim",), "is a MaxText model; memplan reads none of them.", _GIVE_MODEL),
    (("base_model",), "names a base model and nothing else: no recipe.", "Give the trainer's own configuration."),
    (("provider",), "is a cloud's configuration without a recipe.", "Give the recipe's own file."),
    (("weight_map",), "is the index of a model's weights, not its config.json.", "Give the model's folder."),
    (("tokenizer_class",), "is a tokenizer's file.", "Give the model's config.json."),
)
