"""Find the commit that was measured: what a name given beside results stands for, and when HEAD stands in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.history import Checkout, is_head
from knickpoint.ingest.commit_sources.git import GitCommits
from knickpoint.model.errors import InputError
from knickpoint.model.report import RunReport
from knickpoint.model.revision import is_hash_or_number, is_placeholder

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["PLAIN_NAME", "head_commit", "is_fixed_name", "named_by_results", "named_in_git"]

PLAIN_NAME: Final = "name:"
"""Stands before what is a commit's name as it is, where no git repository could look it up."""

_ZONES: Final = timedelta(hours=12)
"""By so much a local time that was written without its zone, and read as UTC, may be too early."""

_UNKNOWN: Final = "the results do not say which commit they belong to"


def is_fixed_name(text: str) -> bool:
    """Tell whether ``text`` means the same commit at any time, or nothing; other names are looked up first."""
    return not text or is_hash_or_number(text)


def named_in_git(text: str, book: GitCommits, *, references: bool) -> str:
    """Return the commit that ``text``, given beside results, names in the repository of ``book``.

    Hashes and numbers that it does not have yet are returned as they are. With ``references``, names of branches
    and tags are looked up as well.

    Raises:
        InputError: it names no commit.
        HistoryError: a prefix or a number fits several commits.
    """
    where = f"commit {text!r}"
    if text.startswith(PLAIN_NAME):
        raise InputError(
            f"{text!r} is no commit of a git repository", where=where, remedy="Name the commit by its hash."
        )
    likely = is_hash_or_number(text)
    if likely and book.locate([text]):
        return text
    found = book.resolve(text) if references and not (is_placeholder(text) and not is_head(text)) else ""
    if found or likely:
        return found or text
    if not references:
        raise InputError(
            f"{text!r} is no hash, and what a branch or a tag stands for may have changed since the results were made",
            where=where,
            remedy="Name the commit by its hash.",
        )
    if is_head(text) and book.checkout is None:
        raise InputError(
            f"nothing is checked out in the repository {book.repository.name}, so it has no {text}",
            where=where,
            remedy="Name the commit by its hash, or its branch.",
        )
    raise InputError(
        f"the repository {book.repository.name} has no commit, branch or tag {text!r}",
        where=where,
        remedy="Correct it, or name the commit by its hash.",
    )


def named_by_results(text: str, store: Store, repository: str) -> str:
    """Return the commit that ``text``, given beside results, names where there is no git to ask.

    That is a hash, a number, a name that the repository has already, and what follows ``name:``.

    Raises:
        InputError: it is a placeholder, or may be a branch or a tag.
    """
    plain = text.removeprefix(PLAIN_NAME).strip()
    if plain != text and not is_placeholder(plain):
        return plain
    if is_hash_or_number(text):
        return text
    known = {stored.name: stored for stored in store.commits.repositories()}.get(repository)
    if known is not None and not is_placeholder(text):
        found = store.commits.find(known, text)
        if found is not None and found.commit.hash == text:
            return text
    raise InputError(
        f"{text!r} names no commit without a git repository that could look it up",
        where=f"commit {text!r}",
        remedy="Give the commit's hash or number, or name the git repository in knickpoint.toml"
        + ("." if is_placeholder(plain) else f"; write {PLAIN_NAME}{plain} if commits are called so here."),
    )


def head_commit(run: RunReport, checkout: Checkout | None, source: str, written: datetime | None) -> str:
    """Return HEAD as the commit of results that name none.

    The tracked files must be those of HEAD, and the results newer than it: by the time of the run where the file has
    it, else by when the file was ``written``, None where it came from somewhere else.

    Raises:
        InputError: HEAD cannot be what was measured; the message says why.
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
    changed = [path for path in checkout.changed if path != source]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the work tree has changes ({changed[0].relative_to(checkout.directory)}{more})"
    if run.environment.get("commit.dirty") == "true":
        yield "the results say that the work tree had changes"
    elsewhere = _other_tree(source, checkout.directory)
    if elsewhere is not None:
        yield f"the work tree {elsewhere} is another one"
    made = run.time or written
    late = made + _ZONES if run.time is not None and written >= checkout.time else made
    if late < checkout.time:
        what = "the run" if run.time is not None else "the file"
        yield f"{what} is older than HEAD ({_moment(made)}, HEAD {_moment(checkout.time)})"


def _other_tree(source: Path, top: Path) -> Path | None:
    """Return the work tree around the results, else around the current directory, where that is not ``top``."""
    for place in (source.parent, Path.cwd()):
        found = next((parent for parent in (place, *place.parents) if (parent / ".git").exists()), None)
        if found is not None:
            return None if found.resolve() == top.resolve() else found
    return None


def _moment(time: datetime) -> str:
    return time.isoformat(sep=" ", timespec="seconds")
