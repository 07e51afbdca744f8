"""The parameters that an alert gives its method: its own, and what follows from its other settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from knickpoint.detect import parameters_of
from knickpoint.model.alert import SINCE_START, Alert
from knickpoint.model.errors import InputError

__all__ = ["least_drift", "method_parameters"]

_DRIFT_EFFECT: Final = "drift_effect"
_ADDS_UP: Final = 0.25
"""Share of the least effect from which on a drift counts that is not compared with its start, so that drifts add up."""


def method_parameters(alert: Alert) -> Mapping[str, float | int | str | bool]:
    """Return the parameters with which ``alert`` runs its method.

    Where the alert reports changes that are smaller than the least drift which the method reports, drifts are reported from
    the same effect on. A larger effect needs nothing: the alert leaves out what is smaller. A method that does not exist
    keeps its parameters, and running it says so.
    """
    try:
        usual = parameters_of(alert.method).get(_DRIFT_EFFECT)
    except InputError:
        return alert.parameters
    if not isinstance(usual, float) or _DRIFT_EFFECT in alert.parameters:
        return alert.parameters
    least = min(alert.minimum_effect or usual, usual)
    if alert.since != SINCE_START:
        return {**alert.parameters, _DRIFT_EFFECT: least * _ADDS_UP}
    return alert.parameters if least == usual else {**alert.parameters, _DRIFT_EFFECT: least}


def least_drift(alert: Alert) -> float:
    """Return the effect that a drift needs where it is not compared with its start, 0 where the method alone decides."""
    if alert.since == SINCE_START or alert.minimum_effect:
        return 0.0
    try:
        usual = parameters_of(alert.method).get(_DRIFT_EFFECT)
    except InputError:
        return 0.0
    return usual if isinstance(usual, float) else 0.0
