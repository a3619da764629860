"""Which generation of transformers and TRL a file is of, as far as its keys tell: a key that is gone names the last.

Source: the arguments' classes in the releases themselves (transformers 4.40 to 5.24, trl 0.9 to 1.16).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memplan.exchange.notes import Stated
from memplan.exchange.reading import Reading

Version = tuple[int, int]

_GONE_FROM_TRANSFORMERS: dict[Version, tuple[str, ...]] = {
    (4, 51): ("evaluation_strategy", "dispatch_batches", "split_batches"),
    (5, 0): (
        *("overwrite_output_dir", "no_cuda", "use_mps_device", "half_precision_backend", "fp16_backend", "use_ipex"),
        *("fp16_opt_level", "adafactor", "per_gpu_train_batch_size", "per_gpu_eval_batch_size", "push_to_hub_token"),
        *("push_to_hub_model_id", "push_to_hub_organization", "save_safetensors", "tpu_num_cores", "jit_mode_eval"),
        *("include_inputs_for_metrics", "include_tokens_per_second", "torchdynamo", "ray_scope", "mp_parameters"),
        *("fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap", "use_legacy_prediction_loop", "past_index"),
    ),
}
_GONE_FROM_TRL: dict[Version, tuple[str, ...]] = {
    (0, 20): ("max_seq_length",),
    (0, 27): ("torch_dtype",),
    (0, 29): ("max_prompt_length",),
}
_LAST_BEFORE: dict[Version, str] = {(4, 51): "4.50", (5, 0): "4.57"}
"""The newest transformers before each."""

KBIT_UNTIL: Version = (0, 27)
"""TRL before this prepares a quantised base itself: norms in fp32."""
CHECKPOINTS_SINCE: Version = (0, 22)
"""TRL checkpoints by default from here on."""
_TRANSFORMERS_5_SINCE: Version = (0, 29)
"""TRL before this came out beside transformers 4."""


@dataclass(frozen=True, slots=True)
class Before:
    """A file is older than a release, and the key that tells."""

    version: Version
    key: str

    @property
    def words(self) -> str:
        """The release: "0.27"."""
        return ".".join(map(str, self.version))


def transformers_before(content: Mapping[str, Any]) -> Before | None:
    """The oldest release of transformers that lacks one of a file's arguments; None where the newest has them all."""
    return _before(content, _GONE_FROM_TRANSFORMERS)


def trl_before(content: Mapping[str, Any]) -> Before | None:
    """The oldest release of TRL that lacks one of a file's arguments; None where the newest has them all.

    >>> trl_before({"max_seq_length": 2048, "torch_dtype": "bfloat16"})
    Before(version=(0, 20), key='max_seq_length')
    """
    return _before(content, _GONE_FROM_TRL)


def _before(content: Mapping[str, Any], gone: Mapping[Version, tuple[str, ...]]) -> Before | None:
    for version, keys in sorted(gone.items()):
        for key in keys:
            if content.get(key) is not None:
                return Before(version, key)
    return None


def state_generation(reading: Reading, content: Mapping[str, Any], *, trl: bool) -> Before | None:
    """Take down the version of transformers that follows, as an assumption, and return TRL's release.

    Args:
        reading: where to.
        content: the file's keys.
        trl: whether it is a file of TRL's.
    """
    library = transformers_before(content)
    theirs = trl_before(content) if trl else None
    if library is not None:
        why = f"{library.key} is no argument of transformers {library.words}: the newest before it"
        _state_version(reading, _LAST_BEFORE[library.version], library.key, why)
    elif theirs is not None and theirs.version < _TRANSFORMERS_5_SINCE:
        why = f"{theirs.key} is no argument of TRL {theirs.words}, before which TRL ran on transformers 4"
        _state_version(reading, _LAST_BEFORE[(5, 0)], theirs.key, why)
    if theirs is not None:
        reading.state("given.trl_before", Stated(theirs.version, reading.file, theirs.key), weak=True)
    return theirs


def _state_version(reading: Reading, version: str, key: str, why: str) -> None:
    reading.default("training.kernels_version", version, why)
    reading.state("given.transformers", Stated(version, reading.file, key), weak=True)
