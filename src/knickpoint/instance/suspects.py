"""Rank the suspects of the regressions of an instance, with the git repositories that it configures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knickpoint.instance.instance import Instance

if TYPE_CHECKING:
    from knickpoint.history import Git
    from knickpoint.model.commit import Repository

__all__ = ["rank_new_suspects"]


def rank_new_suspects(instance: Instance, *, everything: bool = False) -> int:
    """Rank the suspects of all live regressions that are new or changed, or of ``everything``; return how many.

    Raises:
        StoreError: the store cannot be read or written.
    """
    from knickpoint.watch.suspects.update import update_suspects

    def open_git(repository: Repository) -> Git | None:
        from knickpoint.ingest.commit_sources.git_repository import open_present_git

        settings = instance.repositories.get(repository.name)
        return open_present_git(repository.name, settings, instance.directory) if settings else None

    return update_suspects(instance.store, open_git, everything=everything)
