"""Move in from another tool: find its history, create an instance, take all of it, and look for changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from knickpoint.formats.asv import PublishedGraph, read_site_index, restore_results
from knickpoint.history import Git, find_work_tree
from knickpoint.ingest import ImportState, ImportSummary
from knickpoint.ingest.commit_sources.git_repository import repository_around
from knickpoint.ingest.pipeline import ImportPipeline
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.instance.config import CONFIG_FILE
from knickpoint.instance.instance import Instance, create_instance, open_instance
from knickpoint.model.errors import FormatError, HistoryError, InputError, ServiceError
from knickpoint.model.plain_text import counted
from knickpoint.outgoing import OutgoingRule, fetch
from knickpoint.watch.alert_run.persistence import RunSummary

# What another tool left: its results files, wherever they stand.


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


# Find what another tool left on this machine: in a directory, a file, or on the branch ``gh-pages`` of a repository.


_CONFIGURATION: Final = "asv.conf.json"
_DATA: Final = "data.js"
_PAGES: Final = ("refs/heads/gh-pages", "refs/remotes/origin/gh-pages")
_ASSIGNED: Final = b"BENCHMARK_DATA"
_BEGINNING: Final = 200
_COMMENT_OR_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_THRESHOLDS: Final = ("regressions_thresholds", "changes_first_commits")
_NO_RESULTS: Final = {"benchmarks.json", "machine.json"}


def find_local_origin(path: Path) -> Origin:
    """Find the history of another tool at ``path``.

    Of a directory, the first that is there counts: asv's configuration (here or one level below), a published site of
    asv, asv's results, files ``data.js`` of github-action-benchmark, then the same on the branch ``gh-pages``.

    Raises:
        InputError: there is nothing of the kind.
        HistoryError: git cannot read the branch.
    """
    if not path.exists():
        raise InputError("there is no such file or directory", where=str(path), remedy="Correct the name.")
    found = _of_file(path) if path.is_file() else _of_asv(path) or _of_action(path) or _of_branch(path)
    if found is None:
        raise InputError(
            "no history of asv or github-action-benchmark is here",
            where=str(path),
            remedy="Name asv.conf.json, asv's results or html directory, or data.js, or the address of the published "
            "pages; knick import takes results files of all other tools.",
        )
    return found


def _of_file(path: Path) -> Origin | None:
    if path.name == _CONFIGURATION:
        return _of_configuration(path)
    if path.name == "index.json":
        return _of_site(path.parent)
    with path.open("rb") as file:
        return _action_origin([path], str(path)) if _ASSIGNED in file.read(_BEGINNING) else None


def _of_asv(directory: Path) -> Origin | None:
    for configuration in (directory / _CONFIGURATION, *sorted(directory.glob(f"*/{_CONFIGURATION}"))):
        if configuration.is_file():
            found = _of_configuration(configuration)
            if found is not None:
                return found
    return _of_site(directory) or _of_results(directory) or _of_results(directory / ".asv" / "results")


def _of_configuration(path: Path) -> Origin | None:
    settings = _settings(path)
    results = path.parent / str(settings.get("results_dir") or "results")
    left = [
        f"{name} of {_CONFIGURATION}: alerts have their own thresholds, minimum_effect among them"
        for name in _THRESHOLDS
        if settings.get(name)
    ]
    repository = path.parent / str(settings.get("repo") or ".")
    work_tree = find_work_tree(repository) if repository.is_dir() else None
    found = _of_results(results) or _of_site(path.parent / str(settings.get("html_dir") or "html"))
    if found is None:
        return None
    return Origin(
        found.tool, found.place, found.files, str(settings.get("project") or ""), work_tree, [*found.left, *left]
    )


def _settings(path: Path) -> dict[str, object]:
    """Return asv's configuration, which may have comments, and commas before closing brackets."""
    try:
        text = _COMMENT_OR_TEXT.sub(
            lambda found: found[0] if found[0].startswith('"') else " ", path.read_text(encoding="utf-8")
        )
        settings = json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the configuration of asv cannot be read: {error}", where=str(path), remedy="Correct it, as asv needs it."
        ) from error
    if not isinstance(settings, dict):
        raise InputError("the configuration of asv is not an object", where=str(path), remedy="Correct it.")
    return settings


