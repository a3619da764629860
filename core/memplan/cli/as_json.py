"""Estimates and catalog entries as JSON, for other programs. Amounts are bytes, always."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from memplan.catalog import CatalogModel, Device, custom_devices, this_computer
from memplan.cli.fitting import FitAnswer
from memplan.fit import DeviceAnswer, Limit, fit_sentence
from memplan.printable import printable_json
from memplan.result import Estimate, HostMemory, TraceBytes
from memplan.version import __version__


def estimates_json(estimates: Iterable[Estimate]) -> str:
    """Write estimates as `memplan estimate --json` prints them."""
    return document({"memplan": __version__, "scenarios": [_estimate(estimate) for estimate in estimates]})


def fits_json(answers: Iterable[FitAnswer]) -> str:
    """Write what fits as `memplan fit --json` prints it."""
    computer = this_computer()
    return document(
        {
            "memplan": __version__,
            "this_computer": {"devices": [one.id for one in computer.devices], "problems": computer.problems},
            "custom_devices": {"problems": [str(problem) for problem in custom_devices().problems]},
            "scenarios": [_fit_answer(answer) for answer in answers],
        }
    )


def models_json(models: Iterable[CatalogModel]) -> str:
    """Write catalog entries of models, with their sources."""
    return document({"memplan": __version__, "models": [asdict(model) for model in models]})


def devices_json(devices: Iterable[Device]) -> str:
    """Write catalog entries of devices, with their sources."""
    return document({"memplan": __version__, "devices": [asdict(device) for device in devices]})


def document(content: dict[str, Any]) -> str:
    """Write an answer, readable for people as well."""
    return printable_json(json.dumps(content, indent=2, ensure_ascii=False))


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "name": estimate.name,
        "model": estimate.model_name,
        "parameters": asdict(estimate.parameters),
        "recipe": asdict(estimate.recipe),
        "bytes": _bytes(estimate.bytes),
        "terms": [
            {
                "name": term.name,
                "bytes_at_peak": term.bytes_at_peak,
                "largest_bytes": term.largest_bytes,
                "formula": term.formula,
                "source": term.source,
            }
            for term in estimate.terms
        ],
        "terms_at_peak": {
            "instant": estimate.peak.name,
            "step": estimate.peak.step,
            "total_bytes": estimate.peak.total_bytes,
        },
        "process": asdict(estimate.process),
        "host": _host(estimate.host),
        "stages": [asdict(stage) for stage in estimate.stages],
        "need": asdict(estimate.need),
        "measured": asdict(estimate.measured) if estimate.measured else None,
        "device": {"id": estimate.device_id, "usable_bytes": estimate.usable_bytes},
        "verdict": estimate.verdict,
        "runs_alone": estimate.runs_alone,
        "headroom_bytes": estimate.headroom_bytes,
        "basis": estimate.basis,
        "warnings": [asdict(advice) for advice in estimate.warnings],
    }


def _bytes(found: TraceBytes) -> dict[str, Any]:
    """Instants that a scenario has; those of decoding stand where text is generated."""
    known = {name: value for name, value in asdict(found).items() if value is not None}
    return {**known, "first_step": dict(found.first_step)}


def _host(host: HostMemory) -> dict[str, Any]:
    return {
        "device_bytes": host.device_bytes,
        "node_bytes": host.node_bytes,
        "devices_on_node": host.devices_on_node,
        "pinned_bytes": host.pinned_bytes,
        "bytes_by_term": dict(host.bytes_by_term),
    }


def _fit_answer(answer: FitAnswer) -> dict[str, Any]:
    return {
        "name": answer.scenario.name,
        "device": {"id": answer.estimate.device_id, "devices": answer.scenario.hardware.devices},
        "verdict": answer.estimate.verdict,
        "runs_alone": answer.estimate.runs_alone,
        "need": asdict(answer.estimate.need),
        "headroom_bytes": answer.estimate.headroom_bytes,
        "sentence": fit_sentence(answer.fits, answer.scenario.hardware),
        "devices": [_device_answer(one) for one in answer.devices],
    }


def _device_answer(one: DeviceAnswer) -> dict[str, Any]:
    fit, device, fewest = one.fit, one.fit.device, one.fewest
    return {
        "id": device.id,
        "name": device.name,
        "vendor": device.vendor,
        "class": device.device_class,
        "origin": device.origin,
        "verdict": fit.verdict,
        "runs_alone": fit.runs_alone,
        "need": asdict(fit.need),
        "need_bytes": fit.need_bytes,
        "usable_bytes": fit.usable_bytes,
        "headroom_bytes": fit.headroom_bytes,
        "advice": [asdict(advice) for advice in fit.advice],
        "fewest": [{**asdict(found), "nodes": found.nodes} for found in fewest.by_strategy],
        "for_states_alone": asdict(one.states),
        "largest_micro_batch": _limit(one.limits.micro_batch),
        "longest_sequence": _limit(one.limits.sequence),
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {**asdict(limit), "bound": limit.bound}
