"""Writing a scenario as a trainer's configuration, and finding out what that cannot say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.exchange.documents import Document, parse_document
from memplan.exchange.export import launchers, other_stacks, recipes, trainer_script
from memplan.exchange.export.placeholders import SAID_ABOVE, with_marks
from memplan.exchange.export.terms import DTYPES, model_name, packing, targets_beside_layers
from memplan.exchange.formats import read_document
from memplan.exchange.notes import Stated
from memplan.exchange.reading import Reading
from memplan.exchange.settling import field_applies, field_paths, settle, value_words
from memplan.number_style import plain_numbers
from memplan.plan.edit import facts_at, value_at
from memplan.plan.scenario import Scenario
from memplan.printable import printable
from memplan.sentences import verdict_sentence
from memplan.translation import in_english
from memplan.units import format_bytes
from memplan.version import __version__

_NOT_THE_RUNS = ("hardware.device", "hardware.devices_per_node", "hardware.used_by_others_bytes", "hardware.headroom")
"""What is true of the machine, whatever a configuration says."""
_WIDTH = 116
_WORTH_SAYING = 0.02
"""Of the need: how far what is not said moves it before it is spoken of."""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A field that the format cannot say as the scenario has it."""

    path: str
    title: str
    words: str
    """The value that the scenario has."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A configuration."""

    text: str
    suffix: str
    """What its file's name ends with: ".yaml"."""
    unsaid: tuple[Unsaid, ...]
    """What it cannot say: for the person to set elsewhere, or to do without."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format that scenarios can be written in."""

    title: str
    suffix: str
    write: Callable[[Scenario, str], str]
    read_back: Callable[[Scenario, str], Sequence[Reading]]
    concerns: tuple[str, ...] = ("training.", "hardware.")
    """How the fields start that such a file is about; the others are another file's."""


@plain_numbers()
@in_english()
def export_scenario(scenario: Scenario, format_id: str) -> Exported:
    """Write a scenario as a trainer's configuration, with its estimate as a comment where comments can stand.

    Args:
        scenario: what to write.
        format_id: one of EXPORT_FORMATS.

    Raises:
        MemplanError: there is no such format, or it has no way to write such a scenario.
    """
    if format_id not in EXPORT_FORMATS:
        remedy = f"Known are {', '.join(EXPORT_FORMATS)}."
        raise MemplanError(f'there is no format "{printable(format_id)[:40]}".', remedy=remedy)
    form = EXPORT_FORMATS[format_id]
    readings = form.read_back(scenario, form.write(scenario, ""))
    found = tuple(one for one in unsaid(scenario, readings) if one.path.startswith(form.concerns))
    lines = [f"{form.title}, written by memplan {__version__} for {printable(scenario.name)}"]
    found_need = estimate(scenario)
    lines.append(f"{verdict_sentence(found_need)} ({scenario.hardware.devices} x {scenario.hardware.device})")
    if found:
        lines.append(f"Not said here: {'; '.join(f'{one.title} {printable(one.words)}' for one in found)}")
        own = estimate(_as_it_runs(scenario, readings, form.concerns)).need_bytes
        if abs(own - found_need.need_bytes) > _WORTH_SAYING * found_need.need_bytes:
            lines.append(f"As this file runs, without what is not said: needs {format_bytes(own)}")
    if form.suffix != ".json":  # DeepSpeed's holds none: what the Trainer knows is "auto" there
        lines.append(SAID_ABOVE)
    return Exported(form.write(scenario, "\n".join(lines)), form.suffix, found)


def _as_it_runs(scenario: Scenario, readings: Sequence[Reading], concerns: tuple[str, ...]) -> Scenario:
    """The scenario that the readings alone make, on the same machine; what other files decide is as it was."""
    elsewhere = [path for path in field_paths() if path in _NOT_THE_RUNS or not path.startswith(concerns)]
    answers: dict[str, Any] = {path: known for path in elsewhere if (known := value_at(scenario, path)) is not None}
    answers["model"] = scenario.model.model_dump(exclude_none=True)
    return _settled(scenario, readings, answers)[0]


def _settled(scenario: Scenario, readings: Sequence[Reading], answers: dict[str, Any]) -> tuple[Scenario, set[str]]:
    """What the readings come to, each question answered as the scenario has it; and what was asked."""
    settled = settle(readings, answers, scenario.name)
    asked = {note.path for note in settled.notes if note.kind == "asked"}
    if settled.scenario is None:
        settled = settle(readings, {**answers, **{path: value_at(scenario, path) for path in asked}}, scenario.name)
    assert settled.scenario is not None, "whatever is asked was answered"
    return settled.scenario, asked


def unsaid(scenario: Scenario, readings: Sequence[Reading]) -> tuple[Unsaid, ...]:
    """What differs from the scenario once the readings are taken for all that is known."""
    answers: dict[str, Any] = {"model": scenario.model.model_dump(exclude_none=True)}
    settled, asked = _settled(scenario, readings, answers)
    answers |= {path: value_at(scenario, path) for path in asked}
    first = tuple(_differences(scenario, settled, asked))
    # Once those are set by hand, others may apply that did not before: the packing, where the method was another.
    told = {one.path: value for one in first if (value := value_at(scenario, one.path)) is not None}
    again = settle(readings, {**answers, **told}, scenario.name)
    if again.scenario is None:
        return first
    rest = _differences(scenario, again.scenario, set())
    return (*first, *(one for one in rest if one.path not in told))


