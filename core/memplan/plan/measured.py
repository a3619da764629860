"""What a run of the scenario was seen to take: what estimates are held against, for this set-up."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from memplan.plan.model_choice import STRICT

MeasuredBytes = Annotated[int, Field(ge=1, le=10**15)]


class Measured(BaseModel):
    """Peaks of a real run on its fullest device; null: not measured. `memplan probe` prints what takes them."""

    model_config = STRICT

    allocated_bytes: MeasuredBytes | None = Field(
        None,
        title="Measured: tensors",
        json_schema_extra={"unit": "bytes"},
        description="Most that tensors held in a run of this scenario (torch.cuda.max_memory_allocated).",
    )
    reserved_bytes: MeasuredBytes | None = Field(
        None,
        title="Measured: reserved",
        json_schema_extra={"unit": "bytes"},
        description="Most that the allocator took in that run (torch.cuda.max_memory_reserved).",
    )
    process_bytes: MeasuredBytes | None = Field(
        None,
        title="Measured: monitor",
        json_schema_extra={"unit": "bytes"},
        description="Most that the device's monitor showed for the process (nvidia-smi).",
    )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return self.allocated_bytes is None and self.reserved_bytes is None and self.process_bytes is None
