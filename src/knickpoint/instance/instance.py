"""Find, create and open an instance: a directory with ``knickpoint.toml`` and the store that it names."""

from __future__ import annotations

import json
import logging
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from knickpoint.access.local_user import local_caller
from knickpoint.ingest.settings import IngestSettings, RepositorySettings
from knickpoint.instance.alert_sources import sourced_alerts
from knickpoint.instance.config import CONFIG_FILE, Config, StoreSettings, read_config
from knickpoint.instance.config.settings import RunnerChoice, WorkSettings
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError, StoreError
from knickpoint.outgoing import OutgoingRule
from knickpoint.store import Primaries, Replicas, Store, create_store, make_store, open_store
from knickpoint.work import Dask, Encryption, Processes, Runner, SeparateProcesses, Serial

if TYPE_CHECKING:
    from knickpoint.watch.causes import SeenProfiles
    from knickpoint.watch.missing_traces import KnownHabits


# Record in the audit log which sections of ``knickpoint.toml`` changed since the instance was last opened.


def record_configuration(store: Store, file: Path) -> None:
    """Add an entry to the audit log if ``file`` differs from the configuration that was recorded last.

    The entry names sections, and no value. The first configuration of a store is recorded without an entry. A store
    that cannot be written now, because it is read-only or an import writes to it, is left for the next time.
    """
    try:
        sections = _sections(tomllib.loads(file.read_text(encoding="utf-8")))
        known = store.configuration.changes(sections)
        if known is not None and not known:
            return
        with store.transaction(wait=False):
            # Another process may have recorded the same change since.
            changes = store.configuration.changes(sections)
            store.configuration.record(sections)
            if changes:
                store.audit.append(AuditKind.CONFIGURATION_CHANGED, local_caller().name, str(changes))
    except (StoreError, OSError, ValueError) as error:  # the file was good a moment ago, and will be again
        _LOG.info("the change of the configuration is recorded later: %s", error)


def _sections(table: Mapping[str, object]) -> dict[str, str]:
    """Return name → content of each section: ``server``, ``alerts.render``; a plain key at the top is one too.

    Variables such as ``${SECRET}`` stay as they are written, so that their values are not part of it.
    """
    sections: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict) and value and all(isinstance(inner, dict) for inner in value.values()):
            sections |= {f"{name}.{inner}": content for inner, content in value.items()}
        else:
            sections[name] = value
    return {name: json.dumps(value, sort_keys=True, default=str) for name, value in sections.items()}


# Make the runner that the configuration names: where alerts of this instance detect.


def detection_runner(settings: WorkSettings, directory: Path) -> Runner:
    """Return the runner of ``settings``; it starts processes and connects at its first use.

    Args:
        settings: the section ``[work]``.
        directory: the directory of the instance, from which paths of certificates count.

    Raises:
        ConfigError: a file of certificates is missing.
    """
    match settings.runner:
        case RunnerChoice.THREADS:
            return Serial()
        case RunnerChoice.PROCESSES:
            return Processes(settings.processes or None)
        case RunnerChoice.DASK:
            return Dask(settings.scheduler, encryption=_encryption(settings, directory))


def _encryption(settings: WorkSettings, directory: Path) -> Encryption | None:
    if not settings.authorities:
        return None
    return Encryption(
        certificate=_file(directory, "certificate", settings.certificate),
        private_key=_file(directory, "private_key", settings.private_key or settings.certificate),
        authorities=_file(directory, "authorities", settings.authorities),
    )


def _file(directory: Path, name: str, path: str) -> Path:
    found = directory / Path(path).expanduser()
    if not found.is_file():
        raise ConfigError(
            f"{name}: there is no file {found}", where="[work]", remedy="Correct the path, relative to the instance."
        )
    return found


_LOG: Final = logging.getLogger("knickpoint.instance")
_VARIABLE: Final = "KNICKPOINT_INSTANCE"
_TEMPLATE: Final = """\
# The configuration of this instance. Every setting: docs/reference/configuration.md
{name}
[store]
location = {location}
{history}{repositories}
# [alerts.everything]          # without any alert, all traces are watched in both directions
# query = "arch=x86"
# direction = "worse"
# minimum_effect = 0.02
#
# [directions.cache]           # where neither the results nor their unit say which direction is better
# query = "metric~hit_ratio"
# better = "higher"
"""
_AS_WORK: Final = """
[history]
as_work = true                 # findings of the first run over a repository are to be triaged
"""
_REPOSITORY_EXAMPLE: Final = """
# [repositories.mylib]         # without one, commits are taken from the results
# location = "../mylib"        # a git repository: path or URL
"""


