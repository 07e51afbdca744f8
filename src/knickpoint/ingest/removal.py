"""Remove the runs of a wrong import from the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Repository
from knickpoint.model.plain_text import counted
from knickpoint.store import Run, Store
from knickpoint.store.profiles import StoredProfile

_NAMED = 5
"""Files that the audit log names for one removal."""


def remove_runs(store: Store, repository: Repository, runs: Sequence[Run], *, who: str) -> None:
    """Take ``runs`` and their values out of ``store``, all or none; the audit log names ``who`` and their files.

    Commits and traces stay. The alerts judge the traces again, and what no other run shows is gone. A folder or a
    bucket that still has a file does not import it again; a person who names it does.

    Raises:
        StoreError: one of the runs is not there any more, or the store cannot be written.
    """
    of_source = Counter(run.source for run in runs)
    files = ", ".join(sorted(of_source)[:_NAMED]) + (
        f" and {len(of_source) - _NAMED} more" if len(of_source) > _NAMED else ""
    )
    with store.transaction():
        store.runs.remove(repository, [run.id for run in runs])
        for source, number in of_source.items():
            store.ledger.mark_removed(source, f"{counted(number, 'run')} removed by {who}")
        about = f"{counted(len(runs), 'run')} of {repository.name}, from {files}"
        store.audit.append(AuditKind.RUNS_REMOVED, who, about)


def remove_profiles(store: Store, profiles: Sequence[tuple[Repository, StoredProfile]], *, who: str) -> None:
    """Take ``profiles`` out of ``store``, all or none; the audit log names ``who`` and their files."""
    for repository in {repository.id: repository for repository, _ in profiles}.values():
        several = [profile for owner, profile in profiles if owner.id == repository.id]
        files = sorted({profile.source for profile in several})
        with store.transaction():
            store.profiles.remove(profile.id for profile in several)
            store.profiles.forget_causes({profile.digest for profile in several})
            for source in files:
                store.ledger.mark_removed(source, f"its profile was removed by {who}")
            named = ", ".join(files[:_NAMED]) + (f" and {len(files) - _NAMED} more" if len(files) > _NAMED else "")
            about = f"{counted(len(several), 'profile')} of {repository.name}, from {named}"
            store.audit.append(AuditKind.RUNS_REMOVED, who, about)
