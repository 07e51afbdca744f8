"""Find what should have results and has none, by the settings of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knickpoint.instance.instance import Instance
from knickpoint.instance.notices import newer_commits
from knickpoint.model.commit import Repository

if TYPE_CHECKING:
    from knickpoint.watch.absence.missing_data import MissingData

__all__ = ["find_missing"]


def find_missing(instance: Instance, repository: Repository) -> MissingData:
    """Return what is missing in ``repository`` among the traces of ``[missing] query``.

    Reads the values that changed since it was asked last.

    Raises:
        StoreError: the store cannot be read.
    """
    from knickpoint.watch.absence.missing_data import find_missing_data

    newer = newer_commits(instance, repository)
    query = instance.config.missing.query
    return find_missing_data(instance.store, repository, query, newer=newer, known=instance.habits)
