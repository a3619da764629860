"""What fits: on which devices, on how many of a kind, with how large a batch and how long a sequence at most."""

from __future__ import annotations

from memplan.fit.answers import DeviceAnswer, device_answer, known_devices
from memplan.fit.devices import DeviceFit, device_fits, nearest_fits, ranked_by_class, ranked_fits
from memplan.fit.fewest import (
    SHARDING_STRATEGIES,
    Fewest,
    FewestDevices,
    devices_per_node_of,
    fewest_devices,
    fewest_of_each,
)
from memplan.fit.limits import DeviceLimits, Limit, largest_micro_batch, limits_of_each, longest_sequence
from memplan.fit.states import DevicesForStates, devices_for_states
from memplan.fit.walks import FitWalks
from memplan.fit.words import fewest_words, fit_sentence, fit_title, fit_tone, free_figure, limit_words

__all__ = [
    "SHARDING_STRATEGIES",
    "DeviceAnswer",
    "DeviceFit",
    "DeviceLimits",
    "DevicesForStates",
    "Fewest",
    "FewestDevices",
    "FitWalks",
    "Limit",
    "device_answer",
    "device_fits",
    "devices_for_states",
    "devices_per_node_of",
    "fewest_devices",
    "fewest_of_each",
    "fewest_words",
    "fit_sentence",
    "fit_title",
    "fit_tone",
    "free_figure",
    "known_devices",
    "largest_micro_batch",
    "limit_words",
    "limits_of_each",
    "longest_sequence",
    "nearest_fits",
    "ranked_by_class",
    "ranked_fits",
]
