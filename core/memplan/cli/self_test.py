"""Does this installation hold all that it needs? For a bundle that was just built, or one that behaves oddly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from memplan.plan.scenario import Plan

Step = tuple[str, Callable[[], str]]
"""What is tried, and the trying: it returns what was found, in words, or raises."""

WELL, DEFECT = 0, 1


def self_test() -> int:
    """Try everything that this installation should be able to do, say how each went, and return the exit status."""
    failed = 0
    for title, attempt in chain(core_steps(), _window_steps()):
        try:
            found = attempt()
        except Exception as problem:  # a missing library or file can show itself as anything
            failed += 1
            click.echo(f"FAILED  {title}: {type(problem).__name__}: {problem}")
        else:
            click.echo(f"ok      {title}: {found}")
    click.echo("All is well." if not failed else f"{failed} failed: this installation is incomplete or damaged.")
    return DEFECT if failed else WELL


def core_steps() -> Iterator[Step]:
    """What works without Qt."""
    yield "catalogs", _catalogs
    yield "model types", _model_types
    yield "evidence", _evidence
    yield "script that measures a run", _probe
    yield "example of a trainer's recipe", _recipe
    yield "trainers' configurations", _configurations
    yield "example plan", _example
    for form in ("md", "csv", "html"):
        yield f"report in {form}", partial(_report, form)


def _window_steps() -> Iterator[Step]:
    if find_spec("PySide6") is None or find_spec("memplan_gui") is None:
        click.echo("skipped the window: it is not installed")
        return
    try:
        yield from import_module("memplan_gui.self_test").steps()
    except Exception as problem:  # what is missing may show itself while the window is made
        yield "window", partial(_fail, problem)


def _fail(problem: Exception) -> str:
    raise problem


def _catalogs() -> str:
    from memplan import catalog

    return f"{len(catalog.models())} models, {len(catalog.devices())} devices"


def _model_types() -> str:
    """Each family of models is read by a module that is loaded by name: a bundle can lack it."""
    from memplan.architecture.families import MODULES

    families = [import_module(f"memplan.architecture.families.{name}").FAMILIES for name in MODULES]
    return f"{sum(map(len, families))} in {len(families)} modules"


def _evidence() -> str:
    from memplan.evidence import evidence_rows

    return f"{len(evidence_rows())} cases"


def _probe() -> str:
    from memplan.probe_file import probe_script

    return f"{len(probe_script())} letters"


def _recipe() -> str:
    """What the formats' keys mean is read from a file of its own, besides the recipe."""
    from memplan.exchange import import_files
    from memplan.resources import resource

    found = import_files([str(resource("examples", "qlora-axolotl.yaml"))], {"hardware.devices": 1})
    if found.plan is None:
        raise RuntimeError(f"asks for {found.questions[0].title}")
    return f"{len(found.notes)} notes"


def _configurations() -> str:
    from memplan.exchange.export import EXPORT_FORMATS, export_scenario

    scenario = _example_plan().scenarios[0]
    written = [export_scenario(scenario, name).text for name in EXPORT_FORMATS]
    return f"{sum(map(len, written))} letters in {len(written)} formats"


def _example() -> str:
    from memplan.plan_estimates import estimate_plan
    from memplan.sentences import VERDICT_TITLES

    plan = _example_plan()
    return ", ".join(VERDICT_TITLES[one.verdict].lower() for one in estimate_plan(plan))


def _report(form: str) -> str:
    from memplan.report import report

    return f"{len(report(_example_plan(), form))} letters"


def _example_plan() -> Plan:
    from memplan.plan.file import load_plan
    from memplan.resources import resource

    return load_plan(resource("examples", "llama-3.1-8b.memplan"))
