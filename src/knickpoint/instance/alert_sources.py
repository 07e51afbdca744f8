"""Where alerts are defined, and which of them run.

The configuration of the instance comes first, with an alert of the kind ``canary`` for each section
``[canaries.NAME]``, then what people made by command or API, then the files of watched repositories. See
``docs/decisions/alerts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from knickpoint.instance.config import Config
from knickpoint.model.alert import Alert, AlertKind
from knickpoint.store.findings.alert_definitions import StoredAlert

if TYPE_CHECKING:
    from knickpoint.store import Store

CANARY_PREFIX: Final = "canaries."
"""The alert of a section ``[canaries.NAME]`` is called ``canaries.NAME``."""


class AlertSource(Enum):
    """Where an alert is defined."""

    CONFIGURATION = "configuration"
    STORE = "store"
    REPOSITORY = "repository"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SourcedAlert:
    """An alert, and where it is defined.

    ``place`` names the source for people: the section, who changed it, or the file and its commit. An alert that is
    ``shadowed`` does not run, because an earlier source has one of its name.
    """

    alert: Alert
    source: AlertSource
    place: str
    shadowed: bool = False


def sourced_alerts(config: Config, store: Store, *, made: Mapping[str, Alert] | None = None) -> list[SourcedAlert]:
    """Return all alerts with their sources, those that run and those that are shadowed.

    ``made`` takes the place of the alerts that people made by command or API.

    The default alert is there where neither the configuration nor a person defines one: a file of one repository does
    not end the watch over all.
    """
    found: list[SourcedAlert] = []
    taken: set[str] = set()
    for each in _defined(config, store, made):
        shadowed = each.alert.name in taken
        taken.add(each.alert.name)
        found.append(SourcedAlert(each.alert, each.source, each.place, shadowed))
    return found


def _defined(config: Config, store: Store, made: Mapping[str, Alert] | None) -> Iterator[SourcedAlert]:
    from knickpoint.watch.alert_run.run import default_alert

    definitions = store.findings.alert_definitions
    stored = definitions.stored()
    if made is not None:
        stored = {name: replace(stored.get(name) or StoredAlert(alert), alert=alert) for name, alert in made.items()}
    for name, canary in config.canaries.items():
        alert = Alert(f"{CANARY_PREFIX}{name}", canary.query, canary.repository, kind=AlertKind.CANARY)
        yield SourcedAlert(alert, AlertSource.CONFIGURATION, f"[{CANARY_PREFIX}{name}] of knickpoint.toml")
    for name, alert in config.alerts.items():
        yield SourcedAlert(alert, AlertSource.CONFIGURATION, f"[alerts.{name}] of knickpoint.toml")
    for each in stored.values():
        yield SourcedAlert(each.alert, AlertSource.STORE, f"{each.who}, {each.changed:%Y-%m-%d %H:%M} UTC")
    if not config.alerts and not stored:
        yield SourcedAlert(default_alert(), AlertSource.DEFAULT, "the program, as no other is defined")
    for repository, file in definitions.files().items():
        for alert in file.alerts.values():
            place = f"{file.path} of {repository} at {file.commit[:10]}"
            yield SourcedAlert(alert, AlertSource.REPOSITORY, place)
