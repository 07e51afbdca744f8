"""Rank the suspects of the changes of an instance, with the git repositories that it configures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from knickpoint.instance.instance import Instance

if TYPE_CHECKING:
    from knickpoint.history import Git
    from knickpoint.model.commit import Repository
    from knickpoint.model.suspects import Suspects


def rank_new_suspects(instance: Instance, *, everything: bool = False) -> int:
    """Rank the suspects of all live changes that are new or were updated, or of ``everything``; return how many.

    Before, the profiles of changes are compared where there are new ones: what they show counts.

    Raises:
        StoreError: the store cannot be read or written.
    """
    from knickpoint.watch.causes import update_causes
    from knickpoint.watch.suspects.update import update_suspects

    open_git = git_source(instance)
    caused = update_causes(instance.store, open_git, everything=everything)
    return update_suspects(instance.store, open_git, everything=everything, also=caused)


def preview_new_suspects(instance: Instance) -> Mapping[int, Suspects]:
    """Return change → suspects for those that :func:`rank_new_suspects` would rank; nothing is written.

    Raises:
        StoreError: the store cannot be read.
    """
    from knickpoint.watch.suspects.update import rank_stale

    batches = rank_stale(instance.store, git_source(instance))
    return {each.id: suspects for batch in batches for each, suspects in batch.items()}


def git_source(instance: Instance) -> Callable[[Repository], Git | None]:
    """Return a function that opens the git repositories that the instance configures."""

    def open_git(repository: Repository) -> Git | None:
        from knickpoint.ingest.commit_sources.git_repository import open_present_git

        settings = instance.repositories.get(repository.name)
        return open_present_git(repository.name, settings, instance.directory) if settings else None

    return open_git