def _differences(wanted: Scenario, found: Scenario, asked: set[str]) -> Iterator[Unsaid]:
    method, strategy = wanted.training.method, wanted.hardware.sharding.strategy
    for path in field_paths():
        if path in _NOT_THE_RUNS or not field_applies(path, method, strategy):
            continue
        value = value_at(wanted, path)
        if path in asked or not _same(path, wanted, value_at(found, path)):
            yield Unsaid(path, facts_at(Scenario, path).title, value_words(value))


def _same(path: str, wanted: Scenario, found: Any) -> bool:
    """Whether a value is the scenario's: names of all linear modules in the layers are as good as the word for them."""
    value = value_at(wanted, path)
    if path == "training.lora.targets" and isinstance(value, str) and not isinstance(found, str):
        return set(found) == set(targets_beside_layers(wanted))
    return bool(found == value)


def _yaml_text(content: dict[str, Any], comment: str) -> str:
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return _commented(comment) + with_marks(body, "yaml")


def _commented(comment: str) -> str:
    return "".join(f"# {line}\n" for line in comment.splitlines())


def _json_text(content: dict[str, Any], comment: str) -> str:
    said = {"_memplan": comment.splitlines()} if comment else {}
    return json.dumps({**said, **content}, indent=2, ensure_ascii=False) + "\n"


def _as_yaml(write: Callable[[Scenario], dict[str, Any]]) -> Callable[[Scenario, str], str]:
    return lambda scenario, comment: _yaml_text(write(scenario), comment)


def _as_json(write: Callable[[Scenario], dict[str, Any]]) -> Callable[[Scenario, str], str]:
    return lambda scenario, comment: _json_text(write(scenario), comment)


def _read_text(syntax: str) -> Callable[[Scenario, str], Sequence[Reading]]:
    return lambda _, text: [read_document(parse_document(text.encode(), f"export.{syntax}", syntax))]


def _read_script(scenario: Scenario, _: str) -> Sequence[Reading]:
    """What the program's calls say; programs themselves are not read."""
    training, packed = scenario.training, packing(scenario)
    content = {"model_name_or_path": model_name(scenario), **trainer_script.arguments(scenario)}
    content |= {"max_seq_length": training.sequence_length, "dtype": DTYPES[training.weights_dtype]}
    engine = content.pop("deepspeed", None)
    readings = [read_document(Document("script.py", content))]
    if engine:
        readings.append(read_document(Document("deepspeed.json", engine)))
    if lora := trainer_script.adapter(scenario):
        readings.append(read_document(Document("adapter.json", {"peft_type": "LORA", **lora})))
    calls = Reading("script.py", "calls", "transformers", trains=False)
    calls.state("training.attention", Stated(training.attention, "script.py", "from_pretrained"))
    if training.method == "freeze":
        for path in ("training.method", *(path for path in field_paths() if path.startswith("training.freeze."))):
            calls.state(path, Stated(value_at(scenario, path), "script.py", "requires_grad_"))
    if trainer_script.quantization(scenario):
        calls.state("given.quantized", Stated(packed, "script.py", "BitsAndBytesConfig"))
        for name in ("double_quant", "fp32_unquantized"):
            path = f"training.quantization.{name}"
            calls.state(path, Stated(value_at(scenario, path), "script.py", "BitsAndBytesConfig"))
    if lora and training.lora.adapter_dtype != "fp32":
        calls.state("given.adapter_dtype", Stated("weights", "script.py", "get_peft_model"))
    return [*readings, calls]


_LAUNCHER = ("hardware.", "training.master_weights", "training.autocast", "training.gradient_accumulation")
_ENGINE = (*_LAUNCHER, "training.gradients_dtype", "training.micro_batch", "training.weights_dtype")
"""What such a file decides; how the model is trained is the trainer's own file to say."""

EXPORT_FORMATS: dict[str, ExportFormat] = {
    "script": ExportFormat(
        "Trainer script",
        ".py",
        lambda scenario, comment: trainer_script.script(scenario, _commented(comment)),
        _read_script,
    ),
    "deepspeed": ExportFormat("DeepSpeed JSON", ".json", _as_json(launchers.deepspeed), _read_text("json"), _ENGINE),
    "accelerate": ExportFormat(
        "accelerate YAML", ".yaml", _as_yaml(launchers.accelerate), _read_text("yaml"), _LAUNCHER
    ),
    "axolotl": ExportFormat("axolotl YAML", ".yaml", _as_yaml(recipes.axolotl), _read_text("yaml")),
    "llama-factory": ExportFormat("LLaMA-Factory YAML", ".yaml", _as_yaml(recipes.llama_factory), _read_text("yaml")),
    "torchtune": ExportFormat("torchtune YAML", ".yaml", _as_yaml(other_stacks.torchtune), _read_text("yaml")),
    "mlx": ExportFormat("MLX-LM YAML", ".yaml", _as_yaml(other_stacks.mlx), _read_text("yaml")),
}
