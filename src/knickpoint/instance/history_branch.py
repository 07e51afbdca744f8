"""Keep an instance on a branch of the project's repository, for CI jobs that share no disk.

The branch has the configuration, which people may edit there, and a copy of the store. Jobs that add results at the
same time do not lose any: whose push comes second takes the branch as it is then, adds its results to that, and pushes
again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from knickpoint.history import FileBranch
from knickpoint.ingest import ImportSummary
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.instance.backup import STORE_COPY, restore_files
from knickpoint.instance.config import CONFIG_FILE
from knickpoint.instance.instance import Instance, create_instance, open_instance
from knickpoint.model.errors import ConfigError, ServiceError
from knickpoint.watch.alert_run.persistence import RunSummary

_MOST_ATTEMPTS: Final = 20
"""Each failed push means that another job succeeded, so that this many jobs may push at the same time."""

_LARGEST_MEGABYTES: Final = 95
"""GitHub accepts no file of 100 MiB or more."""

_README: Final = """\
The history of benchmark results that Knickpoint keeps for CI jobs.

`store.db` is written by `knick history add`; `knickpoint.toml` is the configuration, and may be edited here. The branch has
one commit, which each job replaces. To look at the history: `knick history pull`, then `knick serve`.
"""


@dataclass(frozen=True, slots=True)
class AddedResults:
    """What became of results: the import, the run of the alerts, the commit of the branch, the number of attempts.

    ``commit`` is "" and ``run`` None where a file was refused: then the branch is as it was.
    """

    imported: ImportSummary
    run: RunSummary | None
    commit: str
    attempts: int


def pull_instance(branch: FileBranch, directory: Path, *, repositories: Mapping[str, str]) -> str:
    """Make an instance in ``directory`` from the branch, and return the commit; "" where the branch does not exist yet.

    Then the instance is new, with ``repositories``: name → location.

    Raises:
        ConfigError: the directory is not empty, or the branch has no instance that can be used.
        HistoryError: the branch cannot be read.
        StoreError: the copy of the store is damaged, or of a newer version.
    """
    _check_absent(directory)
    tip = branch.tip()
    if not tip:
        create_instance(directory, repositories=repositories).close()
        return ""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".knick-pull-") as name:
        folder = Path(name)
        wanted = {each: folder / each for each in (CONFIG_FILE, STORE_COPY)}
        if branch.read(tip, wanted) != frozenset(wanted):
            raise ConfigError(
                f"the branch {branch.name} has no {CONFIG_FILE} or no {STORE_COPY}",
                where=branch.remote.url,
                remedy="Name the branch that knick history add writes, with --branch.",
            )
        restore_files(folder, directory, keep_tokens=True)
    return tip


def add_results(
    branch: FileBranch,
    directory: Path,
    import_into: Callable[[Instance], ImportSummary],
    *,
    repositories: Mapping[str, str],
) -> AddedResults:
    """Add results to the branch, run the alerts, and leave the instance in ``directory``.

    ``import_into`` imports the results into an instance. It is called again where another job pushed first.

    Raises:
        ConfigError: the directory is not empty, or the store is too large for a branch.
        HistoryError: the branch cannot be read or written.
        ServiceError: other jobs push all the time.
    """
    _check_absent(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        # Beside the directory, so that relative locations in the configuration mean the same.
        with tempfile.TemporaryDirectory(
            dir=directory.parent, prefix=".knick-add-", ignore_cleanup_errors=True
        ) as name:
            room = Path(name)
            tip = pull_instance(branch, room, repositories=repositories)
            with open_instance(room) as instance:
                imported = import_into(instance)
                if imported.failed:
                    return AddedResults(imported, None, "", attempt)
                run = run_alert_round(instance)
                instance.store.seal()
                made = _push(branch, tip, instance)
            if made:
                room.rename(directory)
                room.mkdir()  # what the end of the block removes
                return AddedResults(imported, run, made, attempt)
    raise ServiceError(
        f"{_MOST_ATTEMPTS} times, another job pushed to {branch.name} first",
        where=branch.remote.url,
        remedy="Run the job again, and let fewer jobs add results at the same time.",
    )


def _push(branch: FileBranch, tip: str, instance: Instance) -> str:
    with tempfile.TemporaryDirectory(prefix="knick-push-") as name:
        copy, readme = Path(name) / STORE_COPY, Path(name) / "README.md"
        instance.store.backup(copy)
        size = copy.stat().st_size >> 20
        if size >= _LARGEST_MEGABYTES:
            raise ConfigError(
                f"the store has {size:,} MB, and a branch takes less than {_LARGEST_MEGABYTES} MB",
                where=branch.name,
                remedy="Keep the history in a PostgreSQL database, or forget old values with [retention].",
            )
        readme.write_text(_README, encoding="utf-8")
        files = {CONFIG_FILE: instance.directory / CONFIG_FILE, STORE_COPY: copy, readme.name: readme}
        return branch.replace(tip, files, "Add results")


def _check_absent(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ConfigError(
            "the directory is not empty",
            where=str(directory),
            remedy="Remove it, or name another directory with --instance.",
        )
