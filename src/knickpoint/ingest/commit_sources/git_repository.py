"""Open the git repositories that the configuration names, without writing to a store."""

from __future__ import annotations

from pathlib import Path

from knickpoint.history import Git, NumberPattern, is_url
from knickpoint.ingest.settings import RepositorySettings
from knickpoint.model.commit import Commit

__all__ = ["commits_after", "open_git", "open_present_git"]


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
