"""What a trainer's file needs and no plan says: written with a usual value, and marked as the person's to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping

_RATE = "the learning rate"
_EPOCHS = "how long to train"
_DATA = "your data"
_PLACE = "where results go"
_SCALE = "how strongly the adapters count; twice the rank is usual"

PLACEHOLDERS: Mapping[str, str] = {
    **dict.fromkeys(("learning_rate", "lr"), _RATE),
    **dict.fromkeys(("num_epochs", "num_train_epochs", "epochs", "iters", "max_steps_per_epoch"), _EPOCHS),
    **dict.fromkeys(("datasets", "dataset", "data"), _DATA),
    "template": "the model's chat template",
    "output_dir": _PLACE,
    "log_dir": _PLACE,
    "logging_steps": "how often to log",
    "checkpoint_dir": "where the model's files are",
    "checkpoint_files": "the model's files",
    "tokenizer": "where the tokenizer's files are",
    "lr_scheduler": "how the learning rate moves",
    "lora_alpha": _SCALE,
    "scale": "how strongly the adapters count",
    "momentum": "the momentum",
}
"""By the file's key: what the person chooses there. Memory does not depend on any of them."""

MARK = "yours: "
SAID_ABOVE = f'Lines marked "{MARK.rstrip()}" hold placeholders: no plan says them, and memory does not depend on them'
_REFERENCE = ": ${"
_YAML_KEY = re.compile(r"^ *(?:- )?(\w+):")
_CALL_KEY = re.compile(r"^ *(\w+)=")


def with_marks(body: str, syntax: str) -> str:
    """The text with a comment behind each line that holds a placeholder.

    >>> with_marks("lora_r: 16\\nlora_alpha: 32\\n", "yaml")
    'lora_r: 16\\nlora_alpha: 32  # yours: how strongly the adapters count; twice the rank is usual\\n'

    Args:
        body: lines of YAML, or of a call in Python with one argument a line.
        syntax: "yaml" or "python".
    """
    key = _YAML_KEY if syntax == "yaml" else _CALL_KEY
    return "".join(f"{_marked(line, key)}\n" for line in body.splitlines())


def _marked(line: str, key: re.Pattern[str]) -> str:
    found = key.match(line)
    what = PLACEHOLDERS.get(found[1]) if found else None
    return line if what is None or _REFERENCE in line else f"{line}  # {MARK}{what}"
