"""Keep the tags of a git repository in the store, each with its place on the default line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knickpoint.history import Git
from knickpoint.model.commit import Line, Repository
from knickpoint.store.commits.releases import Release

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["update_releases"]


def update_releases(store: Store, repository: Repository, git: Git, line: Line) -> None:
    """Bring the tags of ``repository`` in the store up to date with ``git``; ``line`` is its default line.

    Tags that are as they were are not looked up again, so long as the line has their commit.

    Raises:
        HistoryError: the repository cannot be read.
    """
    tags, known = git.tags(), store.releases.all(repository)
    kept = {
        name: known[name]
        for name, tagged in tags.items()
        if name in known and known[name].hash == tagged and (known[name].slot < 0 or known[name].slot in line.positions)
    }
    if len(kept) == len(tags) == len(known):
        return
    # Most tags name commits of the line.
    unknown = {name: tagged for name, tagged in tags.items() if name not in kept}
    commits = git.commits(unknown.values())
    hashes = {each.commit.hash: each.slot for each in store.commits.get(repository, line.slots)} if unknown else {}
    found = dict(kept)
    for name, tagged in unknown.items():
        if tagged in commits:
            slot = hashes.get(tagged)
            slot = _fork(git, tagged, hashes) if slot is None else slot
            # A shallow clone may know more about this tag later.
            if slot >= 0 or not git.shallow:
                found[name] = Release(tagged, slot)
    if found != known:
        store.releases.replace(repository, found)


def _fork(git: Git, tagged: str, hashes: dict[str, int]) -> int:
    """Return the slot at which the first parents of the commit ``tagged`` left the line with ``hashes``, -1 for nowhere."""
    chain = git.run("rev-list", "--first-parent", "--end-of-options", tagged).decode().split()
    return next((hashes[commit] for commit in chain if commit in hashes), -1)
