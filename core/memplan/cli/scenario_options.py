"""Options that change a scenario on the command line. Names, help, ranges and choices are the plan's own fields'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from memplan.catalog import Device
    from memplan.cli.source import Source
    from memplan.plan.field_facts import FieldFacts

_SIGNED = re.compile(r"\s*[+-]?\d+\s*$")
FIELDS = {
    "method": "training.method",
    "device": "hardware.device",
    "devices": "hardware.devices",
    "batch": "training.micro_batch",
    "sequence": "training.sequence_length",
    "weights": "training.weights_dtype",
    "checkpointing": "training.checkpointing",
}
"""The field behind each option."""


class ScenarioCommand(click.Command):
    """A command with these options after its own; an option of its own that has the name of one stands for it."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters, then the plan's fields: they are loaded when they are asked for."""
        *own, last = super().get_params(ctx)
        named = {parameter.name for parameter in own}
        return [*own, *(option for option in self._of_fields if option.name not in named), last]

    @cached_property
    def _of_fields(self) -> list[click.Option]:
        from memplan.plan.edit import facts_at
        from memplan.plan.scenario import Scenario

        return [_option(name, facts_at(Scenario, path)) for name, path in FIELDS.items()]


class _Count(click.IntRange):
    """A whole number as people write it: 4096, 8k."""

    def __init__(self, field: FieldFacts) -> None:
        super().__init__(int(field.minimum or 0), None if field.maximum is None else int(field.maximum))
        self._unit = field.unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it in the field's unit, then hold it against the range."""
        from memplan.units import parse_count

        if isinstance(value, str) and not _SIGNED.match(value):
            try:
                value = parse_count(value, self._unit, self.max)
            except ValueError as problem:
                self.fail(str(problem), param, ctx)
        return super().convert(value, param, ctx)


def _option(name: str, field: FieldFacts) -> click.Option:
    kind: click.ParamType[Any] = click.STRING
    if field.kind == "choice":
        kind = click.Choice(field.choices, case_sensitive=False)
    elif field.kind == "whole number":
        kind = _Count(field)
    metavar = {"choice": None, "whole number": "N"}.get(field.kind, "ID")
    return click.Option([f"--{name}"], type=kind, metavar=metavar, help=field.description)


def with_options(source: Source, given: Mapping[str, Any]) -> Source:
    """Change a source's one scenario by the options that were given.

    Raises:
        MemplanError: the plan has several scenarios, or a value cannot be taken.
    """
    from memplan.errors import MemplanError
    from memplan.plan.edit import replaced

    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        return source
    count = len(source.plan.scenarios)
    if count > 1:
        options = ", ".join(f"--{name}" for name in changes)
        message = f"holds {count:,} scenarios; {options} can change a single one."
        raise MemplanError(message, place=source.place, remedy="Leave the options out, or edit the plan.")
    plan = source.plan
    for name, value in changes.items():
        if name == "device":
            value = named_device(value).id
        plan = replaced(plan, f"scenarios[0].{FIELDS[name]}", value)
    return replace(source, plan=plan)


def named_device(text: str) -> Device:
    """Find the device that `--device` names.

    Raises:
        MemplanError: there is none; the option is its place.
    """
    from memplan.catalog import device
    from memplan.errors import MemplanError

    try:
        return device(text)
    except MemplanError as error:
        raise MemplanError(error.message, place="--device", remedy=error.remedy) from None
