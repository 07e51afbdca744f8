"""The name of the git repository around a new instance in its configuration, and the way there."""

from __future__ import annotations

import os
from pathlib import Path

from knickpoint.history import Git, find_work_tree, is_url, remote_address
from knickpoint.ingest.commit_sources.git_repository import repository_name


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
