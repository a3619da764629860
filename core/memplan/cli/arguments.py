"""What several commands take: a plan, a unit, JSON instead of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

plan_argument = click.argument("plan", metavar="PLAN")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, amounts in bytes.")
unit_option = click.option(
    "--unit",
    type=click.Choice(["gib", "gb"], case_sensitive=False),
    default="gib",
    show_default=True,
    help="GiB is 2^30 bytes, GB is 10^9.",
)


def scenario_option(otherwise: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Which scenario of a plan, said in the same way to every command; `otherwise` is what it does without one."""
    words = f"Which scenario of the plan: its name, or its number from 1. {otherwise}"
    return click.option("--scenario", metavar="NAME", help=words)
