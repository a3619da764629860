"""What a lever costs in time. What is right: arithmetic, and what PyTorch runs while something travels."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.catalog import device
from memplan.levers import Links, Pass, Work, links_of, slowdown, work_of
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario

LINKS = Links(flops=1.0, memory=1.0, host=1.0, neighbours=1.0, network=0.5)
LLAMA = {"catalog": "meta-llama/Llama-3.1-8B"}


def work(*passes: Pass) -> Work:
    return Work(passes, 0.0, sent_over=0, summed_bytes=0.0, summed_over=0, host_bytes=0.0,
                update_bytes=0.0, tokens=1.0)  # fmt: skip


def made(training: dict[str, Any], hardware: dict[str, Any]) -> Scenario:
    return Scenario.model_validate({"model": LLAMA, "training": training, "hardware": hardware})


def test_what_travels_hides_under_its_own_pass_alone() -> None:
    """Forward of 3 s with 4 s of gathers, backward of 6 s with 8 s, which recomputing makes 9 s: 12 s, then 13 s.

    All together, 12 s of gathers would hide under 12 s of arithmetic, and recomputing would cost nothing.
    """
    forward, backward, again = Pass(3.0, 4.0, 0.0), Pass(6.0, 8.0, 0.0), Pass(9.0, 8.0, 0.0)
    assert work(forward, backward).seconds_per_token(LINKS) == 12.0
    assert work(forward, again).seconds_per_token(LINKS) == 13.0


def test_gathers_hide_under_no_other_pass_and_copies_to_the_host_hide_likewise() -> None:
    assert work(Pass(3.0, 0.0, 0.0), Pass(6.0, 0.0, 9.0)).seconds_per_token(LINKS) == 3.0 + 9.0


@pytest.mark.parametrize(
    ("hardware", "cards"),
    [
        ({"devices": 8, "sharding": {"strategy": "fsdp2"}}, 0),
        ({"devices": 16, "sharding": {"strategy": "fsdp2"}}, 8),
        ({"devices": 16, "devices_per_node": 4, "sharding": {"strategy": "fsdp2"}}, 4),
        ({"devices": 2, "devices_per_node": 1, "sharding": {"strategy": "fsdp2"}}, 1),
        ({"devices": 32, "tensor_parallel": 4, "sharding": {"strategy": "fsdp2"}}, 2),
        ({"devices": 16, "tensor_parallel": 8}, 1),
        ({"devices": 8, "tensor_parallel": 8}, 0),
    ],
)
def test_a_group_over_several_nodes_sends_over_the_card_of_each_of_its_devices_there(
    hardware: dict[str, Any], cards: int
) -> None:
    """Two nodes of 8: a ring through each of 8 cards. Four devices a tensor: two of a node's 8 are of one group."""
    assert work_of(made({}, hardware)).sent_over == cards


def test_the_network_is_as_fast_as_its_cards_together_and_no_faster_than_a_node_within() -> None:
    """NVLink of an H100 is 450 GB/s one way, a card 50: eight come to 400, and one to 50."""
    links = links_of(device("h100-sxm"))
    assert [links.between(cards) / 1e9 for cards in (0, 1, 8, 16)] == [450, 50, 400, 450]


def test_recomputing_over_two_nodes_costs_about_what_it_does_over_one() -> None:
    """Llama 3.1 70B on 16 H100: 400 GB/s to the other node against 450 within; at 50 recomputing looked free."""
    on_two = Scenario.model_validate({
        "model": {"catalog": "meta-llama/Llama-3.1-70B"}, "training": {"sequence_length": 4096},
        "hardware": {"device": "h100-sxm", "devices": 16, "sharding": {"strategy": "fsdp2"}},
    })  # fmt: skip
    found = slowdown(on_two, replaced(on_two, "training.checkpointing", "full"), device("h100-sxm"))
    assert 1.2 < found < 1.35