@dataclass(frozen=True)
class Instance:
    """An open instance: its directory, configuration and store. Close it, or use it in a ``with``."""

    directory: Path
    config: Config
    store: Store

    @property
    def repositories(self) -> Mapping[str, RepositorySettings]:
        """The repositories that the configuration names."""
        return self.config.repositories

    @property
    def ingest(self) -> IngestSettings:
        """How results are imported."""
        return self.config.ingest

    @property
    def outgoing(self) -> OutgoingRule:
        """The rule for addresses that come from outside the configuration."""
        return self.config.outgoing.rule

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts that run: of the configuration, made by people, and of files in repositories.

        Else the default one.
        """
        return tuple(each.alert for each in sourced_alerts(self.config, self.store) if not each.shadowed)

    @cached_property
    def runner(self) -> Runner:
        """Where the alerts detect; it lives as long as the instance is open.

        Raises:
            ConfigError: a file of certificates is missing.
        """
        return detection_runner(self.config.work, self.directory)

    @cached_property
    def importers(self) -> SeparateProcesses:
        """The processes in which files of requests are read and imported; they live as long as the instance is open."""
        from knickpoint.formats import FORMATS

        modules = ("knickpoint.instance.separate_import", *(known.module for known in FORMATS))
        return SeparateProcesses(modules, kept=self.config.limits.uploads_at_once)

    @property
    def unread(self) -> str:
        """Why values were sent to those who detect, although they might have read the store; "" where none were."""
        return self.runner.unread if "runner" in self.__dict__ else ""

    @cached_property
    def habits(self) -> KnownHabits:
        """How often traces are measured, as far as this process has looked."""
        from knickpoint.watch.missing_traces import KnownHabits

        return KnownHabits()

    @cached_property
    def seen_profiles(self) -> SeenProfiles:
        """Which profiles this process has compared."""
        from knickpoint.watch.causes import SeenProfiles

        return SeenProfiles()

    @cached_property
    def replicas(self) -> Replicas:
        """The servers that may answer reads in place of the primary. They are first asked when somebody reads.

        Raises:
            StoreError: the name of a server cannot be read, or the store is embedded.
        """
        settings = self.config.store

        def prepare(store: Store) -> None:
            store.traces.set_directions(self.store.traces.directions)

        return Replicas(self.store, store_location(settings, self.directory), settings.replicas, prepare)

    @cached_property
    def primaries(self) -> Primaries:
        """The servers that the address of the store names, of which one at a time should take writes.

        Raises:
            StoreError: the address cannot be read.
        """
        return Primaries(store_location(self.config.store, self.directory))

    def close(self) -> None:
        """Close the store and its replicas, and end what detects elsewhere."""
        if "replicas" in self.__dict__:
            self.replicas.close()
        if "runner" in self.__dict__:
            self.runner.close()
        if "importers" in self.__dict__:
            self.importers.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def find_instance(start: Path | str | None = None) -> Path:
    """Return the directory of the instance that ``KNICKPOINT_INSTANCE`` names, else the nearest one upwards.

    Args:
        start: the directory to start from. Default: the working directory, after the environment variable.

    Raises:
        ConfigError: there is none; the message names ``knick init``.
    """
    named = os.environ.get(_VARIABLE, "")
    if named and start is None:
        return _checked(Path(named).expanduser(), f"the environment variable {_VARIABLE}")
    begin = Path(start).expanduser().absolute() if start is not None else Path.cwd()
    for directory in (begin, *begin.parents):
        if (directory / CONFIG_FILE).is_file():
            return directory
    raise ConfigError(
        f"there is no {CONFIG_FILE} here or in a directory above",
        where=str(begin),
        remedy=f"Make an instance with knick init, or name one with --instance or {_VARIABLE}.",
    )


def _checked(directory: Path, source: str) -> Path:
    if not (directory / CONFIG_FILE).is_file():
        raise ConfigError(
            f"{source} names a directory without {CONFIG_FILE}",
            where=str(directory),
            remedy="Make an instance there with knick init, or correct the name.",
        )
    return directory.absolute()


def create_instance(
    directory: Path | str,
    *,
    name: str = "",
    store: str = "knickpoint.db",
    repositories: Mapping[str, str] | None = None,
    as_work: bool = False,
) -> Instance:
    """Create an instance in ``directory``, and the directory where it is missing; open the instance.

    Only its owner may read the new directory, the settings and the store.

    Args:
        directory: where ``knickpoint.toml`` is written.
        name: name of the instance. Default: the name of its directory.
        store: path of an SQLite file, relative to the instance, or ``postgresql://…``.
        repositories: repository → path or URL; with "", its commits come from the results.
        as_work: whether findings of the first run over a repository are to be triaged, and are not history.

    Raises:
        ConfigError: there is one already, or the directory cannot be written.
        StoreError: the store cannot be created.
    """
    target = Path(directory).expanduser().absolute()
    file = target / CONFIG_FILE
    if file.exists():
        raise ConfigError(
            "the instance already exists", where=str(target), remedy="Use it, or choose another directory."
        )
    text = _template(name or target.name or "Knickpoint", store, repositories or {}, as_work=as_work)
    draft = target / f"{CONFIG_FILE}.new"
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"an instance cannot be made there: {error.strerror}",
            where=str(target),
            remedy="Choose a directory that you may write.",
        ) from error
    try:
        config = read_config(draft)
        opened = create_store(store_location(config.store, target))
        draft.rename(file)
    finally:
        draft.unlink(missing_ok=True)
    record_configuration(opened, file)
    return Instance(target, config, opened)


def open_instance(directory: Path | str | None = None) -> Instance:
    """Open the instance in ``directory``, or the one that :func:`find_instance` finds.

    If its configuration has changed since it was last opened, the audit log gets an entry.

    Raises:
        ConfigError: there is none, or its configuration cannot be used.
        StoreError: its store cannot be opened.
    """
    found = find_instance() if directory is None else _checked(Path(directory).expanduser(), "--instance")
    config = read_config(found / CONFIG_FILE)
    store = open_configured_store(config, found)
    record_configuration(store, found / CONFIG_FILE)
    opened = Instance(found, config, store)
    _record_alerts(opened)
    _switch_notifications(opened)
    return opened


def _record_alerts(instance: Instance) -> None:
    """Keep the alerts of ``instance`` in its store; where it cannot be written now, the next run does it."""
    try:
        if instance.store.findings.alerts_in_force.all() == {alert.name: alert for alert in instance.alerts}:
            return
        with instance.store.transaction(wait=False):
            instance.store.findings.alerts_in_force.replace(instance.alerts)
    except StoreError as error:
        _LOG.info("the change of the alerts is recorded later: %s", error)


def _switch_notifications(instance: Instance) -> None:
    """Begin behind the newest announcement where channels are configured for the first time, and end without any."""
    wanted = bool(instance.config.channels)
    try:
        if (instance.store.notifications.cursor() is not None) == wanted:
            return
        with instance.store.transaction(wait=False):
            instance.store.notifications.switch(on=wanted)
    except StoreError as error:
        _LOG.info("notifications are switched later: %s", error)


def make_configured_store(directory: Path | str) -> bool:
    """Make the store that the configuration in ``directory`` names; False where there is one already.

    Raises:
        ConfigError: there is no configuration, or it cannot be used.
        StoreError: the store cannot be created.
    """
    found = _checked(Path(directory).expanduser(), "--instance")
    return make_store(store_location(read_config(found / CONFIG_FILE).store, found))


def open_configured_store(config: Config, directory: Path) -> Store:
    """Open the store of the instance in ``directory``, with the directions that ``config`` gives to traces.

    Raises:
        StoreError: the store cannot be opened.
    """
    store = open_store(store_location(config.store, directory))
    store.traces.set_directions([settings.rule for settings in config.directions.values()])
    return store


def store_location(settings: StoreSettings, directory: Path) -> str:
    """Return the location of the store of the instance in ``directory``: a path, or an address."""
    location = settings.location
    return location if "://" in location else str(directory / Path(location).expanduser())


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\{character}" if character in '"\\' else character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text
    )
    return f'"{escaped}"'


def _template(name: str, store: str, repositories: Mapping[str, str], *, as_work: bool) -> str:
    sections = "".join(
        f"\n[repositories.{_quoted(repository)}]\n{f'location = {_quoted(location)}' if location else ''}\n"
        for repository, location in repositories.items()
    )
    return _TEMPLATE.format(
        name=f"name = {_quoted(name)}\n",
        location=_quoted(store),
        history=_AS_WORK if as_work else "",
        repositories=sections or _REPOSITORY_EXAMPLE,
    )
