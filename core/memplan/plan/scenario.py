"""A scenario (one model, one training set-up, one hardware set-up) and a plan (a document of scenarios)."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, Field

from memplan.plan.hardware import Hardware
from memplan.plan.measured import Measured
from memplan.plan.model_choice import STRICT, ModelChoice
from memplan.plan.training import Training

PLAN_VERSION: Final = 1


class Scenario(BaseModel):
    """What one estimate is made for."""

    model_config = STRICT

    name: str = Field("baseline", title="Scenario", max_length=200, description="What to call this scenario.")
    model: ModelChoice = Field(title="Model", description="Which model is trained.")
    training: Training = Field(default_factory=Training, title="Training", description="How it is trained.")
    hardware: Hardware = Field(default_factory=Hardware, title="Hardware", description="What it is trained on.")
    measured: Measured = Field(
        default_factory=Measured, title="Measured", description="What a run of this scenario was seen to take."
    )


class Plan(BaseModel):
    """A document: a title, notes, and one or more scenarios."""

    model_config = STRICT

    memplan: Literal[1] = Field(PLAN_VERSION, title="Version", description="Version of the plan file.")
    title: str = Field("Untitled", title="Title", max_length=500, description="What the plan is about.")
    notes: str = Field(
        "", title="Notes", max_length=1_000_000, description="Anything worth keeping beside the numbers."
    )
    scenarios: tuple[Scenario, ...] = Field(
        title="Scenarios", min_length=1, max_length=1000, description="The set-ups that the plan compares."
    )