def _of_site(directory: Path) -> Origin | None:
    if not (directory / "index.json").is_file() or not (directory / "graphs").is_dir():
        return None

    def read(name: str) -> bytes | None:
        path = directory / name
        return path.read_bytes() if path.is_file() else None

    return site_origin(str(directory.absolute()), read)


def _of_results(directory: Path) -> Origin | None:
    paths = sorted(path for path in directory.glob("*/*.json") if path.name not in _NO_RESULTS)
    if not paths or not any((path.parent / "machine.json").is_file() for path in paths):
        return None

    def files() -> Iterator[OriginFile]:
        described = directory / "benchmarks.json"
        companions = {described.name: described.read_bytes()} if described.is_file() else {}
        for path in paths:
            yield OriginFile(str(path.absolute()), path.read_bytes(), companions)

    left = (
        [] if (directory / "benchmarks.json").is_file() else ["names of params and units: there is no benchmarks.json"]
    )
    return Origin(ASV, str(directory), files, left=left)


def _of_action(directory: Path) -> Origin | None:
    paths = [
        path
        for path in sorted(directory.rglob(_DATA))
        if path.is_file()
        and not any(part.startswith(".") or part == "node_modules" for part in path.relative_to(directory).parts)
    ]
    histories = []
    for path in paths:
        with path.open("rb") as file:
            if _ASSIGNED in file.read(_BEGINNING):
                histories.append(path)
    return _action_origin(histories, str(directory)) if histories else None


def _action_origin(paths: list[Path], place: str) -> Origin:
    def files() -> Iterator[OriginFile]:
        for path in paths:
            yield OriginFile(str(path.absolute()), path.read_bytes())

    return Origin(ACTION, place, files)


def _of_branch(directory: Path) -> Origin | None:
    work_tree = find_work_tree(directory)
    if work_tree is None:
        return None
    git = Git(work_tree)
    branch = next((name for name in _PAGES if _has(git, name)), "")
    if not branch:
        return None
    blobs = _blobs(git, branch)
    place = f"{work_tree}, branch {branch.rpartition('/')[2]}"

    def read(name: str) -> bytes | None:
        return git.run("cat-file", "blob", blobs[name]) if name in blobs else None

    indexes = [name for name in blobs if name.rpartition("/")[2] == "index.json"]
    for index in indexes:
        top = index.removesuffix("index.json")
        if any(name.startswith(f"{top}graphs/") for name in blobs):
            return site_origin(f"{place}:{top}", lambda name, top=top: read(top + name), work_tree=work_tree)  # type: ignore[misc]
    names = [
        name for name in blobs if name.rpartition("/")[2] == _DATA and _ASSIGNED in (read(name) or b"")[:_BEGINNING]
    ]

    def files() -> Iterator[OriginFile]:
        for name in names:
            yield OriginFile(f"{place}:{name}", read(name) or b"")

    return Origin(ACTION, place, files, work_tree=work_tree) if names else None


def _has(git: Git, reference: str) -> bool:
    try:
        git.run("rev-parse", "--verify", "--quiet", reference)
    except HistoryError:
        return False
    return True


def _blobs(git: Git, branch: str) -> dict[str, str]:
    """Return path → id of the files of ``branch``."""
    found = {}
    for entry in git.run("ls-tree", "-r", "-z", "--full-tree", branch).split(b"\x00"):
        facts, tab, name = entry.partition(b"\t")
        mode, _, rest = facts.partition(b" ")
        if tab and mode.startswith(b"100"):
            found[name.decode(errors="surrogateescape")] = rest.split()[1].decode()
    return found


