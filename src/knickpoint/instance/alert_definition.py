"""Read alerts from outside of ``knickpoint.toml`` by the same rules; set and remove those that people make.

A watched repository may define alerts in a file of its own, which is read at the newest commit of its default branch.
A file says nothing that the configuration of the instance does not allow: it names channels of its list, people with a
section, and no other repository. A file that cannot be used leaves the alerts of the last good one as they are.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from knickpoint.instance.alert_sources import AlertSource, sourced_alerts
from knickpoint.instance.config.toml_tables import read_section
from knickpoint.instance.instance import Instance
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert, alert_settings, judging_settings
from knickpoint.model.errors import ConfigError, HistoryError, InputError, KnickpointError
from knickpoint.store.findings.alert_definitions import AlertFile

if TYPE_CHECKING:
    from knickpoint.history import Git
    from knickpoint.ingest.settings import RepositorySettings
    from knickpoint.watch.alert_config.finding_preview import AlertEffect
    from knickpoint.watch.lines import Lines


_MOST_STORED: Final = 1_000
_LONGEST_NAME: Final = 200
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_PRINTABLE: Final = re.compile(r"[^\x00-\x1f\x7f\s](?:[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s])?")


def read_alert(instance: Instance, name: str, table: Mapping[str, Any], *, where: str) -> Alert:
    """Return the alert ``name`` with the settings of ``table``, checked as those of ``knickpoint.toml`` are.

    Texts cannot have variables of the environment: whoever writes an alert would learn the secrets of the server.

    Raises:
        ConfigError: a key is unknown, a value cannot be used, or an owner or a channel does not exist.
    """
    from knickpoint.watch.alert_validation import check_alert, check_references, unknown_reference

    if len(name) > _LONGEST_NAME or not _PRINTABLE.fullmatch(name):
        remedy = f"Use up to {_LONGEST_NAME} characters, without spaces around them."
        raise ConfigError(f"{name!r} cannot be the name of an alert", where=where, remedy=remedy)
    _refuse_variables(table, where)
    alert = read_section(Alert, {**table, "name": name}, file=where)
    check_alert(alert)
    if unknown := unknown_reference(alert, _known_lines(instance)):
        raise ConfigError(unknown.message, where=where, remedy=unknown.remedy)
    check_references(alert, people=instance.config.people, channels=instance.config.channels, where=where)
    return alert


def _known_lines(instance: Instance) -> list[Lines]:
    from knickpoint.watch.lines import Lines

    return [Lines(instance.store, each) for each in instance.store.commits.repositories()]


def _refuse_variables(value: object, where: str) -> None:
    if isinstance(value, str) and (found := _VARIABLE.search(value)):
        raise ConfigError(
            f"{found[0]} is an environment variable",
            where=where,
            remedy="Use such variables in knickpoint.toml only.",
        )
    if isinstance(value, Mapping):
        for inner in value.values():
            _refuse_variables(inner, where)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            _refuse_variables(inner, where)


def changed_settings(alert: Alert | None, assignments: Sequence[str]) -> dict[str, Any]:
    """Return the settings of ``alert``, or none, with those of ``assignments`` as a table of TOML.

    An assignment is ``key=value``, or ``parameters.KEY=value``. The value is written as in TOML; a text needs no
    quotes, and a list of texts may be written with commas. ``key=`` takes a setting back to its default.

    Raises:
        InputError: an assignment has no ``=``.
    """
    table: dict[str, Any] = {}
    if alert is not None:
        defaults = alert_settings(Alert(alert.name))
        table = {key: value for key, value in alert_settings(alert).items() if value != defaults[key]}
    hints = get_type_hints(Alert)
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign:
            raise InputError(
                f"{assignment!r} is not a setting",
                where="SETTING",
                remedy="Write KEY=VALUE, as in minimum_effect=0.02.",
            )
        section, dot, inner = key.partition(".")
        if dot and section == "parameters":
            table["parameters"] = {**table.get("parameters", {}), inner: _value(text, text=False)}
        elif not text:
            table.pop(key, None)
        elif hints.get(key) == tuple[str, ...]:
            table[key] = _texts(text)
        else:
            table[key] = _value(text, text=hints.get(key) is str)
    return table


def _value(written: str, *, text: bool) -> Any:
    """Return a value as TOML has it.

    What is not TOML is a text, and so is everything with ``text`` that has no quotes.
    """
    if text and not written.startswith(('"', "'")):
        return written
    try:
        return tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        return written


def _texts(written: str) -> Any:
    if written.lstrip().startswith("["):
        return _value(written, text=False)
    return [part.strip() for part in written.split(",") if part.strip()]


def set_alert(instance: Instance, alert: Alert, *, who: str) -> None:
    """Keep ``alert`` in the store, new or in the place of the one of its name; it runs with the next results.

    Raises:
        ConfigError: the configuration or a repository defines an alert of this name, or there are too many.
    """
    definitions = instance.store.findings.alert_definitions
    with instance.store.transaction():
        check_settable(instance, alert.name)
        stored = definitions.stored()
        if alert.name not in stored and len(stored) >= _MOST_STORED:
            raise ConfigError(
                f"the store has {len(stored):,} alerts", where=f"alert {alert.name!r}", remedy="Remove some first."
            )
        known = stored.get(alert.name)
        if known is not None and known.alert == alert:
            return
        definitions.put(alert, who=who)
        instance.store.findings.alerts_in_force.replace(instance.alerts)
        about = f"{alert.name}: {_differences(known.alert if known else None, alert)}"
        instance.store.audit.append(AuditKind.ALERT_SET, who, about)


def remove_alert(instance: Instance, name: str, *, who: str) -> None:
    """Remove the alert ``name`` from the store, and take back what it alone found; decisions stay in the log.

    Raises:
        ConfigError: it is defined elsewhere.
        InputError: there is none.
    """
    from knickpoint.watch.alert_config.applied_alerts import retire_alert

    with instance.store.transaction():
        if not instance.store.findings.alert_definitions.remove(name):
            check_settable(instance, name, existing=True)
        if name not in {alert.name for alert in instance.alerts}:
            retire_alert(instance.store, name)
        instance.store.findings.alerts_in_force.replace(instance.alerts)
        instance.store.audit.append(AuditKind.ALERT_REMOVED, who, name)


def prune_alerts(instance: Instance, *, who: str) -> None:
    """Remove all alerts from the store; who applies the others takes back what the removed ones found."""
    definitions = instance.store.findings.alert_definitions
    with instance.store.transaction():
        for name in definitions.stored():
            definitions.remove(name)
            instance.store.audit.append(AuditKind.ALERT_REMOVED, who, name)


def with_default(instance: Instance, alert: Alert) -> list[Alert]:
    """Return ``alert`` behind the default alert, if that would end with it: set together, everything stays watched."""
    ending = [
        each.alert for each in sourced_alerts(instance.config, instance.store) if each.source is AlertSource.DEFAULT
    ]
    return [each for each in ending if each.name != alert.name] + [alert]


def preview_change(
    instance: Instance, changed: Sequence[Alert], removed: Collection[str], *, seconds: float
) -> AlertEffect:
    """Count what comes and goes if ``changed`` alerts are set in the store and ``removed`` ones are not there.

    Findings also join or leave the work list because the kind of an alert changes.

    Where only settings change that do not change what an alert finds, its traces are not judged.
    """
    from knickpoint.watch.alert_config.finding_preview import Preview, preview_effect

    before = {alert.name: alert for alert in instance.alerts}
    made = instance.store.findings.alert_definitions.stored()
    after = {name: each.alert for name, each in made.items() if name not in removed}
    after |= {alert.name: alert for alert in changed}
    alerts = {each.alert.name: each.alert for each in sourced_alerts(instance.config, instance.store, made=after)}
    names = {
        name
        for name in {*before, *alerts}
        if (name in before) != (name in alerts) or judging_settings(before[name]) != judging_settings(alerts[name])
    }
    wanted = [*(alert.name for alert in changed), *sorted(removed)]
    other_kind = {name for name in before.keys() & alerts.keys() if before[name].kind is not alerts[name].kind}
    effect = preview_effect(instance.store, list(alerts.values()), judging=names, kinds=other_kind, seconds=seconds)
    listed = [*wanted, *sorted((names | other_kind) - set(wanted))]
    return replace(effect, previews={name: effect.previews.get(name, Preview()) for name in listed})


def check_settable(instance: Instance, name: str, *, existing: bool = False) -> None:
    """Refuse to change an alert that is not kept in the store; with ``existing`` also one that is not there.

    Raises:
        ConfigError: it is defined elsewhere, or its name is for alerts of repositories.
        InputError: there is none.
    """
    stored = instance.store.findings.alert_definitions.stored()
    if existing and name in stored:
        return
    for each in sourced_alerts(instance.config, instance.store):
        if each.alert.name == name and each.source in {AlertSource.CONFIGURATION, AlertSource.REPOSITORY}:
            raise ConfigError(
                f"the alert {name!r} is defined in {each.place}", where=f"alert {name!r}", remedy="Change it there."
            )
    if existing:
        known = ", ".join(stored) or "none"
        raise InputError(f"there is no alert {name!r} in the store", remedy=f"The alerts there are: {known}.")
    if "/" in name:
        raise ConfigError(
            f"{name!r} has a '/'", where=f"alert {name!r}", remedy="Names with '/' are for alerts of repositories."
        )


def _differences(before: Alert | None, after: Alert) -> str:
    old = alert_settings(before or Alert(after.name))
    changed = {key: value for key, value in alert_settings(after).items() if old[key] != value}
    return ", ".join(f"{key} = {value!r}" for key, value in changed.items()) or "defaults"


def alert_problem(instance: Instance, alert: Alert, known: Sequence[Lines]) -> str:
    """Return the problem of an alert in force, "" for none: why it cannot run, or whom it cannot reach.

    ``known`` are the repositories with results that count.
    """
    from knickpoint.watch.alert_validation import check_references, reason_against, reason_of, unknown_reference

    repositories = [lines.repository.name for lines in known]
    reason = reason_against(alert, repositories) or reason_of(unknown_reference(alert, known))
    if reason:
        return reason
    try:
        check_references(alert, people=instance.config.people, channels=instance.config.channels)
    except ConfigError as error:
        return f"{error.message}. {error.remedy}"
    return ""


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
