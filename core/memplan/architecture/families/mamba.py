"""Families with Mamba, the first of its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.families.mamba2 import only_mixers
from memplan.architecture.linear_parts import Mamba
from memplan.architecture.parts import Architecture, Linear


def _mixer(reader: ConfigReader) -> Mamba:
    hidden = reader.size("hidden_size")
    inner = reader.size("intermediate_size", default=reader.size("expand", default=2) * hidden)
    state, rank = reader.size("state_size", default=16), reader.size("time_step_rank", default=-(-hidden // 16))
    bias = reader.flag("use_bias", False)
    return Mamba(
        name="mixer",
        inputs=(Linear("in_proj", hidden, 2 * inner, bias),),
        inner=(Linear("x_proj", inner, rank + 2 * state), Linear("dt_proj", rank, inner, bias=True, bypassed=True)),
        output=Linear("out_proj", inner, hidden, bias),
        width=inner,
        kernel=reader.size("conv_kernel", default=4),
        state=inner * state,
        state_size=state,
        conv_bias=reader.flag("use_conv_bias", True),
        norms="without_gain" if reader.model_type == "falcon_mamba" else "no",
    )


def _mamba(reader: ConfigReader) -> Architecture:
    """Nothing but Mamba, and a norm before it; Falcon's norms inside have gains that nothing reads."""
    mixer = _mixer(reader)
    model = only_mixers(reader, mixer, tied=True)
    if mixer.norms == "no":
        return model
    unread = tuple(2 * norm.size for norm in (replace(mixer.read_norms[0], size=mixer.width), *mixer.read_norms[1:]))
    return replace(model, layers=tuple((replace(layer, buffers=unread), count) for layer, count in model.layers))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "mamba": _mamba,
    "falcon_mamba": _mamba,
}
"""Model types with a composition of their own."""
