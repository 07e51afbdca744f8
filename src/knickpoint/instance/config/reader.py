"""Read ``knickpoint.toml``, and check what the types of its settings cannot say."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from knickpoint.instance.config.checks import (
    check_ci_jobs,
    check_notifications,
    check_recipes,
    check_schedules,
    check_try,
    check_work,
)
from knickpoint.instance.config.settings import Config, StoreSettings, check_monitoring
from knickpoint.instance.config.sign_in_checks import check_sign_in
from knickpoint.instance.config.toml_tables import read_section
from knickpoint.model.errors import ConfigError, QueryError
from knickpoint.model.query import parse_query

CONFIG_FILE: Final = "knickpoint.toml"
_MOST_DAYS: Final = 36_500
_MOST_HOURS: Final = 8_760
_MOST_FALSE_POSITIVES: Final = 0.5
_MOST_REPLICAS: Final = 5


def read_config(path: Path) -> Config:
    """Read and check the configuration file at ``path``.

    Raises:
        ConfigError: it cannot be read, is not TOML, or has an unknown key or an invalid value.
    """
    config = read_section(Config, read_table(path), file=str(path))
    _check_numbers(config, path)
    _check_decisions(config, path)
    _check_queries(config, path)
    _check_alerts(config, path)
    _check_outgoing(config, path)
    _check_quarantine(config, path)
    _check_templates(config, path)
    check_ci_jobs(config, path)
    check_sign_in(config, path)
    check_notifications(config, path)
    check_recipes(config, path)
    check_schedules(config, path)
    check_try(config.try_, config.bisect, path)
    check_work(config.work, path)
    check_monitoring(config.monitoring, path)
    return config


def read_store_settings(path: Path) -> StoreSettings:
    """Read where the store is, from a configuration whose other variables may not be set.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or its section ``[store]`` cannot be used.
    """
    table = read_table(path).get("store", {})
    return read_section(StoreSettings, table if isinstance(table, dict) else {}, file=str(path), section="store")


def read_table(path: Path) -> dict[str, Any]:
    """Read the configuration file at ``path`` as TOML, without a check of its settings.

    Raises:
        ConfigError: it cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="Grant read access to the file."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"byte {error.start} is not UTF-8", where=str(path), remedy="Save the file as UTF-8."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not TOML: {error}", where=str(path), remedy="Correct it there.") from error
    except RecursionError:
        raise ConfigError("is nested too deeply", where=str(path), remedy="Correct it there.") from None


def _check_outgoing(config: Config, path: Path) -> None:
    try:
        _ = config.outgoing.rule
    except ConfigError as error:
        raise ConfigError(error.message, where=f"{path}, {error.where}", remedy=error.remedy) from error


def _check_alerts(config: Config, path: Path) -> None:
    """Refuse alerts that name people or channels without a section. Whether they can run is found when they do.

    What a repository allows its own alerts is checked as well.
    """
    for name, settings in config.repositories.items():
        where = f"{path}, [repositories.{name}]"
        parts = settings.alerts_file.split("/")
        if settings.alerts_file and ({"", ".", ".."} & {*parts} or "\x00" in settings.alerts_file):
            raise ConfigError(
                f"alerts_file is {settings.alerts_file!r}",
                where=where,
                remedy="Give a path from the root of the repository, as in knickpoint-alerts.toml.",
            )
        if settings.alerts_most < 0:
            raise ConfigError(f"alerts_most is {settings.alerts_most}", where=where, remedy="Give 0 or more.")
        if unknown := sorted(set(settings.alerts_channels) - set(config.channels)):
            raise ConfigError(
                f"alerts_channels names {unknown[0]!r}, and there is no section [channels.{unknown[0]}]",
                where=where,
                remedy="Correct the name, or add the section.",
            )
    if not config.alerts:
        return
    from knickpoint.watch.alert_validation import check_references

    for name, alert in config.alerts.items():
        check_references(alert, people=config.people, channels=config.channels, where=f"{path}, [alerts.{name}]")


def _check_templates(config: Config, path: Path) -> None:
    """Refuse templates of channels that cannot be rendered, before a message needs them."""
    for channel in config.channels.values():
        if channel.templates:
            from knickpoint.notify.messages import load_templates

            load_templates(channel, path.parent)