# Fetch what another tool published: ``data.js`` of github-action-benchmark, or a site of asv.


_OK: Final = 200
_ABSENT: Final = frozenset({404, 410})
_SECONDS: Final = 120.0
_AT_ONCE: Final = 8
_HISTORIES: Final = ("data.js", "dev/bench/data.js")
"""Where the action publishes: at the address, or in its default directory below it."""


def find_published_origin(
    address: str, rule: OutgoingRule, megabytes: int, progress: Callable[[int, int], None] | None = None
) -> Origin:
    """Find a published history at ``address``: a file ``data.js`` or ``index.json``, or the page that shows it.

    Args:
        address: the address, whose host may be contacted because a person named it.
        rule: which other hosts redirects may lead to.
        megabytes: the largest file that is fetched.
        progress: is called with the number of graphs that are fetched, and the number of all.

    Raises:
        InputError: there is nothing of the kind.
        ServiceError: the host does not answer as it should.
    """
    also = rule.also(address)

    def read(url: str) -> bytes | None:
        answer = fetch(url, also, largest=megabytes * 1_000_000, seconds=_SECONDS)
        if answer.status in _ABSENT:
            return None
        if answer.status != _OK:
            raise ServiceError(
                f"it answers {answer.status}", where=url, remedy="Check the address, and who may read it."
            )
        return answer.body

    parts = urlsplit(address)
    plain = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    if plain.endswith(".js"):
        return _published_action_origin(plain, read)
    top = plain.removesuffix("index.json").removesuffix("index.html").rstrip("/") + "/"
    if not plain.endswith("index.json"):
        for name in _HISTORIES:
            if (data := read(top + name)) is not None:
                return _published_action_origin(top + name, lambda _, data=data: data)  # type: ignore[misc]
    index = read(f"{top}index.json")
    if index is None:
        raise InputError(
            "no history of asv or github-action-benchmark is published here",
            where=address,
            remedy="Name the page with the plots; it is beside data.js, or index.json of asv.",
        )

    def read_all(paths: list[str]) -> Iterator[bytes | None]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(lambda path: read(top + quote(path)), paths)

    return site_origin(
        top,
        lambda name: index if name == "index.json" else read(top + quote(name)),
        read_all=read_all,
        progress=progress,
    )


def _published_action_origin(url: str, read: Callable[[str], bytes | None]) -> Origin:
    data = read(url)
    if data is None:
        raise InputError("there is no such file", where=url, remedy="Correct the address.")
    return Origin(ACTION, url, lambda: iter((OriginFile(url, data),)))


