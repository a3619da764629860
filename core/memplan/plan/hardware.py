"""What a scenario trains on: device, how many, how the run is split."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from memplan.plan.model_choice import STRICT

ParallelSize = Annotated[int, Field(ge=1, le=1_000_000)]
Elements = Annotated[int, Field(ge=0, le=10**12)]
Strategy = Literal["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "megatron"]


class Sharding(BaseModel):
    """What data-parallel devices divide among themselves."""

    model_config = STRICT

    strategy: Strategy = Field(
        "none",
        title="Sharding",
        description="None and DDP hold everything on each device; the others divide states, gradients or weights.",
    )
    mixed_precision: bool = Field(True, title="Mixed precision", description="FSDP: compute in bf16 over fp32 shards.")
    reshard_after_forward: bool = Field(
        True,
        title="Reshard after forward",
        description="FSDP: free a gathered unit after forward and gather it again in backward.",
    )
    gradient_as_bucket_view: bool = Field(
        False,
        title="Gradients in buckets",
        description="DDP: gradients are views of the communication buckets (gradient_as_bucket_view), not copies.",
    )
    reduce_bucket: Elements | None = Field(
        500_000_000,
        title="Reduce bucket",
        json_schema_extra={"unit": "values"},
        description=(
            "ZeRO: gradients that are reduced at once (reduce_bucket_size); empty for auto: the hidden size squared."
        ),
    )
    overlap_comm: bool = Field(
        False,
        title="Overlap communication",
        description="ZeRO-1 and ZeRO-2: reduce one bucket while the next one fills; takes a second bucket.",
    )
    prefetch_bucket: Elements | None = Field(
        50_000_000,
        title="Prefetch bucket",
        json_schema_extra={"unit": "values"},
        description=(
            "ZeRO-3: weights that are gathered ahead (stage3_prefetch_bucket_size); empty for auto: 0.9 times the "
            "hidden size squared."
        ),
    )
    persistence_threshold: Elements | None = Field(
        100_000,
        title="Persistence threshold",
        json_schema_extra={"unit": "values"},
        description=(
            "ZeRO-3: tensors up to this size are not divided (stage3_param_persistence_threshold); empty for auto: ten "
            "times the hidden size."
        ),
    )
    reuse_distance: Elements = Field(
        1_000_000_000,
        title="Reuse distance",
        json_schema_extra={"unit": "values"},
        description=(
            "ZeRO-3: weights that are used again within so many stay gathered (stage3_max_reuse_distance, "
            "stage3_max_live_parameters)."
        ),
    )


class Offload(BaseModel):
    """What moves to the host's memory."""

    model_config = STRICT

    optimizer: bool = Field(
        False, title="Offload optimizer", description="Optimizer states and the update live on the host."
    )
    parameters: bool = Field(
        False, title="Offload parameters", description="Weights live on the host and come layer by layer."
    )
    activations: bool = Field(False, title="Offload activations", description="Kept activations wait on the host.")


class Hardware(BaseModel):
    """Devices and how the run is split over them."""

    model_config = STRICT

    device: str = Field(
        "a100-80gb-sxm",
        title="Device",
        min_length=1,
        description="The device's id: one of the catalog, one of your own, or this-computer.",
    )
    devices: ParallelSize = Field(
        1, title="Devices", description="How many devices the run has; what they divide is set by Sharding."
    )
    devices_per_node: Annotated[int, Field(ge=1, le=1024)] = Field(
        8, title="Devices per node", description="How many devices one machine holds."
    )
    sharding: Sharding = Field(
        default_factory=Sharding, title="Sharding", description="What data-parallel devices divide among themselves."
    )
    tensor_parallel: ParallelSize = Field(
        1, title="Tensor parallel", description="Devices that divide each matrix, and what its products keep."
    )
    sequence_parallel: bool = Field(
        False,
        title="Sequence parallel",
        description="Divide norms and residuals along the sequence among the tensor-parallel devices.",
    )
    pipeline_parallel: ParallelSize = Field(1, title="Pipeline parallel", description="Devices that divide the layers.")
    virtual_stages: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        title="Virtual stages",
        description="Parts of the model that each device of a pipeline runs in turn (interleaved); 1 for a plain one.",
    )
    context_parallel: ParallelSize = Field(
        1, title="Context parallel", description="Devices that divide the sequence, and with it activations and logits."
    )
    expert_parallel: ParallelSize = Field(1, title="Expert parallel", description="Devices that divide the experts.")
    offload: Offload = Field(default_factory=Offload, title="Offload", description="What moves to the host's memory.")
    used_by_others_bytes: Annotated[int, Field(ge=0, le=10**15)] = Field(
        0,
        title="Used by others",
        json_schema_extra={"unit": "bytes"},
        description="Device memory that other programs hold.",
    )
    headroom: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.05, title="Headroom", description="Fraction of the device left free on purpose."
    )
