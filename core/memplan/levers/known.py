"""The levers that there are, least costly first."""

from __future__ import annotations

from memplan.levers.inference import INFERENCE
from memplan.levers.lever import Lever
from memplan.levers.other_numbers import OPTIMIZERS, PRECISION
from memplan.levers.other_training import METHODS
from memplan.levers.placing import PLACING
from memplan.levers.same_result import SAME_RESULT

LEVERS: tuple[Lever, ...] = tuple(
    sorted((*SAME_RESULT, *PLACING, *PRECISION, *OPTIMIZERS, *METHODS, *INFERENCE), key=lambda lever: lever.counts_as)
)
