"""What an entry of a person's own file of devices may hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from memplan.plan.model_choice import STRICT

_MOST_MIB = 4 * 2**20


class CustomDevice(BaseModel):
    """One device of a person's own."""

    model_config = STRICT

    id: str = Field(min_length=1, max_length=100, description="What plans and the command line call it.")
    name: str = Field(min_length=1, max_length=100, description="What people read.")
    vendor: str = Field(
        min_length=1, max_length=40, description="NVIDIA, AMD, Apple, Intel, …: it decides what a process holds."
    )
    device_class: Literal["consumer", "workstation", "datacentre", "unified"] = Field(
        description="unified: memory shared with the system."
    )
    total_mib: Annotated[int, Field(ge=256, le=_MOST_MIB)] = Field(
        json_schema_extra={"unit": "MiB"}, description="The whole memory, as the vendor's tool prints it."
    )
    usable_mib: Annotated[int, Field(ge=256, le=_MOST_MIB)] | None = Field(
        None,
        json_schema_extra={"unit": "MiB"},
        description="What a process can count on; by default the total less what drivers keep back.",
    )
    architecture: str = Field("", max_length=40, description="The generation, such as Ampere or Hopper.")
    bf16_supported: bool = Field(True, description="Whether it has bf16 arithmetic of its own.")
    devices_per_node: Annotated[int, Field(ge=1, le=1024)] = Field(
        1, description="How many devices one machine usually holds."
    )
