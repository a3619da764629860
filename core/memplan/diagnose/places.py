"""Where in a run it happened, as the traceback above a message says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memplan.diagnose.message import Message
from memplan.diagnose.passages import Passage
from memplan.result import InstantName, TermName

VISION = "forward, in the vision tower"
_LONGEST_TRACEBACK = 6000
"""Without spaces: rather the last frames of a long traceback than those of another error."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Words of a traceback, and where in a run they stand."""

    pattern: re.Pattern[str]
    instant: InstantName | None
    words: str
    makes: TermName | None = None


def _place(pattern: str, instant: InstantName | None, words: str, makes: TermName | None = None) -> _Place:
    return _Place(re.compile(pattern), instant, words, makes)


_PLACES = (
    _place(r"save_pretrained|save_checkpoint|save_model|full_state_dict|sharded_state_dict", None, "saving"),
    _place(r"evaluation_loop|prediction_step|_maybe_log_save_evaluate|inevaluate(?![a-z])", None, "evaluation"),
    _place(r"inload_state_dict|load_optimizer|optimizer\.load_state", None, "loading a checkpoint's states"),
    _place(
        r"_foreach_sqrt|\.sqrt\(\)|denom=",
        "optimizer_step",
        "the optimizer's step, at its temporary copies",
        "temporary buffers",
    ),
    _place(
        r"optim\S{0,600}?(?:init_state|zeros_like|_init_group)|exp_avg\w*'?\]?=|init_state\(|init_statezeros_like",
        "optimizer_step",
        "the optimizer's first step, making its states",
        "optimizer states",
    ),
    _place(
        r"optimizer\.step|_foreach_|_multi_tensor_|_single_tensor_|exp_avg|optim/adam|update_step\(|optimizer_step",
        "optimizer_step",
        "the optimizer's step",
    ),
    _place(r"\.backward\(|run_backward|_engine_run|(?<![a-z])backward(?:\(|ofthe)", "backward", "backward"),
    _place(
        r"cross_entropy|crossentropy|loss_function|logits\.float|lm_head\(|incompute_loss_func|log_softmax|\(loss\)",
        "loss",
        "the loss",
    ),
    _place(
        r"from_pretrained|load_checkpoint_and_dispatch|_load_state_dict_into|set_module_tensor_to_device|load_shard",
        "loaded",
        "loading the model",
    ),
    _place(r"dequantize_4bit|matmul_?4bit", "forward", "forward, unpacking a 4-bit weight"),
    _place(r"_prepare_attention_mask|visiontransformer|self\.visual|visiontower", "forward", VISION),
    _place(
        r"self_attn\(|scaled_dot_product|eager_attention|softmax\(|attentionscores", "forward", "forward, in attention"
    ),
    _place(r"inforward|decoder_layer\(|self\.mlp\(|_call_impl", "forward", "forward"),
    _place(
        r"\.to\(device|module\._apply|_apply\(|convert\(t|model\.cuda|deepspeed\.initialize|init_train_state|modelload",
        "loaded",
        "setting the model up",
    ),
)


def placed(message: Message, passage: Passage, start: int) -> Message:
    """The message with its place: of the traceback that ends at it, the frame that says most."""
    before = passage.squeezed[max(0, start - _LONGEST_TRACEBACK) : start]
    traceback = before[before.rfind("traceback(mostrecentcalllast)") :] if "traceback(mostrecentcall" in before else ""
    line = before[-200:]
    around = traceback or line + passage.squeezed[start : start + 160]
    in_warning = "userwarning" in line or "warnings.warn" in line
    for place in _PLACES:
        if place.pattern.search(around):
            told = replace(message, instant=place.instant, place=place.words, makes=place.makes)
            return replace(told, in_warning=in_warning)
    return replace(message, in_warning=in_warning)
