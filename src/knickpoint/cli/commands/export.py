"""``knick export`` and ``publish``: write the points, one row each, or the dashboard with its data as files."""

from __future__ import annotations

import gzip
import json
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, no_trace_remedy, open_chosen_instance, require_results
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError, StoreError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knickpoint.model.commit import Repository
    from knickpoint.model.query import Query
    from knickpoint.store import Store


_MOST_NAMED: Final = 20
_UNSAFE: Final = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class _Points:
    """Which points to write: repositories (None for all), traces, line, and whether params have columns."""

    repositories: Sequence[Repository] | None
    query: Query
    line: str
    params: bool


def _param_names(store: Store, chosen: _Points) -> set[str]:
    """Return the names of the params of the traces to write."""
    repositories = store.commits.repositories() if chosen.repositories is None else chosen.repositories
    return {name for repository in repositories for name in store.traces.facets(repository, chosen.query)}


def _check_matches(store: Store, repositories: Sequence[Repository], query: Query, text: str) -> None:
    """Refuse a query that no trace matches. Raises ``InputError``."""
    if not any(len(store.traces.select(repository, query)) for repository in repositories):
        raise InputError(
            "no trace matches" if text else "there are no traces",
            where=f"query {text!r}" if text else ", ".join(repository.name for repository in repositories),
            remedy=no_trace_remedy(store, repositories, text),
        )


def _check_whole(store: Store, damage: Sequence[str]) -> None:
    """Name what the export lacks. Raises ``StoreError``."""
    if damage:
        raise StoreError(
            f"the export lacks what {counted(len(damage), 'damaged cell')} held: {'; '.join(damage[:_MOST_NAMED])}",
            where=store.location,
            remedy="knick doctor --deep lists all damage; restore the newest backup with knick restore.",
        )


def _write(store: Store, chosen: _Points, output: str, path: Path | None) -> int:
    from knickpoint.store import export

    batches = export.batches(store, chosen.repositories, line=chosen.line, query=chosen.query)
    layout = export.param_layout(_param_names(store, chosen)) if chosen.params else export.POINTS
    if output == "parquet":
        if path is None:
            raise InputError("Parquet is not text", where="--format parquet", remedy="Name a file with --output.")
        return export.write_parquet(batches, path, layout)
    write = export.write_json if output == "json" else export.write_csv
    points = export.table_rows(batches, layout)
    if path is None:
        return write(points, sys.stdout, layout.names)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            return write(points, file, layout.names)
    except OSError as error:
        raise StoreError(
            f"the file cannot be written: {error.strerror}", where=str(path), remedy="Choose another with --output."
        ) from error


def _write_profiles(store: Store, repositories: Sequence[Repository], directory: Path) -> int:
    """Write each profile with the sidecar that says what it belongs to, and return how many."""
    from knickpoint.ingest.sidecar import SIDECAR_SUFFIX
    from knickpoint.model.params import decode_key

    count = 0
    try:
        directory.mkdir(parents=True)
        for repository in repositories:
            profiles = store.profiles.all(repository)
            commits = store.commits.get(repository, sorted({each.slot for each in profiles}))
            hashes = {each.slot: each.commit.hash for each in commits}
            for each in profiles:
                count += 1
                path = directory / f"{_UNSAFE.sub('_', each.benchmark)[:80]}.{count}.knick.gz"
                path.write_bytes(gzip.compress(store.profiles.content(each.digest), mtime=0))
                params = (decode_key(each.params) if each.params else {}) | {"benchmark": each.benchmark}
                stated = {"commit": hashes[each.slot], "repository": repository.name, "params": params}
                path.with_name(f"{path.name}{SIDECAR_SUFFIX}").write_text(json.dumps(stated), encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"the profiles cannot be written: {error.strerror}", where=str(directory), remedy="Name a new directory."
        ) from error
    return count


