"""The parameters that an alert gives its method: its own, and what follows from its other settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from knickpoint.detect import parameters_of
from knickpoint.model.alert import Alert
from knickpoint.model.errors import InputError

__all__ = ["method_parameters"]

_DRIFT_EFFECT: Final = "drift_effect"


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
    if not isinstance(usual, float) or _DRIFT_EFFECT in alert.parameters or not 0 < alert.minimum_effect < usual:
        return alert.parameters
    return {**alert.parameters, _DRIFT_EFFECT: alert.minimum_effect}
