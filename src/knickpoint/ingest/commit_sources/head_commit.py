"""Take HEAD of a work tree as the commit of results that name none, where nothing speaks against it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from knickpoint.history import Checkout
from knickpoint.ingest.commit_sources.protocol import MOST_AHEAD
from knickpoint.model.errors import InputError
from knickpoint.model.report import RunReport

__all__ = ["head_commit"]

_ZONES: Final = timedelta(hours=12)
"""A local time that is written without its zone, and read as UTC, may be too early by this much."""

_UNKNOWN: Final = "the results do not say which commit they belong to"


def head_commit(run: RunReport, checkout: Checkout | None, source: str, written: datetime | None) -> str:
    """Return HEAD as the commit of results that name none.

    The tracked files must be those of HEAD, and the results newer than it, and no newer than their file: by the time of the run
    where the file has one, else by the time when the file was ``written``, None for a file that comes from elsewhere.

    Raises:
        InputError: the results cannot be those of HEAD; the message says why.
    """
    entry = f" (entry {run.entry})" if run.entry else ""
    if checkout is None or written is None:
        raise InputError(
            _UNKNOWN + entry,
            remedy="Name it with --commit, or in a sidecar; in a CI it is read from the usual variables.",
        )
    reasons = list(_doubts(run, checkout, Path(source), written))
    if reasons:
        raise InputError(
            f"{_UNKNOWN}{entry}, and it cannot be HEAD ({checkout.commit[:12]}): {'; '.join(reasons)}",
            remedy="Name it with --commit (--commit HEAD takes HEAD all the same), or measure again.",
        )
    return checkout.commit


def _doubts(run: RunReport, checkout: Checkout, source: Path, written: datetime) -> Iterator[str]:
    """Yield the reasons why results are not those of HEAD."""
    # The work tree differs from HEAD, now or when the benchmark ran.
    changed = [path for path in checkout.changed if path != source]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the work tree has changes ({changed[0].relative_to(checkout.directory)}{more})"
    if run.environment.get("commit.dirty") == "true":
        yield "the results say that the work tree had changes"
    # The results lie in another work tree.
    elsewhere = _other_tree(source, checkout.directory)
    if elsewhere is not None:
        yield f"the work tree {elsewhere} is another one"
    # The results are older than the commit.
    made = run.time or written
    latest = made + _ZONES if run.time is not None and written >= checkout.time else made
    if latest < checkout.time:
        what = "the run" if run.time is not None else "the file"
        yield f"{what} is older than HEAD ({_moment(made)}, HEAD {_moment(checkout.time)})"
    # The time of the run is no time of a run that has been.
    if run.time is not None and run.time - MOST_AHEAD > written:
        yield f"the run is later than its file ({_moment(run.time)}, file {_moment(written)})"


def _other_tree(source: Path, top: Path) -> Path | None:
    """Return the work tree around the results, else around the current directory, where that is not ``top``."""
    for directory in (source.parent, Path.cwd()):
        found = next((parent for parent in (directory, *directory.parents) if (parent / ".git").exists()), None)
        if found is not None:
            return None if found.resolve() == top.resolve() else found
    return None


def _moment(time: datetime) -> str:
    return time.isoformat(sep=" ", timespec="seconds")