@pytest.mark.parametrize("tokens", [512, 2048, 8192])
def test_recomputing_is_never_free_where_gathers_take_longer_than_arithmetic(tokens: int) -> None:
    """Eight 4090s over PCIe: forward waits for its gathers, backward with half as much arithmetic again does not."""
    before = made({"sequence_length": tokens, "micro_batch": 8}, {"device": "rtx-4090", "devices": 8,
                  "sharding": {"strategy": "fsdp2"}})  # fmt: skip
    after = replaced(before, "training.checkpointing", "full")
    assert slowdown(before, after, device("rtx-4090")) > (1.05 if tokens > 1000 else 1.0)


def test_gradients_that_are_reduced_once_hide_under_the_last_backward() -> None:
    """DDP's no_sync: of four micro-batches, three reduce nothing."""
    found = work_of(made({"gradient_accumulation": 4}, {"devices": 8, "sharding": {"strategy": "ddp"}})).passes
    assert [(one.times, one.sent_bytes > 0) for one in found] == [(4, False), (3, False), (1, True)]
    sharded = work_of(made({"gradient_accumulation": 4}, {"devices": 8, "sharding": {"strategy": "fsdp2"}})).passes
    assert [(one.times, one.sent_bytes > 0) for one in sharded] == [(4, True), (3, True), (1, True)]
    assert sharded[1] == Pass(sharded[2].flops, sharded[2].sent_bytes, 0.0, times=3)


def test_half_the_sequences_take_twice_as_long_for_a_token_while_weights_are_what_is_read() -> None:
    """Of a prompt of 16 tokens next to nothing is cached: 16 GB of weights are read for two tokens, then for one."""
    two = made({"method": "inference", "micro_batch": 2, "sequence_length": 16}, {})
    found = slowdown(two, replaced(two, "training.micro_batch", 1), device("h100-sxm"))
    assert found == pytest.approx(2.0, rel=0.03)


def test_cached_keys_are_read_for_each_token() -> None:
    """Llama 3.1 8B: 2 x 32 layers x 8 heads x 128 values of 2 bytes for each token of each sequence, 128 KiB."""
    short = made({"method": "inference", "micro_batch": 2, "sequence_length": 1000}, {})
    longer = replaced(short, "training.sequence_length", 3000)
    more = work_of(longer).read_bytes - work_of(short).read_bytes
    assert more == pytest.approx(2 * 2000 * 128 * 1024, rel=0.001)


def test_parts_of_matrices_are_added_up_twice_in_each_layer() -> None:
    """32 layers of 4096 values of 2 bytes, 2048 tokens; forward 2, backward 2, recomputed 2; half of 2 x sent each."""
    train = made({"checkpointing": "full"}, {"devices": 2, "tensor_parallel": 2})
    assert work_of(train).summed_bytes == 32 * 4096 * 2 * 2048 * 6 * 2 // 2
    assert work_of(made({}, {})).summed_bytes == 0


def test_shards_are_sent_as_they_are_computed_with() -> None:
    """PyTorch 2.13, MixedPrecisionPolicy(param_dtype=bf16, reduce_dtype=fp32): 2 bytes of a weight each way, 4 of a
    gradient; of 8.03e9 values, seven parts of eight."""
    hardware = {"devices": 8, "sharding": {"strategy": "fsdp2"}}
    for dtype in ("fp32", "bf16"):
        forward, _, last = work_of(made({"weights_dtype": dtype}, hardware)).passes
        assert forward.sent_bytes == pytest.approx(2 * 8_030_261_248 * 7 / 8, rel=0.001)
        assert last.sent_bytes == pytest.approx((2 + 4) * 8_030_261_248 * 7 / 8, rel=0.001)
    plain = {"devices": 8, "sharding": {"strategy": "fsdp2", "mixed_precision": False}}
    assert work_of(made({"weights_dtype": "fp32"}, plain)).passes[0].sent_bytes == pytest.approx(2 * forward.sent_bytes)


def test_checkpoints_on_every_nth_layer_recompute_those_alone() -> None:
    """Of 32 layers, every second is 16, every fifth 6, and none's number can be divided by 40."""
    flops = [
        work_of(made({"checkpointing": checkpointing, "checkpoint_every": every}, {})).passes[-1].flops
        for checkpointing, every in (("none", 1), ("full", 1), ("full", 2), ("full", 5), ("full", 40))
    ]
    none, whole = flops[:2]
    assert [(one - none) / (whole - none) for one in flops[2:]] == pytest.approx([16 / 32, 6 / 32, 0])


