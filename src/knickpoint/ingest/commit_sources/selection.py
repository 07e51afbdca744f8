"""Find the repository that results belong to, and the commits that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.ingest.commit_sources.git import GitCommits
from knickpoint.ingest.commit_sources.results import ResultCommits
from knickpoint.ingest.settings import Destination, RepositorySettings
from knickpoint.model.errors import HistoryError, InputError

__all__ = ["CommitSources", "repository_name"]

_PLAIN: Final = "main"
"""What a repository is called that nobody named."""

_ADDRESS: Final = re.compile(r"(?:\w+://)?(?:[^@/]+@)?(?P<rest>[^?#]+)")

_OWNED: Final = re.compile(r"[^/:.~][^/:]*/[^/:]+")
"""A name as in owner/project, and no path or address."""


def _address(text: str) -> str:
    """Return what is the same in all ways to write the address of one repository."""
    found = _ADDRESS.fullmatch(text.strip())
    plain = (found["rest"] if found else text).lower().replace(":", "/")
    return plain.rstrip("/").removesuffix(".git").removeprefix("www.")


@dataclass
class CommitSources:
    """The repositories of one import; each is opened, and brought up to date with git, when first needed."""

    destination: Destination
    _open: dict[str, GitCommits | ResultCommits] = field(default_factory=dict)
    _notes: dict[str, None] = field(default_factory=dict)

    def name(self, asked: str, told: str) -> str:
        """Return the name of the repository that was ``asked`` for, else of the one that results ``told``.

        Either is a name, or an address of a configured repository. Results that tell none, or one that is
        not configured, belong to the only one that is; where none is configured, commits are taken from the
        results, into a repository of that name, and results that tell none belong to the only one that is stored.

        Raises:
            InputError: there are several, and nothing says which.
        """
        configured = self.destination.repositories
        for text in (asked, told):
            if text in configured:
                return text
            matching = _matching(text, configured)
            if matching:
                return matching
        if asked:
            return repository_name(asked)
        if len(configured) == 1:
            return next(iter(configured))
        if not configured:
            return repository_name(told) if told else self._only_stored()
        raise InputError(
            f"the results belong to {told!r}, which is none of the repositories here"
            if told
            else "the results do not say which repository they belong to",
            remedy="Name it with --repository, or add the address to addresses in knickpoint.toml: "
            + ", ".join(sorted(configured)),
        )

    def _only_stored(self) -> str:
        """Return the name of the only repository that earlier results made, `main` before the first."""
        stored = [repository.name for repository in self.destination.store.commits.repositories()]
        if len(stored) > 1 and _PLAIN not in stored:
            raise InputError(
                "the results do not say which repository they belong to",
                remedy=f"Name it with --repository: {', '.join(stored)}.",
            )
        return stored[0] if len(stored) == 1 else _PLAIN

    def prepare(self, name: str) -> None:
        """Open the repository ``name`` if it is git's, which may take long and must not block other writers."""
        if self._settings(name).location:
            self.book(name)

    def book(self, name: str) -> GitCommits | ResultCommits:
        """Return the repository ``name``, open and up to date."""
        if name not in self._open:
            settings = self._settings(name)
            if settings.location:
                book = GitCommits.open(self.destination.store, name, settings, self.destination.directory)
                book.sync()
                self._open[name] = book
            else:
                self._open[name] = ResultCommits.open(self.destination.store, name, settings.branch)
        return self._open[name]

    def git(self, name: str) -> GitCommits | None:
        """Return the repository ``name``, open and up to date, None where its commits come from results."""
        found = self.book(name) if self._settings(name).location else None
        return found if isinstance(found, GitCommits) else None

    def note(self, line: str) -> None:
        """Keep a line for people, which :meth:`told` returns once."""
        self._notes[line] = None

    def sync(self, *, fetch: bool) -> dict[str, HistoryError]:
        """Bring every repository of git up to date, from its URL too with ``fetch``.

        Returns:
            Why repositories could not be read, by name; the others are up to date all the same.
        """
        broken: dict[str, HistoryError] = {}
        for name, settings in self.destination.repositories.items():
            if not settings.location:
                continue
            try:
                book = self.book(name)
                if fetch and isinstance(book, GitCommits):
                    book.sync(fetch=True)
            except HistoryError as error:
                broken[name] = error
        return broken

    def told(self) -> tuple[str, ...]:
        """Return, once, what was noted, and which lines a rebase or a force-push changed."""
        lines = [*self._notes]
        self._notes.clear()
        lines += [line for book in self._open.values() if isinstance(book, GitCommits) for line in book.rewritten]
        for book in self._open.values():
            if isinstance(book, GitCommits):
                book.rewritten.clear()
        return tuple(lines)

    def forget(self) -> None:
        """Forget what is open: a transaction was undone, and with it what we believe to be stored."""
        self._open.clear()

    def _settings(self, name: str) -> RepositorySettings:
        return self.destination.repositories.get(name, RepositorySettings())


def _matching(text: str, configured: Mapping[str, RepositorySettings]) -> str:
    if not text:
        return ""
    wanted = _address(text)
    for name, settings in configured.items():
        if wanted in {_address(one) for one in (settings.location, settings.web, *settings.addresses) if one}:
            return name
    return ""


def repository_name(address: str) -> str:
    """Return ``owner/project`` for a URL, the text itself for a name."""
    if "/" not in address or _OWNED.fullmatch(address):
        return address
    parts = _address(address).split("/")
    original = address.rstrip("/").removesuffix(".git").replace(":", "/").split("/")
    return "/".join(original[-2:]) if len(parts) > 2 else original[-1]
