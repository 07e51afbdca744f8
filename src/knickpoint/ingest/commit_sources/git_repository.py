"""The git repositories of an instance: how they are named, found and opened, and HEAD of a work tree."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from knickpoint.history import Checkout, Git, NumberPattern, find_work_tree, is_url, remote_address
from knickpoint.ingest.commit_sources.protocol import MOST_AHEAD
from knickpoint.ingest.settings import RepositorySettings
from knickpoint.model.commit import Commit
from knickpoint.model.errors import InputError
from knickpoint.model.report import RunReport

# Open the git repositories that the configuration names, without writing to a store.


def open_git(name: str, settings: RepositorySettings, directory: Path) -> Git:
    """Open the git repository at the location of ``settings``: a path relative to ``directory``, or a URL.

    A URL is cloned below ``directory`` unless the clone is there already.

    Raises:
        HistoryError: git is missing, or there is no repository at its location.
        ConfigError: the pattern of commit numbers cannot be used.
    """
    numbers = NumberPattern.of(settings.number) if settings.number else None
    if is_url(settings.location):
        return Git.clone(settings.location, _clone_of(name, directory), numbers=numbers, web=settings.web)
    return Git.at(directory / Path(settings.location).expanduser(), numbers=numbers, web=settings.web)


def open_present_git(name: str, settings: RepositorySettings, directory: Path) -> Git | None:
    """Open the git repository of ``settings`` if it is on this machine: None for a URL that is not cloned yet.

    Raises:
        HistoryError: git is missing, or there is no repository at its location.
        ConfigError: the pattern of commit numbers cannot be used.
    """
    if not settings.location or (is_url(settings.location) and not _clone_of(name, directory).exists()):
        return None
    return open_git(name, settings, directory)


def _clone_of(name: str, directory: Path) -> Path:
    return directory / "repositories" / f"{name.replace('/', '%2F')}.git"


def commits_after(name: str, settings: RepositorySettings, directory: Path, last: str) -> list[Commit]:
    """Return the commits of the default branch that follow ``last`` in a git repository on this machine, oldest first.

    Nothing is fetched or written. The clone of a URL is left out: the worker fetches it and reads it in the same step.

    Raises:
        HistoryError: the repository cannot be read, or does not have ``last``.
    """
    if not settings.location or is_url(settings.location):
        return []
    git = open_git(name, settings, directory)
    tip = git.branches().get(settings.branch or git.default_branch())
    return git.first_parents(tip, without=[last]) if tip and tip != last else []


# Find the name of the repository that results belong to, by its name or by its address.


_UNNAMED: Final = "main"
"""The name of a repository that nothing names."""

_ADDRESS: Final = re.compile(r"(?:\w+://)?(?:[^@/]+@)?(?P<rest>[^?#]+)")

_OWNED: Final = re.compile(r"[^/:.~][^/:]*/[^/:]+")
"""A name such as owner/project, which is neither a path nor an address."""


def find_repository_name(
    requested: str, stated: str, *, configured: Mapping[str, RepositorySettings], stored: Sequence[str]
) -> str:
    """Return the name of the ``requested`` repository, else of the one that results state.

    Either is a name, or an address of a configured repository. Results that state none, or one that is not configured,
    belong to the only one that is. Where none is configured, commits come from the results, into a repository of the
    stated name; results that state none belong to the only repository that is ``stored``, `main` before the first.

    Raises:
        InputError: there are several repositories, and nothing says which.
    """
    # A configured repository, by name or address.
    for text in (requested, stated):
        if text in configured:
            return text
        matching = _matching(text, configured)
        if matching:
            return matching
    # A repository that is not configured, or the only one that is.
    if requested:
        return repository_name(requested)
    if len(configured) == 1:
        return next(iter(configured))
    if not configured:
        return repository_name(stated) if stated else _only_stored(stored)
    raise InputError(
        f"the results belong to {stated!r}, which is not a repository here"
        if stated
        else "the results do not say which repository they belong to",
        remedy="Name it with --repository, or add the address to addresses in knickpoint.toml: "
        + ", ".join(sorted(configured)),
    )


def repository_name(address: str) -> str:
    """Return ``owner/project`` for a URL, and a name as it is."""
    if "/" not in address or _OWNED.fullmatch(address):
        return address
    parts = _canonical(address).split("/")
    original = address.rstrip("/").removesuffix(".git").replace(":", "/").split("/")
    return "/".join(original[-2:]) if len(parts) > 2 else original[-1]


def _only_stored(stored: Sequence[str]) -> str:
    """Return the name of the only repository that earlier results made, `main` before the first."""
    if len(stored) > 1 and _UNNAMED not in stored:
        raise InputError(
            "the results do not say which repository they belong to",
            remedy=f"Name it with --repository: {', '.join(stored)}.",
        )
    return stored[0] if len(stored) == 1 else _UNNAMED


def _matching(text: str, configured: Mapping[str, RepositorySettings]) -> str:
    """Return the name of the configured repository with the address ``text``, "" for none."""
    if not text:
        return ""
    wanted = _canonical(text)
    for name, settings in configured.items():
        addresses = (settings.location, settings.web, *settings.addresses)
        if wanted in {_canonical(address) for address in addresses if address}:
            return name
    return ""


def _canonical(text: str) -> str:
    """Return the common part of all spellings of the address of one repository."""
    found = _ADDRESS.fullmatch(text.strip())
    plain = (found["rest"] if found else text).lower().replace(":", "/")
    return plain.rstrip("/").removesuffix(".git").removeprefix("www.")


# Take HEAD of a work tree as the commit of results that name none, where nothing speaks against it.


_ZONES: Final = timedelta(hours=12)
"""A local time that is written without its zone, and read as UTC, may be too early by this much."""

_UNKNOWN: Final = "the results do not say which commit they belong to"


def head_commit(run: RunReport, checkout: Checkout | None, source: str, written: datetime | None) -> str:
    """Return HEAD as the commit of results that name none.

    The tracked files must be those of HEAD, and the results newer than it, and no newer than their file: by the time of
    the run where the file has one, else by the time when the file was ``written``, None for a file that comes from
    elsewhere.

    Raises:
        InputError: the results cannot be those of HEAD; the message says why.
    """
    entry = f" (entry {run.entry})" if run.entry else ""
    if checkout is None or written is None:
        raise InputError(
            _UNKNOWN + entry,
            remedy="Name it with --commit, or in a sidecar; in a CI it is read from the usual variables.",
        )
    reasons = list(_doubts(run, checkout, Path(source), written))
    if reasons:
        raise InputError(
            f"{_UNKNOWN}{entry}, and it cannot be HEAD ({checkout.commit[:12]}): {'; '.join(reasons)}",
            remedy="Name it with --commit (--commit HEAD takes HEAD all the same), or measure again.",
        )
    return checkout.commit


def _doubts(run: RunReport, checkout: Checkout, source: Path, written: datetime) -> Iterator[str]:
    """Yield the reasons why results are not those of HEAD."""
    # The work tree differs from HEAD, now or when the benchmark ran.
    changed = [path for path in checkout.changed if path != source]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the work tree has changes ({changed[0].relative_to(checkout.directory)}{more})"
    if run.environment.get("commit.dirty") == "true":
        yield "the results say that the work tree had changes"
    # The results lie in another work tree.
    elsewhere = _other_tree(source, checkout.directory)
    if elsewhere is not None:
        yield f"the work tree {elsewhere} is another one"
    # The results are older than the commit.
    made = run.time or written
    latest = made + _ZONES if run.time is not None and written >= checkout.time else made
    if latest < checkout.time:
        what = "the run" if run.time is not None else "the file"
        yield f"{what} is older than HEAD ({_moment(made)}, HEAD {_moment(checkout.time)})"
    # The time of the run is not a time of a run that has been.
    if run.time is not None and run.time - MOST_AHEAD > written:
        yield f"the run is later than its file ({_moment(run.time)}, file {_moment(written)})"


def _other_tree(source: Path, top: Path) -> Path | None:
    """Return the work tree around the results, else around the current directory, where that is not ``top``."""
    for directory in (source.parent, Path.cwd()):
        found = next((parent for parent in (directory, *directory.parents) if (parent / ".git").exists()), None)
        if found is not None:
            return None if found.resolve() == top.resolve() else found
    return None


def _moment(time: datetime) -> str:
    return time.isoformat(sep=" ", timespec="seconds")


def repository_around(place: Path, directory: Path) -> dict[str, str]:
    """Return name → location of the repository whose work tree has ``place``, for an instance in ``directory``.

    {} for none.

    The name is owner/project of its remote, else the name of its directory. The location is relative if the instance is
    inside the work tree, so that both can be moved together.
    """
    top = find_work_tree(place)
    if top is None:
        return {}
    remote = remote_address(Git(top))
    name = repository_name(remote) if is_url(remote) and not remote.startswith("file:") else top.name
    location = os.path.relpath(top, directory) if directory.is_relative_to(top) else str(top)
    return {name or "main": location}
