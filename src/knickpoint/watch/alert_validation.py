"""Validate alerts before they run: a readable query, a known method, and settings that can find something.

A window or a parameter may leave a method too few values to find any step. Such an alert would stay silent for ever, so
its method runs once over series with a large step and no noise, and has to find it.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import METHODS, MethodKind, explain_jointly, find_clusters, find_steps, load_method
from knickpoint.model.alert import SINCE_BEST, SINCE_START, Alert, is_day
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.query import parse_query
from knickpoint.model.summary import read_summary
from knickpoint.watch.detection.alert_settings import find_reference
from knickpoint.watch.detection.clusters import narrowest
from knickpoint.watch.lines import Lines

_LOG: Final = logging.getLogger("knickpoint.watch")
_BOUNDS: Final = (
    ("minimum_effect", 0),
    ("minimum_change", 0),
    ("minimum_traces", 1),
    ("window", 0),
    ("settle_share", 0),
    ("settle_least", 1),
    ("every_minutes", 0),
)
_MAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_MOST_MINUTES: Final = 60 * 24 * 366.0
_LENGTH: Final = 60
"""Length of the series on which the method of an alert without a window is tried."""


def check_alert(alert: Alert) -> None:
    """Raise ``ConfigError`` when ``alert`` could not run: its query, method, parameters or bounds.

    A ``window`` in which its method misses even a step without noise, in the middle, is refused as well.
    """
    where = f"alert {alert.name!r}"
    try:
        parse_query(alert.query)
    except InputError as error:
        raise ConfigError(f"the query cannot be read: {error.message}", where=where, remedy=error.remedy) from error
    try:
        _check_method(alert, where)
        _check_samples(alert, where)
        _check_bounds(alert, where)
        _check_since(alert, where)
        method, parameters = alert.method.replace("-", "_"), json.dumps(dict(alert.parameters), sort_keys=True)
        reason, remedy = _probe(method, parameters, alert.window)
    except ConfigError:
        raise
    except Exception as error:  # a defect of one method, perhaps of another package, must not stop the other alerts
        _LOG.exception("the method %r failed", alert.method)
        raise ConfigError(
            f"the method {alert.method} failed unexpectedly on a series made to try it: {error!r}",
            where=where,
            remedy="Choose other parameters, or another method.",
        ) from error
    if reason:
        raise ConfigError(reason, where=where, remedy=remedy)


def check_references(alert: Alert, *, people: Collection[str], channels: Collection[str], where: str = "") -> None:
    """Raise ``ConfigError`` when ``alert`` names an owner or a channel that does not exist.

    Owners may be mail addresses.

    ``people`` and ``channels`` are the names of their sections; ``where`` is the place of the alert, by default its
    name.
    """
    place = where or f"alert {alert.name!r}"
    for owner in alert.owners:
        if owner not in people and not _MAIL.fullmatch(owner):
            raise ConfigError(
                f"owners names {owner!r}, and there is no section [people.{owner}]",
                where=place,
                remedy=f"Add the section, or give a mail address.{_listed(people)}",
            )
    for channel in alert.notify:
        if channel not in channels:
            raise ConfigError(
                f"notify names {channel!r}, and there is no section [channels.{channel}]",
                where=place,
                remedy=f"Add the section.{_listed(channels)}",
            )
    for setting, names in (("owners", alert.owners), ("notify", alert.notify)):
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ConfigError(f"{setting} names {twice!r} twice", where=place, remedy="Remove one of them.")


def _listed(names: Collection[str]) -> str:
    return f" There are: {', '.join(sorted(names))}." if names else ""


def _check_method(alert: Alert, where: str) -> None:
    """Raise when there is no such method, or it has no such parameter."""
    method = alert.method.replace("-", "_")
    if method not in METHODS:
        raise ConfigError(
            f"there is no method {alert.method!r}", where=where, remedy=f"The methods are: {', '.join(METHODS)}."
        )
    if METHODS[method].kind is MethodKind.GROUP:
        return
    known = {*METHODS[method].parameters, *(["preset"] if METHODS[method].presets else [])}
    if unknown := sorted(set(alert.parameters) - known):
        raise ConfigError(
            f"the method {alert.method} has no parameter {unknown[0]!r}",
            where=where,
            remedy=f"Its parameters are: {', '.join(sorted(known))}.",
        )


def _check_samples(alert: Alert, where: str) -> None:
    """Raise when the alert wants samples, and its method judges traces together, by one value a commit.

    Or wants them in two ways.
    """
    if alert.summary:
        try:
            read_summary(alert.summary)
        except InputError as error:
            raise ConfigError(f"summary: {error.message}", where=where, remedy=error.remedy) from None
    if alert.samples and alert.summary:
        raise ConfigError(
            f"samples is true, which judges the level of samples, and summary is {alert.summary}",
            where=where,
            remedy="Remove one of them; two alerts can watch both.",
        )
    if alert.reads_samples and METHODS[alert.method.replace("-", "_")].kind is not MethodKind.SERIES:
        setting = "samples is true" if alert.samples else f"summary is {alert.summary}"
        raise ConfigError(
            f"{setting}, and the method {alert.method} judges traces together, by the points alone",
            where=where,
            remedy=f"Remove {setting.split(maxsplit=1)[0]}, or use a method that judges each trace by itself.",
        )


def _check_bounds(alert: Alert, where: str) -> None:
    for name, least in _BOUNDS:
        if not getattr(alert, name) >= least:
            raise ConfigError(f"{name} is {getattr(alert, name)}", where=where, remedy=f"Give {least} or more.")
    if alert.settle_share > 1:
        raise ConfigError(
            f"settle_share is {alert.settle_share:g}", where=where, remedy="Give a share of the values, at most 1."
        )
    if alert.settle_most < alert.settle_least:
        raise ConfigError(
            f"settle_most is {alert.settle_most}, less than settle_least, which is {alert.settle_least}",
            where=where,
            remedy="Give settle_least or more.",
        )
    if math.isinf(alert.minimum_effect):
        raise ConfigError("minimum_effect is inf", where=where, remedy="Give a share of the mean: 0.02 is 2 %.")
    if math.isinf(alert.minimum_change):
        raise ConfigError("minimum_change is inf", where=where, remedy="Give a number in the unit of the traces.")
    if alert.every_minutes > _MOST_MINUTES:
        raise ConfigError(
            f"every_minutes is {alert.every_minutes:g}",
            where=where,
            remedy=f"Give at most {_MOST_MINUTES:,.0f}, a year.",
        )


def _check_since(alert: Alert, where: str) -> None:
    """Raise when the reference of drifts is neither a possible name of a release nor a day of the calendar."""
    if is_day(alert.since):
        try:
            date.fromisoformat(alert.since)
        except ValueError as error:
            raise ConfigError(
                f"since is {alert.since}, which is not a date: {error}",
                where=where,
                remedy="Write a day as in 2026-05-31.",
            ) from None
    elif not alert.since or not alert.since.isprintable() or alert.since != alert.since.strip():
        raise ConfigError(
            f"since is {alert.since!r}",
            where=where,
            remedy="Give start, best, a date such as 2026-05-31, or the tag of a release.",
        )


def missing_reference(alert: Alert, lines: Lines) -> ConfigError | None:
    """Return the reason for which ``alert`` cannot compare drifts in the repository of ``lines``, None if it can."""
    if alert.since in {SINCE_START, SINCE_BEST}:
        return None  # asks the store nothing
    if alert.repository not in {"", lines.repository.name} or not lines.default.slots:
        return None
    try:
        find_reference(alert, lines.line(alert.line), lines)
    except ConfigError as error:
        return error
    return None


def unknown_reference(alert: Alert, known: Sequence[Lines]) -> ConfigError | None:
    """Return the reason for which ``alert`` can compare drifts in none of its repositories, None if it can in one.

    ``known`` are all repositories with results. Where it is missing in some of them, the runs there say so.
    """
    watched = [lines for lines in known if alert.repository in {"", lines.repository.name}]
    missing = [missing_reference(alert, lines) for lines in watched]
    return missing[0] if all(missing) and missing else None


def reason_of(error: ConfigError | None) -> str:
    """Return ``error`` as the reason why an alert cannot run, with its remedy; "" for None."""
    return f"{error.message.rstrip('.')}. {error.remedy}".strip() if error else ""


def reason_against(alert: Alert, repositories: Collection[str]) -> str:
    """Return the reason for which ``alert`` cannot run in an instance with results of ``repositories``, else ""."""
    try:
        check_alert(alert)
    except ConfigError as error:
        return reason_of(error)
    if alert.repository and repositories and alert.repository not in repositories:
        return f"there is no repository {alert.repository!r}. Correct the name, or import results of it first."
    return ""


@lru_cache(maxsize=1024)
def _probe(method: str, parameters: str, window: int) -> tuple[str, str]:
    """Return the defect of the parameters or the window, and the remedy; two empty texts without any."""
    try:
        if load_method(method).kind is MethodKind.JOINT:
            return _probe_joint(method, json.loads(parameters), window)
        if load_method(method).kind is MethodKind.GROUP:
            given = json.loads(parameters)
            width = narrowest(given)
            return _probe_group(method, given, min(window, width) if window else width)
        return _probe_series(method, json.loads(parameters), window)
    except InputError as error:
        return error.message, error.remedy


def _level(length: int, step: int) -> NDArray[np.float64]:
    return np.where(np.arange(length) < step, 10.0, 20.0)


def _probe_series(method: str, parameters: Mapping[str, Any], window: int) -> tuple[str, str]:
    if not 0 < window <= _LENGTH:
        find_steps(_level(_LENGTH, _LENGTH // 2), method=method, **parameters)
        return "", ""
    # Detection reads as many values before the window as there are in it. Probe the first step that the alert may
    # report, which most values follow, and one in the middle of the window.
    probes = (_level(2 * window, step) for step in (window + 1, window + window // 2))
    if any(find_steps(probe, method=method, **parameters) for probe in probes):
        return "", ""
    return (
        f"in a window of {window} measured commits the method {method} finds nothing, however large the step",
        "Give a larger window, or none to detect in everything.",
    )


def _probe_joint(method: str, parameters: Mapping[str, Any], window: int) -> tuple[str, str]:
    """Probe a step in the middle of what is read: as many values before the window are read as it has."""
    length = min(2 * window, _LENGTH) if window else _LENGTH
    detections = explain_jointly(np.tile(_level(length, length // 2), (2, 1)), method=method, **parameters)
    if any(found.steps for found in detections) or not window:
        return "", ""
    return (
        f"in a window of {window} measured commits the method {method} finds nothing, however large the step",
        "Give a larger window, or none to detect in everything.",
    )


def _probe_group(method: str, parameters: Mapping[str, Any], width: int) -> tuple[str, str]:
    """Probe both ends of the part of a window in which a step counts; other windows cover the rest."""
    rows = max(4, int(parameters.get("minimum_members", 1)))
    keys = [f",probe={row}," for row in range(rows)]
    for step in (width // 4, width - width // 4 - 1):
        clusters = find_clusters(np.tile(_level(width, step), (rows, 1)), keys, method=method, **parameters)
        if not any(found.step is not None and found.interesting for found in clusters):
            return (
                f"in windows of {width} measured commits the method {method} misses steps, however large",
                "Give a larger window, or a smaller edge: a quarter of the window, or less.",
            )
    return "", ""
