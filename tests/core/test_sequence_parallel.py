"""Sequence parallelism. What is right: Korthikanti et al., 2022, equation 4: all that layers keep is divided."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.memory_map import memory_map
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from tests.core.small_models import SMALL

LAYERS, HIDDEN, TOKENS = 32, 4096, 8192
KEPT_PER_TOKEN = 200_840
"""Of a layer of Llama-3.1-8B in bf16: `resources/help/method.md` has it by hand."""


def scenario(model: dict[str, Any], parts: int, *, along: bool, **training: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "model": model,
            "training": {"sequence_length": TOKENS, **training},
            "hardware": {"devices": parts, "tensor_parallel": parts, "sequence_parallel": along},
        }
    )


def llama(parts: int, *, along: bool = True, **training: Any) -> Estimate:
    return estimate(scenario({"catalog": "meta-llama/Llama-3.1-8B"}, parts, along=along, **training))


def kept(found: Estimate) -> int:
    """Of all layers, from forward to backward."""
    rows = next(one for one in found.terms if one.name == "activations").tensors
    return sum(row.total_bytes for row in rows if row.count == LAYERS)


@pytest.mark.parametrize("parts", [1, 2, 4, 8])
def test_all_that_layers_keep_is_divided(parts: int) -> None:
    assert kept(llama(parts)) == LAYERS * TOKENS * KEPT_PER_TOKEN // parts


def test_without_it_what_stands_between_products_is_whole() -> None:
    """Two norms with their inputs and outputs, 8 h + 4 bytes a token each, and the residual's sum."""
    whole = 2 * (8 * HIDDEN + 4)
    divided = KEPT_PER_TOKEN - whole
    assert kept(llama(8, along=False)) == LAYERS * TOKENS * (whole + divided // 8)


def test_checkpoints_are_divided() -> None:
    found = llama(8, checkpointing="full")
    rows = next(one for one in found.terms if one.name == "activations").tensors
    inputs = [row.total_bytes for row in rows if "checkpointed input" in row.name]
    assert sum(inputs) == LAYERS * TOKENS * HIDDEN * 2 // 8


def test_the_whole_sequence_is_gathered_for_a_moment() -> None:
    """A product reads all tokens: one more tensor of them is alive than a device's part."""
    forward = next(one for one in llama(8, checkpointing="full").instants if one.name == "forward")
    assert forward.bytes_by_term["temporary buffers"] > TOKENS * HIDDEN * 2


@pytest.mark.parametrize("method", ["full", "lora", "inference"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
@pytest.mark.parametrize("config", sorted(SMALL))
def test_it_never_takes_more(config: str, method: str, checkpointing: str) -> None:
    """But for what is gathered: a tensor of all tokens, forward and again in backward."""
    with_it, without = (
        estimate(
            scenario(
                {"config": SMALL[config]},
                2,
                along=along,
                method=method,
                checkpointing=checkpointing,
                sequence_length=512,
            )
        )
        for along in (True, False)
    )
    gathered = 3 * 512 * max(SMALL[config].get("hidden_size", 0), SMALL[config].get("n_embd", 0)) * 4
    assert with_it.process.allocated <= without.process.allocated + gathered


def test_it_needs_devices_to_divide_among() -> None:
    assert llama(1, along=True).process.allocated == llama(1, along=False).process.allocated


def test_a_map_divides_as_well() -> None:
    given = scenario({"catalog": "meta-llama/Llama-3.1-8B"}, 8, along=True)
    found = memory_map(given, [1, 2], [1024, 8192])
    for row, batch in enumerate(found.batches):
        for column, sequence in enumerate(found.sequences):
            one = estimate(
                scenario(
                    {"catalog": "meta-llama/Llama-3.1-8B"}, 8, along=True, micro_batch=batch, sequence_length=sequence
                )
            )
            assert int(found.need_bytes[row, column]) == pytest.approx(one.need_bytes, rel=1e-4)
