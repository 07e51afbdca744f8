"""What another tool left: its results files, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from knickpoint.formats.asv_site import PublishedGraph, read_site_index, restore_results
from knickpoint.model.errors import FormatError

__all__ = ["ACTION", "ASV", "Origin", "OriginFile", "Read", "site_origin"]

ACTION: Final = "github-action-benchmark"
ASV: Final = "airspeed velocity"

Read = Callable[[str], bytes | None]
"""Return the content of a file by its path below the origin, None where there is none."""

_SITE_LACKS: Final = (
    "a site of asv has neither samples nor results of earlier versions of a benchmark; the results directory has both"
)


@dataclass(frozen=True, slots=True)
class OriginFile:
    """A results file of the other tool: the path or URL that names it, its bytes, and what stands beside it."""

    source: str
    data: bytes
    companions: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Origin:
    """The history that another tool kept.

    Attributes:
        tool: the name of the tool.
        place: where its files were found, for people.
        files: yields the files; reading them may take a while.
        project: the name of the project, "" where results state it.
        work_tree: the git repository whose commits were measured, None where none is known.
        left: what the move leaves out, one line each.
    """

    tool: str
    place: str
    files: Callable[[], Iterator[OriginFile]]
    project: str = ""
    work_tree: Path | None = None
    left: list[str] = field(default_factory=list)


def site_origin(
    place: str,
    read: Read,
    *,
    work_tree: Path | None = None,
    read_all: Callable[[list[str]], Iterator[bytes | None]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Origin:
    """Return the origin of a published site of asv at ``place``.

    ``read_all`` reads many files in their order where that is quicker than one after the other.

    Raises:
        FormatError: its index is none of asv.
    """
    data = read("index.json")
    if data is None:
        raise FormatError("there is no index.json", where=place, remedy="Name the directory or address of the site.")
    site = read_site_index(data, name=f"{place.rstrip('/')}/index.json")
    left = [_SITE_LACKS]
    origin = Origin(ASV, place, lambda: iter(()), site.project, work_tree, left)

    def graphs() -> Iterator[tuple[PublishedGraph, bytes]]:
        missing = 0
        paths = [graph.path for graph in site.graphs]
        contents = read_all(paths) if read_all is not None else map(read, paths)
        for done, (graph, content) in enumerate(zip(site.graphs, contents, strict=True), 1):
            if progress is not None:
                progress(done, len(site.graphs))
            if content is None:
                missing += 1
            else:
                yield graph, content
        if missing:
            left.append(f"{missing:,} of {len(site.graphs):,} combinations of benchmark and environment have no graph")

    def files() -> Iterator[OriginFile]:
        companions = site.companions
        for restored in restore_results(site, graphs()):
            yield OriginFile(f"{place.rstrip('/')}/{restored.name}", restored.data, companions)

    return Origin(origin.tool, place, files, site.project, work_tree, left)