def _check_quarantine(config: Config, path: Path) -> None:
    """Refuse a quarantine that never ends, and hooks that call nothing or are not signed."""
    settings = config.quarantine
    numbers = {"wait_hours": settings.wait_hours, "stays": settings.stays, "facts_stay": settings.facts_stay}
    for name, value in numbers.items():
        if not 0 < value <= _MOST_HOURS:
            where = f"{path}, [quarantine]"
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give more than 0, at most {_MOST_HOURS:,}.")
    if not settings.minimum_effect >= 0:
        where = f"{path}, [quarantine]"
        raise ConfigError(f"minimum_effect is {settings.minimum_effect:g}", where=where, remedy="Give 0 or more.")
    for hook in config.hooks.values():
        where = f"{path}, [hooks.{hook.name}]"
        if bool(hook.command) == bool(hook.url):
            raise ConfigError("a hook is a command or a url", where=where, remedy="Give one of the two.")
        if hook.url and (urlsplit(hook.url).scheme not in {"http", "https"} or not hook.signing_secret):
            remedy = 'Give an http or https address, and signing_secret = "${HOOK_SECRET}".'
            raise ConfigError("the url cannot be called, or signing_secret is missing", where=where, remedy=remedy)
        if not (0 < hook.seconds <= _MOST_HOURS and hook.attempts >= 1):
            raise ConfigError("seconds or attempts is out of range", where=where, remedy="Give positive numbers.")


def _check_queries(config: Config, path: Path) -> None:
    queries = {
        **{f"directions.{name}": settings.query for name, settings in config.directions.items()},
        **{f"canaries.{name}": settings.query for name, settings in config.canaries.items()},
        "missing": config.missing.query,
    }
    for section, query in queries.items():
        try:
            parse_query(query)
        except QueryError as error:
            where = f"{path}, [{section}]"
            raise ConfigError(f"the query cannot be read: {error.message}", where=where, remedy=error.remedy) from error


def _check_decisions(config: Config, path: Path) -> None:
    """Refuse what no check of new results could decide by, and a drain that ends before it begins."""
    if not 0 < config.check.false_positives < _MOST_FALSE_POSITIVES:
        share, where = config.check.false_positives, f"{path}, [check]"
        remedy = f"Give a share between 0 and {_MOST_FALSE_POSITIVES:g}; 0.01 is one in a hundred."
        raise ConfigError(f"false_positives is {share:g}", where=where, remedy=remedy)
    least = config.check.minimum_effect
    if least >= 1:
        remedy = f"Give a share below 1: {least / 100:g} is {least:g} %."
        reason = f"minimum_effect is {least:g}, which lets all changes below {least * 100:g} % pass"
        raise ConfigError(reason, where=f"{path}, [check]", remedy=remedy)
    for section, name, value in (
        ("check", "minimum_effect", least),
        ("server", "drain_seconds", config.server.drain_seconds),
    ):
        if not value >= 0:
            raise ConfigError(f"{name} is {value:g}", where=f"{path}, [{section}]", remedy="Give 0 or more.")


def _check_numbers(config: Config, path: Path) -> None:
    """Refuse intervals and counts that would have the worker do nothing, or one task without end."""
    positive: dict[str, dict[str, float]] = {
        "worker": {name: value for name, value in asdict(config.worker).items() if name != "lease_seconds"},
        "limits": asdict(config.limits),
        "ingest": {"parsing_megabytes": config.ingest.parsing_megabytes},
        "tickets": {"every_seconds": config.tickets.every_seconds, "sync_seconds": config.tickets.sync_seconds},
        "retention": {"every_hours": config.retention.every_hours},
        **{
            f"ingest.sources.{name}": {"every_seconds": source.every_seconds}
            for name, source in config.ingest.sources.items()
        },
    }
    for section, settings in positive.items():
        for name, value in settings.items():
            if not value > 0:
                where = f"{path}, [{section}]"
                raise ConfigError(f"{name} is {value:g}", where=where, remedy="Give a number greater than 0.")
    for name, value in asdict(config.retention).items():
        if not value >= 0:
            where = f"{path}, [retention]"
            raise ConfigError(f"{name} is {value:g}", where=where, remedy="Give 0, which keeps all, or more.")
    days = config.access.audit_days
    if not 0 <= days <= _MOST_DAYS:
        where = f"{path}, [access]"
        raise ConfigError(f"audit_days is {days:g}", where=where, remedy=f"Give 0, which keeps all, to {_MOST_DAYS:,}.")
    if not config.findings.late_minutes >= 0:
        minutes = config.findings.late_minutes
        raise ConfigError(f"late_minutes is {minutes:g}", where=f"{path}, [findings]", remedy="Give 0 or more.")
    if not 1 <= config.nats.replicas <= _MOST_REPLICAS:
        given = config.nats.replicas
        raise ConfigError(f"replicas is {given}", where=f"{path}, [nats]", remedy=f"Give 1 to {_MOST_REPLICAS}.")
    lease = config.worker.lease_seconds
    if not lease >= 0:
        raise ConfigError(f"lease_seconds is {lease:g}", where=f"{path}, [worker]", remedy="Give 0 or more.")
