"""memplan plans the GPU memory of training a large language model, before anyone pays for the GPUs.

    import memplan
    plan = memplan.load_plan("run.memplan")
    print(memplan.estimate(plan.scenarios[0]).verdict)

The names in `__all__` are memplan's interface for programs. Each is loaded when it is first asked for, so that
importing memplan costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from memplan.version import __version__

if TYPE_CHECKING:  # The same names for type checkers and editors; a test holds the two lists together.
    from memplan import catalog as catalog
    from memplan.calibration import measured_words as measured_words
    from memplan.catalog import CatalogModel as CatalogModel
    from memplan.catalog import Device as Device
    from memplan.changes import CHANGES_ORDER as CHANGES_ORDER
    from memplan.changes import Change as Change
    from memplan.changes import ChangedField as ChangedField
    from memplan.changes import changes_between as changes_between
    from memplan.choice_titles import CHOICE_TITLES as CHOICE_TITLES
    from memplan.choice_titles import choice_title as choice_title
    from memplan.chosen_model import generates_text as generates_text
    from memplan.diagnose import NOTHING_FOUND as NOTHING_FOUND
    from memplan.diagnose import Amount as Amount
    from memplan.diagnose import CardPart as CardPart
    from memplan.diagnose import Cause as Cause
    from memplan.diagnose import Diagnosis as Diagnosis
    from memplan.diagnose import LeverHelp as LeverHelp
    from memplan.diagnose import Match as Match
    from memplan.diagnose import Message as Message
    from memplan.diagnose import OtherProcess as OtherProcess
    from memplan.diagnose import Reading as Reading
    from memplan.diagnose import diagnose as diagnose
    from memplan.diagnose import figures_sentence as figures_sentence
    from memplan.diagnose import headline as headline
    from memplan.diagnose import instant_sentence as instant_sentence
    from memplan.diagnose import match_words as match_words
    from memplan.diagnose import other_matches_sentence as other_matches_sentence
    from memplan.diagnose import read_message_file as read_message_file
    from memplan.diagnose import read_message_stream as read_message_stream
    from memplan.diagnose import read_messages as read_messages
    from memplan.diagnose import source_words as source_words
    from memplan.diagnose import stated_rows as stated_rows
    from memplan.diagnose import stated_sentence as stated_sentence
    from memplan.diagnose import tensor_sentence as tensor_sentence
    from memplan.diagnose import unread_sentence as unread_sentence
    from memplan.disk import read_file as read_file
    from memplan.disk import write_file as write_file
    from memplan.errors import ConfigError as ConfigError
    from memplan.errors import MemplanError as MemplanError
    from memplan.errors import PlanError as PlanError
    from memplan.errors import UnknownEntryError as UnknownEntryError
    from memplan.estimate import estimate as estimate
    from memplan.evidence import EVIDENCE_KINDS as EVIDENCE_KINDS
    from memplan.evidence import EvidenceFigure as EvidenceFigure
    from memplan.evidence import EvidenceGroup as EvidenceGroup
    from memplan.evidence import EvidenceRow as EvidenceRow
    from memplan.evidence import MeasuredEvidence as MeasuredEvidence
    from memplan.evidence import MonitorBand as MonitorBand
    from memplan.evidence import VerdictCount as VerdictCount
    from memplan.evidence import case_title as case_title
    from memplan.evidence import error_words as error_words
    from memplan.evidence import evidence_groups as evidence_groups
    from memplan.evidence import evidence_rows as evidence_rows
    from memplan.evidence import is_exact as is_exact
    from memplan.evidence import measured_evidence as measured_evidence
    from memplan.exchange import NOTE_TITLES as NOTE_TITLES
    from memplan.exchange import Imported as Imported
    from memplan.exchange import ImportNote as ImportNote
    from memplan.exchange import import_files as import_files
    from memplan.exchange import model_answer as model_answer
    from memplan.exchange.export import EXPORT_FORMATS as EXPORT_FORMATS
    from memplan.exchange.export import Exported as Exported
    from memplan.exchange.export import export_scenario as export_scenario
    from memplan.fit import SHARDING_STRATEGIES as SHARDING_STRATEGIES
    from memplan.fit import DeviceAnswer as DeviceAnswer
    from memplan.fit import DeviceFit as DeviceFit
    from memplan.fit import DeviceLimits as DeviceLimits
    from memplan.fit import DevicesForStates as DevicesForStates
    from memplan.fit import Fewest as Fewest
    from memplan.fit import FewestDevices as FewestDevices
    from memplan.fit import FitWalks as FitWalks
    from memplan.fit import Limit as Limit
    from memplan.fit import device_answer as device_answer
    from memplan.fit import device_fits as device_fits
    from memplan.fit import devices_for_states as devices_for_states
    from memplan.fit import fewest_devices as fewest_devices
    from memplan.fit import fewest_of_each as fewest_of_each
    from memplan.fit import fewest_words as fewest_words
    from memplan.fit import fit_sentence as fit_sentence
    from memplan.fit import fit_title as fit_title
    from memplan.fit import fit_tone as fit_tone
    from memplan.fit import free_figure as free_figure
    from memplan.fit import known_devices as known_devices
    from memplan.fit import largest_micro_batch as largest_micro_batch
    from memplan.fit import limit_words as limit_words
    from memplan.fit import limits_of_each as limits_of_each
    from memplan.fit import longest_sequence as longest_sequence
    from memplan.fit import nearest_fits as nearest_fits
    from memplan.fit import ranked_by_class as ranked_by_class
    from memplan.fit import ranked_fits as ranked_fits
    from memplan.levers import LEVERS as LEVERS
    from memplan.levers import Lever as Lever
    from memplan.levers import LeverOffer as LeverOffer
    from memplan.levers import Preference as Preference
    from memplan.levers import each_offer as each_offer
    from memplan.levers import lever_offers as lever_offers
    from memplan.levers import useful_offers as useful_offers
    from memplan.making_fit import PREFERENCE_TITLES as PREFERENCE_TITLES
    from memplan.making_fit import PREFERENCE_WORDS as PREFERENCE_WORDS
    from memplan.making_fit import PREFERENCES as PREFERENCES
    from memplan.making_fit import Candidate as Candidate
    from memplan.making_fit import Fall as Fall
    from memplan.making_fit import Preferences as Preferences
    from memplan.making_fit import Proposal as Proposal
    from memplan.making_fit import Remedy as Remedy
    from memplan.making_fit import Use as Use
    from memplan.making_fit import cheapest_on_each as cheapest_on_each
    from memplan.making_fit import make_fit as make_fit
    from memplan.making_fit import making_fit as making_fit
    from memplan.making_fit import need_words as need_words
    from memplan.making_fit import proposal_sentence as proposal_sentence
    from memplan.making_fit import remedy_words as remedy_words
    from memplan.making_fit import uses_words as uses_words
    from memplan.making_fit import waterfall as waterfall
    from memplan.memory_map import MAP_VERDICTS as MAP_VERDICTS
    from memplan.memory_map import MemoryMap as MemoryMap
    from memplan.memory_map import memory_map as memory_map
    from memplan.model_file import parse_config as parse_config
    from memplan.model_file import read_config as read_config
    from memplan.nearest_evidence import NEAREST as NEAREST
    from memplan.nearest_evidence import evidence_differences as evidence_differences
    from memplan.nearest_evidence import evidence_group_name as evidence_group_name
    from memplan.nearest_evidence import nearest_evidence as nearest_evidence
    from memplan.number_style import PLAIN_NUMBERS as PLAIN_NUMBERS
    from memplan.number_style import NumberStyle as NumberStyle
    from memplan.number_style import number as number
    from memplan.number_style import once_a_style as once_a_style
    from memplan.number_style import plain_numbers as plain_numbers
    from memplan.number_style import screen_numbers as screen_numbers
    from memplan.number_style import set_screen_numbers as set_screen_numbers
    from memplan.plan.edit import facts_at as facts_at
    from memplan.plan.edit import field_at as field_at
    from memplan.plan.edit import replaced as replaced
    from memplan.plan.edit import value_at as value_at
    from memplan.plan.field_facts import FieldFacts as FieldFacts
    from memplan.plan.file import load_plan as load_plan
    from memplan.plan.file import parse_plan as parse_plan
    from memplan.plan.file import plan_bytes as plan_bytes
    from memplan.plan.file import save_plan as save_plan
    from memplan.plan.hardware import Hardware as Hardware
    from memplan.plan.hardware import Offload as Offload
    from memplan.plan.hardware import Sharding as Sharding
    from memplan.plan.model_choice import ModelChoice as ModelChoice
    from memplan.plan.problems import InvalidPlanError as InvalidPlanError
    from memplan.plan.problems import Problem as Problem
    from memplan.plan.scenario import PLAN_VERSION as PLAN_VERSION
    from memplan.plan.scenario import Plan as Plan
    from memplan.plan.scenario import Scenario as Scenario
    from memplan.plan.training import Freeze as Freeze
    from memplan.plan.training import Lora as Lora
    from memplan.plan.training import Quantization as Quantization
    from memplan.plan.training import Training as Training
    from memplan.plan_estimates import estimate_plan as estimate_plan
    from memplan.printable import printable as printable
    from memplan.report import REPORT_FORMATS as REPORT_FORMATS
    from memplan.report import report as report
    from memplan.report.set_up import devices_words as devices_words
    from memplan.report.set_up import set_up_lines as set_up_lines
    from memplan.report.set_up import warning_lines as warning_lines
    from memplan.resources import resource as resource
    from memplan.result import INSTANT_TITLES as INSTANT_TITLES
    from memplan.result import TERMS as TERMS
    from memplan.result import UNTIL_FORWARD_ENDS as UNTIL_FORWARD_ENDS
    from memplan.result import Advice as Advice
    from memplan.result import Basis as Basis
    from memplan.result import CoursePoint as CoursePoint
    from memplan.result import Estimate as Estimate
    from memplan.result import HostMemory as HostMemory
    from memplan.result import Instant as Instant
    from memplan.result import InstantName as InstantName
    from memplan.result import LedgerRow as LedgerRow
    from memplan.result import Measurement as Measurement
    from memplan.result import Need as Need
    from memplan.result import Parameters as Parameters
    from memplan.result import Process as Process
    from memplan.result import Recipe as Recipe
    from memplan.result import StageShare as StageShare
    from memplan.result import Term as Term
    from memplan.result import TermName as TermName
    from memplan.result import TraceBytes as TraceBytes
    from memplan.result import Verdict as Verdict
    from memplan.sentences import VERDICT_TITLES as VERDICT_TITLES
    from memplan.sentences import Judged as Judged
    from memplan.sentences import basis_sentence as basis_sentence
    from memplan.sentences import host_sentence as host_sentence
    from memplan.sentences import host_words as host_words
    from memplan.sentences import instant_words as instant_words
    from memplan.sentences import margin_words as margin_words
    from memplan.sentences import model_sentence as model_sentence
    from memplan.sentences import peak_words as peak_words
    from memplan.sentences import pinned_sentence as pinned_sentence
    from memplan.sentences import place_words as place_words
    from memplan.sentences import process_sentence as process_sentence
    from memplan.sentences import saving_words as saving_words
    from memplan.sentences import slowdown_sentence as slowdown_sentence
    from memplan.sentences import slowdown_words as slowdown_words
    from memplan.sentences import stage_sentence as stage_sentence
    from memplan.sentences import stage_words as stage_words
    from memplan.sentences import usable_words as usable_words
    from memplan.sentences import verdict_sentence as verdict_sentence
    from memplan.sentences import verdict_title as verdict_title
    from memplan.sentences import verdict_tone as verdict_tone
    from memplan.sentences import verdict_words as verdict_words
    from memplan.term_looks import TERM_LOOKS as TERM_LOOKS
    from memplan.term_looks import TermLook as TermLook
    from memplan.term_looks import contrast as contrast
    from memplan.term_looks import text_on as text_on
    from memplan.translation import install_catalog as install_catalog
    from memplan.translation import tr as tr
    from memplan.translation import tr_later as tr_later
    from memplan.translation import tr_n as tr_n
    from memplan.translation import translated as translated
    from memplan.units import GB as GB
    from memplan.units import GIB as GIB
    from memplan.units import UNIT_BYTES as UNIT_BYTES
    from memplan.units import UNIT_NAMES as UNIT_NAMES
    from memplan.units import Unit as Unit
    from memplan.units import count_forms as count_forms
    from memplan.units import format_bytes as format_bytes
    from memplan.units import format_count as format_count
    from memplan.units import parse_count as parse_count
    from memplan.units import to_unit as to_unit
    from memplan.version import PLAN_SUFFIX as PLAN_SUFFIX

_NAMES: dict[str, str] = {
    "calibration": "measured_words",
    "catalog": "CatalogModel Device",
    "changes": "CHANGES_ORDER Change ChangedField changes_between",
    "diagnose": (
        "NOTHING_FOUND Amount CardPart Cause Diagnosis LeverHelp Match Message OtherProcess Reading diagnose "
        "figures_sentence headline instant_sentence match_words other_matches_sentence read_message_file "
        "read_message_stream read_messages source_words stated_rows stated_sentence tensor_sentence unread_sentence"
    ),
    "choice_titles": "CHOICE_TITLES choice_title",
    "chosen_model": "generates_text",
    "disk": "read_file write_file",
    "errors": "ConfigError MemplanError PlanError UnknownEntryError",
    "estimate": "estimate",
    "evidence": (
        "EVIDENCE_KINDS EvidenceFigure EvidenceGroup EvidenceRow MeasuredEvidence MonitorBand VerdictCount "
        "case_title error_words evidence_groups evidence_rows is_exact measured_evidence"
    ),
    "exchange": "NOTE_TITLES ImportNote Imported import_files model_answer",
    "exchange.export": "EXPORT_FORMATS Exported export_scenario",
    "nearest_evidence": "NEAREST evidence_differences evidence_group_name nearest_evidence",
    "fit": (
        "SHARDING_STRATEGIES DeviceAnswer DeviceFit DeviceLimits DevicesForStates Fewest FewestDevices FitWalks Limit "
        "device_answer device_fits devices_for_states fewest_devices fewest_of_each fewest_words fit_sentence "
        "fit_title fit_tone free_figure known_devices largest_micro_batch limit_words limits_of_each longest_sequence "
        "nearest_fits ranked_by_class ranked_fits"
    ),
    "plan_estimates": "estimate_plan",
    "levers": "LEVERS Lever LeverOffer Preference each_offer lever_offers useful_offers",
    "making_fit": (
        "PREFERENCES PREFERENCE_TITLES PREFERENCE_WORDS Candidate Fall Preferences Proposal Remedy Use "
        "cheapest_on_each make_fit making_fit need_words proposal_sentence remedy_words uses_words waterfall"
    ),
    "memory_map": "MAP_VERDICTS MemoryMap memory_map",
    "model_file": "parse_config read_config",
    "number_style": "PLAIN_NUMBERS NumberStyle number once_a_style plain_numbers screen_numbers set_screen_numbers",
    "plan.edit": "facts_at field_at replaced value_at",
    "plan.field_facts": "FieldFacts",
    "plan.file": "load_plan parse_plan plan_bytes save_plan",
    "plan.hardware": "Hardware Offload Sharding",
    "plan.model_choice": "ModelChoice",
    "plan.problems": "InvalidPlanError Problem",
    "plan.scenario": "PLAN_VERSION Plan Scenario",
    "plan.training": "Freeze Lora Quantization Training",
    "printable": "printable",
    "report": "REPORT_FORMATS report",
    "report.set_up": "devices_words set_up_lines warning_lines",
    "resources": "resource",
    "result": (
        "INSTANT_TITLES TERMS UNTIL_FORWARD_ENDS Advice Basis CoursePoint Estimate HostMemory Instant InstantName "
        "LedgerRow Measurement Need Parameters Process Recipe StageShare Term TermName TraceBytes Verdict"
    ),
    "sentences": (
        "Judged VERDICT_TITLES basis_sentence host_sentence host_words instant_words margin_words model_sentence "
        "peak_words pinned_sentence place_words process_sentence saving_words slowdown_sentence slowdown_words "
        "stage_sentence stage_words usable_words verdict_sentence verdict_title verdict_tone verdict_words"
    ),
    "term_looks": "TERM_LOOKS TermLook contrast text_on",
    "translation": "install_catalog tr tr_later tr_n translated",
    "version": "PLAN_SUFFIX",
    "units": "GB GIB UNIT_BYTES UNIT_NAMES Unit count_forms format_bytes format_count parse_count to_unit",
}
"""The public names by the module that holds them."""

_HOMES = {name: f"memplan.{module}" for module, names in _NAMES.items() for name in names.split()}

_MODULES = ("catalog",)
"""Modules that are public as a whole: `memplan.catalog.search_models("llama")`."""

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"memplan.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'memplan' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


class _Package(ModuleType):
    """Keeps public names from being hidden by modules of the same name.

    Python sets `memplan.estimate` to the module when anything imports `memplan/estimate.py`; here it is the function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
