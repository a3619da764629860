"""Which model a scenario trains: a catalog entry, a Hugging Face config, or a size alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

STRICT = ConfigDict(extra="forbid", frozen=True)

PositiveCount = Annotated[int, Field(ge=1, le=10**15)]


class ModelChoice(BaseModel):
    """One of: `catalog` (an id), `config` (a Hugging Face config.json), `parameters` (a size alone)."""

    model_config = STRICT

    catalog: str | None = Field(
        None, title="Model", min_length=1, description="The model's id in the catalog, as on Hugging Face."
    )
    config: dict[str, Any] | None = Field(
        None, title="Configuration", description="The model's Hugging Face config.json."
    )
    name: str | None = Field(
        None, title="Name", description="What to call a model that comes as a configuration or a size."
    )
    parameters: PositiveCount | None = Field(
        None, title="Parameters", description="How many parameters the model has, when only its size is known."
    )
    layers: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, title="Layers", description="Transformer layers, for a size alone."
    )
    hidden_size: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        None, title="Hidden size", description="Width of the residual stream, for a size alone."
    )
    vocab_size: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        None, title="Vocabulary", description="Entries of the vocabulary, for a size alone."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("catalog", "config", "parameters") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ValueError(f"give exactly one of catalog, config and parameters; found {found}")
        shape = [name for name in ("layers", "hidden_size", "vocab_size") if getattr(self, name) is not None]
        if shape and self.parameters is None:
            raise ValueError(f"{shape[0]} goes with parameters only; a catalog model or a config brings its own")
        return self

    @property
    def kind(self) -> Literal["catalog", "config", "size"]:
        """Which of the three ways names the model."""
        return "catalog" if self.catalog is not None else "config" if self.config is not None else "size"
