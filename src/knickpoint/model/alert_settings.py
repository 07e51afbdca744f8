"""Alerts as plain values: what is stored of them, what their judgement depends on, what findings get from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Final, get_type_hints

from knickpoint.model.alert import Alert, AlertKind, AlertSeverity
from knickpoint.model.errors import StoreError

_AFTERWARDS: Final = frozenset({"kind", "severity", "owners", "notify", "every_minutes"})
"""Settings about what happens with findings, and about when the alert runs: they do not change what it finds."""

_BY_WEIGHT: Final = (AlertKind.WORK, AlertKind.CANARY, AlertKind.INFORMATIONAL)
_BY_URGENCY: Final = (AlertSeverity.HIGH, AlertSeverity.NORMAL, AlertSeverity.LOW)


def alert_settings(alert: Alert) -> dict[str, object]:
    """Return the settings of ``alert`` but for its name, as plain values."""

    def plain(value: object) -> object:
        if isinstance(value, Enum):
            return value.value
        return list(value) if isinstance(value, tuple) else value

    return {name: plain(value) for name, value in asdict(alert).items() if name != "name"}


def judging_settings(alert: Alert) -> dict[str, object]:
    """Return those of :func:`alert_settings` on which depends what ``alert`` finds."""
    return {name: value for name, value in alert_settings(alert).items() if name not in _AFTERWARDS}


def alert_from(name: str, settings: Mapping[str, Any]) -> Alert:
    """Return the alert ``name`` with plain ``settings``, as :func:`alert_settings` returns them.

    Settings that this version does not know are left out; those that are missing have their defaults.
    """
    hints = _hints()
    values: dict[str, Any] = {}
    for field in fields(Alert):
        if field.name not in settings or field.name == "name":
            continue
        value, hint = settings[field.name], hints[field.name]
        if isinstance(value, list):
            value = tuple(value)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            value = hint(value)
        values[field.name] = value
    return Alert(name, **values)


@lru_cache(maxsize=4096)
def alert_from_json(name: str, definition: str) -> Alert:
    """Return :func:`alert_from` of the settings that are written as JSON in ``definition``.

    The alerts of a store are read with most answers and seldom change, so they are kept. The settings of an alert must
    not be changed in place.

    Raises:
        StoreError: the text is damaged.
    """
    try:
        return alert_from(name, settings_from_json(name, definition))
    except ValueError as error:
        raise _damaged(name, error) from error


def settings_from_json(name: str, definition: str) -> Mapping[str, Any]:
    """Return the settings that are stored as JSON in ``definition``.

    Raises:
        StoreError: the text is damaged.
    """
    try:
        return {**json.loads(definition)}
    except (TypeError, ValueError) as error:
        raise _damaged(name, error) from error


def _damaged(name: str, error: Exception) -> StoreError:
    return StoreError(
        f"the stored settings of the alert {name!r} are damaged ({error})",
        remedy="Run knick doctor --deep, and restore the newest backup with knick restore.",
    )


@cache
def _hints() -> Mapping[str, Any]:
    return get_type_hints(Alert)


def kind_of_finding(alerts: Iterable[Alert]) -> AlertKind:
    """Return the kind of a finding that ``alerts`` found: work where one of them finds work.

    Canary before informational.

    Without alerts it is work: nothing that a person may have to look at is left out.
    """
    kinds = {alert.kind for alert in alerts}
    return next((kind for kind in _BY_WEIGHT if kind in kinds), AlertKind.WORK)


def severity_of_finding(alerts: Iterable[Alert]) -> AlertSeverity:
    """Return the highest severity of ``alerts``, normal without any.

    Alerts of a lesser kind than the finding do not count.
    """
    known = list(alerts)
    kind = kind_of_finding(known)
    severities = {alert.severity for alert in known if alert.kind is kind}
    return next((severity for severity in _BY_URGENCY if severity in severities), AlertSeverity.NORMAL)
