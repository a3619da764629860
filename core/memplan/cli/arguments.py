"""What several commands take: a plan, a unit, JSON instead of words."""

from __future__ import annotations

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
