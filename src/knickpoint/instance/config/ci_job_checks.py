"""Check the sections of CI jobs: a wrong name would refuse every job, or let in more than was meant."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from knickpoint.access.settings import CiJobSettings
from knickpoint.instance.config.settings import Config
from knickpoint.model.errors import ConfigError

__all__ = ["check_ci_jobs"]


def check_ci_jobs(config: Config, path: Path) -> None:
    """Check the sections ``[ci_jobs.NAME]`` of the configuration in the file at ``path``.

    Raises:
        ConfigError: a section names no project, an unknown repository, a ref without ``refs/``, no audience, an issuer that is
            not reached by https, or an issuer that another section takes for another service.
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
                f"[ci_jobs.{same.name}] has the same issuer for {same.kind.value}",
                where=where,
                remedy="Give each issuer the kind that it is.",
            )


def _check_projects(section: CiJobSettings, where: str) -> None:
    if not section.projects:
        raise ConfigError("projects is empty", where=where, remedy='Name the projects, as in ["owner/name"].')
    for project in section.projects:
        if "/" not in project.strip("/") or "*" in project or "://" in project or project != project.strip():
            raise ConfigError(
                f"{project!r} is no project",
                where=where,
                remedy="Give the path of the project, as in owner/name. Patterns are not possible.",
            )


def _check_refs(section: CiJobSettings, where: str) -> None:
    for ref in section.refs:
        if not ref.startswith("refs/"):
            raise ConfigError(
                f"{ref!r} fits no ref", where=where, remedy=f"Give the full name, as in refs/heads/{ref or 'main'}."
            )


def _check_repositories(section: CiJobSettings, config: Config, where: str) -> None:
    for repository in section.repositories:
        if repository not in config.repositories:
            raise ConfigError(
                f"{repository!r} is none of the repositories of this file",
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
            f"the issuer {issuer!r} is no https address",
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
