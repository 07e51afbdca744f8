"""Alerts that differ from the configured ones in settings that a person gives as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from knickpoint.model.alert import Alert
from knickpoint.model.alert_settings import alert_from, alert_settings
from knickpoint.model.errors import InputError

__all__ = ["changed_alert"]

_FIXED: Final = frozenset({"name", "parameters", "method"})
_TRUTH: Final = {"true": True, "false": False}


def changed_alert(alert: Alert, settings: Mapping[str, str], method: str = "") -> Alert:
    """Return ``alert`` with other ``settings``: those of alerts by their names, all others as parameters of its method.

    Another ``method`` begins without parameters.

    Raises:
        InputError: a value cannot be read.
    """
    plain: dict[str, Any] = dict(alert_settings(alert))
    if method and method != alert.method:
        plain |= {"method": method, "parameters": {}}
    parameters: dict[str, Any] = dict(plain["parameters"])
    for name, text in settings.items():
        if name in _FIXED or name not in plain:
            parameters[name] = _scalar(text)
        else:
            plain[name] = _setting(name, text, plain[name])
    try:
        return alert_from(alert.name, {**plain, "parameters": parameters})
    except ValueError as error:
        raise InputError(str(error), where="--set", remedy="See the settings of alerts in the reference.") from None


def _setting(name: str, text: str, current: object) -> object:
    """Read the text of a setting of alerts as a value of the type of its ``current`` one."""
    try:
        if isinstance(current, list):
            return [part.strip() for part in text.split(",") if part.strip()]
        if isinstance(current, str):
            return text
        return int(text) if isinstance(current, int) else float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number", where=f"--set {name}", remedy="Give a number.") from None


def _scalar(text: str) -> float | int | str | bool:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return _TRUTH.get(text, text)