def of_forward(training: dict[str, Any], hardware: dict[str, Any] | None = None) -> float:
    """Backward's arithmetic as a share of the layers' products in forward, without the head's and attention's: at a
    sequence of one token scores are next to nothing."""
    found = work_of(made({"sequence_length": 1, "lora": {"rank": 1}, **training}, hardware or {})).passes[-1].flops
    return (found - 2 * 525_336_576) / (2 * 6_979_321_856)  # Llama 3.1 8B: values of its head, and of its layers


def lora(last: int | None, **more: Any) -> dict[str, Any]:
    return {"method": "lora", "lora": {"rank": 1, "last_layers": last}, **more}


def test_backward_does_not_come_below_the_first_layer_that_trains() -> None:
    """PyTorch records no operation of which no input needs a gradient. Of 32 layers with frozen weights each asks for
    one product more where it is reached; its own weights ask for another."""
    assert of_forward(lora(None)) == pytest.approx(1, rel=0.01)
    assert of_forward(lora(8)) == pytest.approx(8 / 32, rel=0.01)
    frozen = {"method": "freeze", "freeze": {"trainable_layers": 8, "head": False}}
    assert of_forward(frozen) == pytest.approx(2 * 8 / 32, rel=0.01)
    frozen["freeze"] = {"trainable_layers": 8, "head": False, "embeddings": True}
    assert of_forward(frozen) == pytest.approx(1 + 8 / 32, rel=0.01)


def test_an_embedding_that_trains_takes_backward_to_the_first_layer() -> None:
    saved = {"method": "lora", "lora": {"rank": 1, "last_layers": 8, "modules_to_save": ["embed_tokens"]}}
    assert of_forward(saved) == pytest.approx(1, rel=0.01)


def test_checkpoints_are_recomputed_where_backward_comes() -> None:
    """PEFT makes inputs need gradients under checkpoints (peft 0.21.2, prepare_model_for_gradient_checkpointing), so
    that backward comes to every layer; MLX does not, nor does torchtitan. Of layers 25 to 32 two are a third one, 27 and
    30; of all 32 there are ten."""
    checkpoints = {"checkpointing": "full"}
    assert of_forward(lora(8, **checkpoints)) == pytest.approx(2, rel=0.01)
    assert of_forward(lora(8, **checkpoints, checkpoint_every=3)) == pytest.approx(1 + 10 / 32, rel=0.01)
    for kernels in ("mlx", "torchtitan"):
        assert of_forward(lora(8, kernels=kernels, **checkpoints)) == pytest.approx(16 / 32, rel=0.01)
        few = lora(8, kernels=kernels, **checkpoints, checkpoint_every=3)
        assert of_forward(few) == pytest.approx((8 + 2) / 32, rel=0.01)


def test_a_later_stage_goes_back_to_what_it_receives() -> None:
    """What a stage of a pipeline receives needs a gradient: of four stages of eight layers the first alone is spared."""
    hardware = {"devices": 4, "pipeline_parallel": 4}
    found = work_of(made(lora(8, sequence_length=1), hardware)).passes[-1].flops * 4
    assert (found - 2 * 525_336_576) / (2 * 6_979_321_856) == pytest.approx(24 / 32, rel=0.01)


def test_gradients_and_states_that_travel_are_those_of_what_trains() -> None:
    """Adapters on an eighth of the layers, and layers that train: an eighth of what all of them would send."""
    hardware = {"devices": 8, "sharding": {"strategy": "ddp"}}
    few, every = (work_of(made(lora(last), hardware)).passes[-1].sent_bytes for last in (4, None))
    assert few == every / 8 > 0
    layers = [
        work_of(made({"method": "freeze", "freeze": {"trainable_layers": count, "head": False}}, hardware))
        .passes[-1].sent_bytes
        for count in (4, 32)
    ]  # fmt: skip
    assert layers[0] == layers[1] / 8 > 0