_LARGEST_MEGABYTES: Final = 512
_MOST_REASONS: Final = 5

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MoveInSummary:
    """What came in from another tool.

    Attributes:
        tool: the other tool.
        place: where its history was found.
        directory: the directory of the instance.
        created: whether the instance is new.
        files: how many files had results.
        commits: commits with points in the instance.
        traces: traces in the instance.
        points: points that were written.
        findings: changes in the history that this move found.
        failed: results without a value, because the benchmark failed or was skipped.
        incomplete: whether a file was refused, or waits for a commit that the git repository does not have.
        left: what did not come in, and why, one line each.
        remarks: lines about the import as a whole.
    """

    tool: str
    place: str
    directory: Path
    created: bool
    files: int
    commits: int
    traces: int
    points: int
    findings: int
    failed: int
    incomplete: bool
    left: tuple[str, ...]
    remarks: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the summary for people."""
        made = "Made" if self.created else "Used"
        lines = [
            f"Found the history of {self.tool} in {self.place}: {counted(self.files, 'results file')}.",
            (
                f"{made} the instance in {self.directory}: {counted(self.traces, 'trace')} over"
                f" {counted(self.commits, 'commit')}."
            ),
        ]
        if self.points:
            lines.append(
                f"{counted(self.points, 'point')} came in; {counted(self.findings, 'change')} found in the history."
            )
        elif self.incomplete or not self.traces:
            lines.append("No point came in." if self.incomplete else "No point came in: the history is empty.")
        else:
            lines.append("Nothing new: everything is already imported.")
        if self.failed:
            lines.append(f"{counted(self.failed, 'result')} had no value: the benchmark failed or was skipped.")
        lines += [f"Not taken: {line.removesuffix('.')}." for line in self.left]
        return lines + [f"{line.removesuffix('.')}." for line in self.remarks]


def move_in(source: str, directory: Path, *, with_git: bool = True, progress: Progress | None = None) -> MoveInSummary:
    """Take the history at ``source`` into the instance in ``directory``, which is created where there is none.

    Where the measured git repository is on this machine, and whole, it gives the order of the commits; elsewhere their
    times do, as the other tool kept them. A second move changes nothing, and takes what came in between.

    Args:
        source: a directory, a file, or an ``http(s)://`` address.
        directory: the directory of the instance.
        with_git: whether to take commits from the git repository of ``source``.
        progress: is called with (done, total) while a published site is fetched.

    Raises:
        InputError: there is no history of a known tool.
        FormatError: the index of a published site cannot be read.
        ServiceError: the host of ``source`` does not answer.
        ConfigError, StoreError, HistoryError: the instance, its store or the repository cannot be used.
    """
    if source.startswith(("http://", "https://")):
        origin = find_published_origin(source, OutgoingRule(), _LARGEST_MEGABYTES, progress)
    else:
        origin = find_local_origin(Path(source).expanduser())
    created = not (directory / CONFIG_FILE).is_file()
    with _create(origin, directory, with_git=with_git) if created else open_instance(directory) as instance:
        summary = _import(instance, origin)
        found = run_alert_round(instance) if summary.points else RunSummary()
        instance.store.seal()
        store = instance.store
        repositories = store.commits.repositories()
        return MoveInSummary(
            origin.tool,
            origin.place,
            instance.directory,
            created,
            len(summary.files),
            sum(len(store.runs.slots(repository)) for repository in repositories),
            sum(store.traces.count(repository) for repository in repositories),
            summary.points,
            len(found.new_changes) + found.history_changes,
            sum(file.failed + file.skipped for file in summary.files),
            summary.failed,
            (*origin.left, *_refusals(summary)),
            summary.remarks,
        )


def _create(origin: Origin, directory: Path, *, with_git: bool) -> Instance:
    """Create an instance that takes its commits from git where the whole repository is here."""
    repositories: dict[str, str] = {}
    if with_git and origin.work_tree is not None:
        if Git(origin.work_tree).shallow:
            origin.left.append("the order of commits in git: the clone is shallow, so their times order them")
        else:
            repositories = repository_around(origin.work_tree, directory)
    if not repositories and origin.project:
        repositories = {origin.project: ""}
    return create_instance(directory, repositories=repositories)


def _import(instance: Instance, origin: Origin) -> ImportSummary:
    pipeline = ImportPipeline(instance, allow_empty=True)
    summaries = [
        pipeline.import_file(ResultsFile(file.source, file.data, companions=file.companions)) for file in origin.files()
    ]
    pipeline.finish()
    return ImportSummary.of(summaries, pipeline.commit_sources.notes())


def _refusals(summary: ImportSummary) -> list[str]:
    """Return the reasons for which files, or runs of files, were refused; the first ones of many."""
    reasons = [
        line
        for file in summary.files
        if file.state not in {ImportState.IMPORTED, ImportState.UNCHANGED} or file.waiting
        for line in file.lines()
    ]
    more = len(reasons) - _MOST_REASONS
    return reasons[:_MOST_REASONS] + ([f"{more:,} more; knick ingest lists them"] if more > 0 else [])
