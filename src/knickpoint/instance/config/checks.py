"""Check what the types of settings cannot say: recipes, CI jobs, notifications, schedules, and where alerts detect."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from knickpoint.access.settings import CiJobSettings
from knickpoint.bisect.settings import RecipeSettings, ScheduleSettings, TrySettings, check_recipe
from knickpoint.instance.config.settings import Config, RunnerChoice, WorkSettings
from knickpoint.model.errors import ConfigError, FormatError, InputError, QueryError
from knickpoint.model.query import parse_query
from knickpoint.notify.recipients import read_schedule
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.people import Directory, is_mail_address

_MOST_ATTEMPTS: Final = 10_000
_HOURS_A_DAY: Final = 24
_LARGEST_ERROR: Final = 0.2

# Check the recipes of ``[bisect.NAME]``, as far as their types cannot.


def check_recipes(config: Config, path: Path) -> None:
    """Check what ``config``, read from the file at ``path``, says about building and measuring commits.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    for name, recipe in config.bisect.items():
        where = f"{path}, [bisect.{name}]"
        check_recipe(recipe, where)
        if recipe.profiler:
            from knickpoint.bisect.profiling import check_profiler

            check_profiler(recipe, where)
        try:
            parse_query(recipe.query)
            if recipe.format:
                from knickpoint.formats import find_format

                find_format(recipe.format)
        except (QueryError, FormatError) as error:
            raise ConfigError(error.message, where=where, remedy=error.remedy) from error
        for repository in (recipe.repository, *recipe.also):
            if repository and repository not in config.repositories:
                raise ConfigError(
                    f"it names the repository {repository!r}, and there is no section [repositories.{repository}]",
                    where=where,
                    remedy="Correct the name, or add the section.",
                )


def check_try(settings: TrySettings, recipes: Collection[str], path: Path) -> None:
    """Check what the section ``[try]`` of the configuration in the file at ``path`` says.

    Raises:
        ConfigError: it names a recipe that does not exist, or a bound that allows nothing.
    """
    where = f"{path}, [try]"
    if unknown := sorted(set(settings.recipes) - set(recipes)):
        raise ConfigError(
            f"recipes names {unknown[0]!r}, and there is no section [bisect.{unknown[0]}]",
            where=where,
            remedy="Correct the name, or add the section.",
        )
    if not 1 <= settings.most_attempts <= _MOST_ATTEMPTS:
        raise ConfigError(
            f"most_attempts is {settings.most_attempts}", where=where, remedy=f"Give 1 to {_MOST_ATTEMPTS:,}."
        )
    if not 0 < settings.budget_hours <= _HOURS_A_DAY:
        raise ConfigError(
            f"budget_hours is {settings.budget_hours:g}", where=where, remedy="Give more than 0, at most 24."
        )
    if not 0 < settings.error <= _LARGEST_ERROR:
        raise ConfigError(f"error is {settings.error:g}", where=where, remedy="Give more than 0, at most 0.2.")
    usual = TrySettings()
    if (settings.error, settings.most_rounds) != (usual.error, usual.most_rounds):
        from knickpoint.bisect.attempts import SessionRules

        try:
            SessionRules(error=settings.error, most_rounds=settings.most_rounds)
        except InputError as refused:
            raise ConfigError(refused.message, where=where, remedy=refused.remedy) from refused


# Check the sections of CI jobs: a wrong name would refuse every job, or let in more than was meant.


def check_ci_jobs(config: Config, path: Path) -> None:
    """Check the sections ``[ci_jobs.NAME]`` of the configuration in the file at ``path``.

    Raises:
        ConfigError: a section names no project, an unknown repository, a ref without ``refs/``, no audience, an issuer
            that is not reached by https, or an issuer that another section takes for another service.
    """
    kinds: dict[str, CiJobSettings] = {}
    for section in config.ci_jobs.values():
        where = f"{path}, [ci_jobs.{section.name}]"
        _check_projects(section, where)
        _check_refs(section, where)
        _check_issuer(section.issuer_or_default, where)
        _check_repositories(section, config, where)
        if not (section.audience or config.server.address):
            raise ConfigError(
                "no audience is given, and [server] has no address",
                where=where,
                remedy="Set address of [server] to the public address, which is the audience then, or give an audience.",
            )
        same = kinds.setdefault(section.issuer_or_default, section)
        if same.kind is not section.kind:
            raise ConfigError(
                f"[ci_jobs.{same.name}] uses this issuer with the kind {same.kind.value}",
                where=where,
                remedy="Correct kind or issuer.",
            )


