"""Read the alerts that watched repositories define in a file of their own, at the newest commit of the default branch.

A file says nothing that the configuration of the instance does not allow: it names channels of its list, people with a
section, and no other repository. A file that cannot be used leaves the alerts of the last good one as they are.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from knickpoint.instance.alert_definition import read_alert
from knickpoint.instance.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError, HistoryError, KnickpointError
from knickpoint.store.findings.alert_definitions import AlertFile

if TYPE_CHECKING:
    from knickpoint.history import Git
    from knickpoint.ingest.settings import RepositorySettings

_MOST_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class FileReading:
    """What happened with the file of alerts of one repository: ``text`` is one line for people."""

    repository: str
    text: str
    failed: bool = False


def read_alert_files(instance: Instance) -> list[FileReading]:
    """Read the files that changed since they were read last, keep their alerts, and return what happened.

    Nothing is fetched: the task that follows the repositories did that.

    Raises:
        StoreError: the store cannot be read or written.
    """
    definitions = instance.store.findings.alert_definitions
    known = definitions.files()
    happened: list[FileReading] = []
    for name in known.keys() - {name for name, each in instance.repositories.items() if each.alerts_file}:
        definitions.remove_file(name)
        happened.append(FileReading(name, f"alerts of {name}: its file is no longer read"))
    for name, settings in instance.repositories.items():
        if settings.alerts_file:
            happened += _read_repository(instance, name, settings, known.get(name))
    if happened:
        instance.store.findings.alerts_in_force.replace(instance.alerts)
    return happened


def _read_repository(
    instance: Instance, name: str, settings: RepositorySettings, known: AlertFile | None
) -> list[FileReading]:
    from knickpoint.ingest.commit_sources.git_repository import open_present_git

    rule = _rule(instance, settings)
    before = known if known and known.path == settings.alerts_file else AlertFile(name, settings.alerts_file)
    try:
        git = open_present_git(name, settings, instance.directory)
        tip = git.branches().get(settings.branch or git.default_branch(), "") if git else ""
    except HistoryError as error:
        return _written(instance, known, replace(before, rule=rule, failure=str(error)))
    if git is None or not tip or (tip, rule) == (before.tip, before.rule):
        return []
    return _written(instance, known, _read_commit(instance, git, replace(before, tip=tip, rule=rule)))


def _rule(instance: Instance, settings: RepositorySettings) -> str:
    """Return the part of the configuration that decides about a file: when it changes, the file is read again."""
    names = (sorted(instance.config.people), sorted(instance.config.channels))
    return json.dumps([settings.alerts_file, settings.alerts_channels, settings.alerts_most, *names])


def _read_commit(instance: Instance, git: Git, before: AlertFile) -> AlertFile:
    """Return the alerts of the file at the tip, or those that stood, with the reason why it cannot be used."""
    from knickpoint.history import find_committed_file

    settings = instance.repositories[before.repository]
    commit = before.tip
    try:
        found = find_committed_file(git, before.tip, before.path)
        if found is None:
            return replace(before, commit=before.tip, alerts={}, failure="", failed_at="")
        commit = found.last_change()
        where = f"{before.path} of {before.repository} at {commit[:10]}"
        alerts = _alerts_of(instance, before.repository, settings, found.read(_MOST_BYTES), where)
    except KnickpointError as error:
        return replace(before, failure=str(error), failed_at=commit)
    return replace(before, commit=commit, alerts=alerts, failure="", failed_at="")


def _alerts_of(
    instance: Instance, repository: str, settings: RepositorySettings, content: bytes, where: str
) -> dict[str, Alert]:
    """Return the alerts of a file by name; their names begin with that of the repository.

    Raises:
        ConfigError: the file, or one of its alerts, cannot be used, or goes beyond what the instance allows.
    """
    sections = _sections(content, where)
    if len(sections) > settings.alerts_most:
        raise ConfigError(
            f"it defines {len(sections)} alerts",
            where=where,
            remedy=f"Define at most {settings.alerts_most}, the alerts_most of the instance.",
        )
    alerts = [
        _allowed(
            read_alert(instance, f"{repository}/{name}", table, where=f"{where}, [alerts.{name}]"),
            repository,
            settings,
            instance,
            where=f"{where}, [alerts.{name}]",
        )
        for name, table in sections.items()
    ]
    return {alert.name: alert for alert in alerts}


def _sections(content: bytes, where: str) -> dict[str, Mapping[str, Any]]:
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"is not TOML: {error}", where=where, remedy="Correct it there.") from error
    if unknown := sorted(set(table) - {"alerts"}):
        raise ConfigError(
            f"unknown key {unknown[0]!r}", where=where, remedy="The file has sections [alerts.NAME] only."
        )
    sections = table.get("alerts", {})
    if not isinstance(sections, dict) or not all(isinstance(each, dict) for each in sections.values()):
        raise ConfigError("alerts is not a section", where=where, remedy="Write a section [alerts.NAME] for each.")
    return sections


def _allowed(alert: Alert, repository: str, settings: RepositorySettings, instance: Instance, *, where: str) -> Alert:
    """Return ``alert`` bound to its repository, if the instance allows what it asks for."""
    if alert.repository not in {"", repository}:
        raise ConfigError(
            f"repository is {alert.repository!r}", where=where, remedy=f"Leave it out: the alert watches {repository}."
        )
    for channel in alert.notify:
        if channel not in settings.alerts_channels:
            allowed = ", ".join(settings.alerts_channels) or "none"
            raise ConfigError(
                f"notify names {channel!r}, which this repository may not use",
                where=where,
                remedy=f"Its channels are: {allowed}. An admin changes alerts_channels in [repositories.{repository}].",
            )
    for owner in alert.owners:
        if owner not in instance.config.people:
            raise ConfigError(
                f"owners names {owner!r}, who has no section [people.{owner}]",
                where=where,
                remedy="Name people of the instance; files of repositories cannot name mail addresses.",
            )
    return replace(alert, repository=repository)


def _written(instance: Instance, known: AlertFile | None, read: AlertFile) -> list[FileReading]:
    """Keep what was read; say in words what is new."""
    if read == known:
        return []
    instance.store.findings.alert_definitions.put_file(read)
    if read.failure:
        standing = f"; the {len(read.alerts)} of {read.commit[:10]} stay" if read.alerts else ""
        text = f"alerts of {read.repository}: {read.failure}{standing}"
        return [] if known and known.failure == read.failure else [FileReading(read.repository, text, failed=True)]
    if known and dict(known.alerts) == dict(read.alerts) and not known.failure:
        return []
    text = f"alerts of {read.repository}: {len(read.alerts)} in {read.path} at {read.commit[:10]}"
    return [FileReading(read.repository, text)]