@click.command("export")
@click.option(
    "--format",
    "output",
    type=click.Choice(["csv", "parquet", "json"]),
    default="csv",
    show_default=True,
    help="How to write the points.",
)
@click.option(
    "--output",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="The file. Default: standard output.",
)
@click.option("--query", "query_text", default="", help="Only traces that match, such as 'benchmark=parse os=linux'.")
@click.option("--repository", default="", metavar="NAME", help="Only this repository.")
@click.option("--line", default="", help="The line (branch). Default: the default line of each repository.")
@click.option(
    "--params",
    is_flag=True,
    help="One column for each param, with commit time and author, for data frames and spreadsheets.",
)
@click.option(
    "--profiles",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the profiles into this new directory in place of the points; knick import reads it.",
)
@instance_option
def export(
    *,
    profiles: Path | None,
    output: str,
    path: Path | None,
    query_text: str,
    repository: str,
    line: str,
    params: bool,
    instance: str | None,
) -> None:
    """Write the points, one row each: repository, line, trace key, unit, position, commit, value, direction, time.

    The time is that of the commit. Order and columns are stable, without ids or times of this instance: two instances
    with the same results write the same text. `knick detect` reads it. `knick import` makes the same points from it,
    one repository a file, without their runs and samples; `knick backup` keeps those. With --params the rows are for
    data frames and spreadsheets: a param that has the name of another column is called param_NAME there.
    """
    from knickpoint.model.query import parse_query

    if profiles is not None:
        with open_chosen_instance(instance) as opened:
            chosen = [opened.store.commits.repository(repository)] if repository else None
            count = _write_profiles(opened.store, chosen or opened.store.commits.repositories(), profiles)
        note(f"Wrote {counted(count, 'profile')} to {profiles}.")
        return
    with open_chosen_instance(instance) as opened:
        with opened.store.without_damage() as damage:
            require_results(opened)
            query = parse_query(query_text)
            repositories = [opened.store.commits.repository(repository)] if repository else None
            if not damage:  # else the traces may be what is lost, and the damage is named in the end
                _check_matches(opened.store, repositories or opened.store.commits.repositories(), query, query_text)
            count = _write(opened.store, _Points(repositories, query, line, params), output, path)
        _check_whole(opened.store, damage)
    if path is not None:
        note(f"Wrote {counted(count, 'point')} to {path}.")


@click.command("publish")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--repository", "names", multiple=True, metavar="NAME", help="A repository to publish; can be repeated.")
@click.option("--all", "everything", is_flag=True, help="Publish all repositories of the instance.")
@click.option("--badges/--no-badges", default=True, show_default=True, help="Write a badge for each trace.")
@click.option("--address", default="", metavar="URL", help="The address of the pages, from which chats load pictures.")
@instance_option
def publish(
    directory: Path, *, names: tuple[str, ...], everything: bool, badges: bool, address: str, instance: str | None
) -> None:
    """Write the dashboard into DIRECTORY, to be read without a server of Knickpoint.

    Any web server can serve the directory, in any place, such as GitHub Pages. Pages are a read-only copy of the
    instance. A second run replaces them; a directory with other files is refused.

    Everybody who can open the pages reads all values of the repositories. With several, choose by --repository or
    --all. Mail addresses, notes of decisions and assignees are left out.

    changes/R12.html is a page to share in a chat: it shows a sentence and a picture there, and leads to the change.
    """
    from knickpoint.publish import Chosen, publish

    with open_chosen_instance(instance) as opened:
        require_results(opened)
        known = [repository.name for repository in opened.store.commits.repositories()]
        chosen = Chosen(_choose(known, names, everything=everything), datetime.now(UTC), badges, _checked(address))
        done = publish(opened, directory, chosen)
    note(
        f"Wrote {directory}: {counted(done.traces, 'trace')}, {counted(done.commits, 'commit')}, "
        f"{counted(done.files, 'file')}, "
        f"{done.size / 1e6:.2f} MB ({done.compressed / 1e6:.2f} MB compressed)."
    )


def _checked(address: str) -> str:
    """Refuse an address that a chat could not load a picture from.

    Raises:
        InputError: it does not begin with http:// or https://.
    """
    if address and not address.startswith(("https://", "http://")):
        raise InputError(
            f"not a web address: {address!r}", where="--address", remedy="Write it as https://ada.github.io/engine."
        )
    return address


def _choose(known: list[str], names: tuple[str, ...], *, everything: bool) -> list[str]:
    """Return the names of the repositories to publish.

    Raises:
        InputError: there are several and none is chosen, or both options are given.
    """
    if everything and names:
        raise InputError("both are given", where="--all, --repository", remedy="Give one of them.")
    if names:
        return list(dict.fromkeys(names))
    if len(known) > 1 and not everything:
        raise InputError(
            f"there are {len(known)} repositories",
            where="--repository",
            remedy=f"Name those to publish ({', '.join(known)}), or use --all.",
        )
    return known
