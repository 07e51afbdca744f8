"""Choose the commit source of each repository: git where the configuration names a location, else the results."""

from __future__ import annotations

from dataclasses import dataclass, field

from knickpoint.ingest.commit_sources.git import GitCommits
from knickpoint.ingest.commit_sources.git_repository import find_repository_name
from knickpoint.ingest.commit_sources.protocol import CommitSource
from knickpoint.ingest.commit_sources.results import ResultCommits
from knickpoint.ingest.settings import Destination, RepositorySettings
from knickpoint.model.errors import HistoryError


@dataclass
class CommitSources:
    """The commit sources of one import; each is opened and brought up to date when it is first needed."""

    destination: Destination
    _open: dict[str, CommitSource] = field(default_factory=dict)

    def repository_name(self, requested: str, stated: str) -> str:
        """Return the name of the ``requested`` repository, else of the one that results state.

        Raises:
            InputError: there are several repositories, and nothing says which.
        """
        configured = self.destination.repositories
        stored = [] if configured else [stored.name for stored in self.destination.store.commits.repositories()]
        return find_repository_name(requested, stated, configured=configured, stored=stored)

    def open(self, name: str) -> CommitSource:
        """Return the source of the repository ``name``, up to date.

        The first call for a repository of git may take long: call it outside of a transaction.

        Raises:
            HistoryError: the repository of git cannot be opened or read.
        """
        if name not in self._open:
            source = self._choose(name)
            source.sync()
            self._open[name] = source
        return self._open[name]

    def sync(self, *, fetch: bool) -> dict[str, HistoryError]:
        """Bring every configured repository up to date, from its URL too with ``fetch``.

        Returns:
            Repository → why it could not be read; the others are up to date all the same.
        """
        failures: dict[str, HistoryError] = {}
        for name, settings in self.destination.repositories.items():
            if not settings.location:
                continue
            try:
                source = self.open(name)
                if fetch:
                    source.sync(fetch=True)
            except HistoryError as error:
                failures[name] = error
        return failures

    def notes(self) -> tuple[str, ...]:
        """Return, once, which lines a rebase or a force-push changed."""
        return tuple(note for source in self._open.values() for note in source.notes())

    def forget(self) -> None:
        """Forget the open sources: a transaction was undone, and with it what they take for stored."""
        self._open.clear()

    def _choose(self, name: str) -> CommitSource:
        store, settings = self.destination.store, self.destination.repositories.get(name, RepositorySettings())
        if settings.location:
            return GitCommits.open(store, name, settings, self.destination.directory)
        return ResultCommits(store, name, settings.branch)