def _check_projects(section: CiJobSettings, where: str) -> None:
    if not section.projects:
        raise ConfigError("projects is empty", where=where, remedy='Name the projects, as in ["owner/name"].')
    for project in section.projects:
        if "/" not in project.strip("/") or "*" in project or "://" in project or project != project.strip():
            raise ConfigError(
                f"{project!r} is not a project",
                where=where,
                remedy="Give the path of the project, as in owner/name. Patterns are not possible.",
            )


def _check_refs(section: CiJobSettings, where: str) -> None:
    for ref in section.refs:
        if not ref.startswith("refs/"):
            raise ConfigError(
                f"{ref!r} is not a full ref",
                where=where,
                remedy=f"Give the full name, as in refs/heads/{ref or 'main'}.",
            )


def _check_repositories(section: CiJobSettings, config: Config, where: str) -> None:
    for repository in section.repositories:
        if repository not in config.repositories:
            raise ConfigError(
                f"{repository!r} is not a repository of this file",
                where=where,
                remedy=f"Correct the name, or add a section [repositories.{repository}].",
            )


def _check_issuer(issuer: str, where: str) -> None:
    try:
        parts = urlsplit(issuer)
        usable = bool(parts.hostname) and not (parts.username or parts.query or parts.fragment)
        secure = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
    except ValueError:
        usable = secure = False
    if not (usable and secure):
        raise ConfigError(
            f"the issuer {issuer!r} is not an https address",
            where=where,
            remedy="Give the address that the tokens name. Keys are fetched from there, so only loopback may use http.",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


# Check the settings of notifications, channels and people, as far as their types cannot.


def check_notifications(config: Config, path: Path) -> None:
    """Check what ``config``, read from the file at ``path``, says about who hears of what.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    settings, where = config.notify, f"{path}, [notify]"
    read_schedule(settings, where)
    for name, value, wanted, fits in (
        ("attempts", settings.attempts, "1 or more", settings.attempts >= 1),
        ("escalate_hours", settings.escalate_hours, "0, which is never, or more", settings.escalate_hours >= 0),
        ("digest_below", settings.digest_below, "0 to 1, as in 0.005 for 0.5 %", 0 <= settings.digest_below <= 1),
        ("link_days", settings.link_days, "more than 0, up to 366", 0 < settings.link_days <= 366),
        ("suspect_probability", settings.suspect_probability, "0 to 1", 0 <= settings.suspect_probability <= 1),
    ):
        if not fits:
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")
    for owner in settings.machine_owners:
        if owner not in config.people and not is_mail_address(owner.strip()):
            raise ConfigError(
                f"machine_owners names {owner!r}, and there is no section [people.{owner}]",
                where=where,
                remedy="Add the section, or give a mail address."
                + (f" There are: {', '.join(sorted(config.people))}." if config.people else ""),
            )
    for channel in config.channels.values():
        _check_channel(channel, f"{path}, [channels.{channel.name}]")
    try:
        Directory(config.people)
    except ConfigError as error:
        raise ConfigError(error.message, where=f"{path}, {error.where}", remedy=error.remedy) from error
    for person in config.people.values():
        for address in filter(None, (person.mail, *person.also)):
            if "@" not in address:
                where = f"{path}, [people.{person.name}]"
                raise ConfigError(
                    f"{address!r} is not a mail address", where=where, remedy="Write it as in ann@example.org."
                )


def _check_channel(channel: ChannelSettings, where: str) -> None:
    if channel.kind is ChannelKind.OTHER and not channel.plugin:
        raise ConfigError("'plugin' is missing", where=where, remedy="Add the name of the kind, as its package says.")
    if channel.kind is ChannelKind.MAIL:
        wrong = next((address for address in channel.to if not is_mail_address(address.strip())), None)
        if wrong is not None:
            raise ConfigError(f"to has {wrong!r}, which is not a mail address", where=where, remedy="Correct it.")
        wrong = next((domain for domain in channel.domains if not is_mail_address(f"x@{domain}")), None)
        if wrong is not None:
            raise ConfigError(f"domains has {wrong!r}", where=where, remedy="Write a domain as in example.org.")


# Check the settings of schedules, as far as their types cannot.


def check_schedules(config: Config, path: Path) -> None:
    """Check the schedules of ``config``, read from the file at ``path``, and the repositories that their recipes name.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    for schedule in config.schedule.values():
        where = f"{path}, [schedule.{schedule.name}]"
        recipe = config.bisect.get(schedule.recipe)
        if recipe is None:
            known = f" There are: {', '.join(config.bisect)}." if config.bisect else ""
            raise ConfigError(
                f"there is no recipe {schedule.recipe!r}",
                where=where,
                remedy=f"Add [bisect.{schedule.recipe}], or correct recipe.{known}",
            )
        _check_numbers(schedule, where)
        _check_recipe(config, recipe, f"{path}, [bisect.{recipe.name}]")


def _check_numbers(schedule: ScheduleSettings, where: str) -> None:
    for name, value, wanted, fits in (
        ("commits", schedule.commits, "1 or more", schedule.commits >= 1),
        ("minutes", schedule.minutes, "more than 0", schedule.minutes > 0),
        ("fill_hours", schedule.fill_hours, "0 or more", schedule.fill_hours >= 0),
    ):
        if not fits:
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")


def _check_recipe(config: Config, recipe: RecipeSettings, where: str) -> None:
    if not recipe.measure or not recipe.results:
        raise ConfigError(
            "a schedule needs results, and the recipe has no measure command or no results",
            where=where,
            remedy='Give measure, as in ["make", "bench"], and results, as in ["build/*.json"].',
        )
    located = [name for name, settings in config.repositories.items() if settings.location]
    if recipe.repository not in located and (recipe.repository or len(located) != 1):
        raise ConfigError(
            f"repository is {recipe.repository!r}",
            where=where,
            remedy=f"Name a repository with a location: {', '.join(located) or 'none has one'}.",
        )
    for name, folder in recipe.also.items():
        if name not in located:
            raise ConfigError(
                f"also names the repository {name!r}, which has no location",
                where=where,
                remedy=f"Add it as [repositories.{name}], or correct the name.",
            )
        parts = PurePosixPath(folder)
        if not folder or parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise ConfigError(
                f"also puts {name!r} into {folder!r}, outside the worktree",
                where=where,
                remedy="Name a directory below the worktree, as in third_party/lib.",
            )


# Check where alerts detect, as far as the types of the settings cannot.


_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def check_work(settings: WorkSettings, path: Path) -> None:
    """Check the section ``[work]`` of the file at ``path``.

    Raises:
        ConfigError: a setting is missing, cannot be used, or would send values and code in the clear to another
            machine.
    """
    where = f"{path}, [work]"
    if settings.processes < 0:
        raise ConfigError(
            f"processes is {settings.processes}", where=where, remedy="Give 1 or more, or 0 for one a core."
        )
    if settings.runner is not RunnerChoice.DASK:
        return
    address = _parsed(settings.scheduler, where)
    if address is None:
        raise ConfigError(
            f"scheduler is {settings.scheduler!r}",
            where=where,
            remedy='Give the address of the scheduler of Dask, as in "tls://dask.example.org:8786".',
        )
    scheme, host = address
    if scheme == "tcp" and host not in _THIS_MACHINE:
        raise ConfigError(
            f"the scheduler at {host} would accept work from anybody",
            where=where,
            remedy="Start it with TLS, and use tls:// with certificate and authorities.",
        )
    for name in ("certificate", "authorities") if scheme == "tls" else ():
        if not getattr(settings, name):
            raise ConfigError(
                f"{name} is missing", where=where, remedy="tls:// needs certificate and authorities, files in PEM."
            )


def _parsed(scheduler: str, where: str) -> tuple[str, str] | None:
    """Return scheme and host of the address, None where it is not an address of a scheduler."""
    try:
        parts = urlsplit(scheduler)
        usable = parts.scheme in {"tcp", "tls"} and parts.hostname and parts.port
    except ValueError as error:
        raise ConfigError(f"scheduler is {scheduler!r}: {error}", where=where, remedy="Correct the address.") from error
    return (parts.scheme, parts.hostname) if usable and parts.hostname else None
