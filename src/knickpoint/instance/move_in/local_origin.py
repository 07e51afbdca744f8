"""Find what another tool left on this machine: in a directory, a file, or on the branch ``gh-pages`` of a repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from knickpoint.history import Git, find_work_tree
from knickpoint.instance.move_in.origin import ACTION, ASV, Origin, OriginFile, site_origin
from knickpoint.model.errors import HistoryError, InputError

__all__ = ["find_local_origin"]

_CONFIGURATION: Final = "asv.conf.json"
_DATA: Final = "data.js"
_PAGES: Final = ("refs/heads/gh-pages", "refs/remotes/origin/gh-pages")
_ASSIGNED: Final = b"BENCHMARK_DATA"
_BEGINNING: Final = 200
_COMMENT_OR_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_THRESHOLDS: Final = ("regressions_thresholds", "changes_first_commits")
_NO_RESULTS: Final = {"benchmarks.json", "machine.json"}


def find_local_origin(path: Path) -> Origin:
    """Return what another tool left at ``path``.

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
            remedy="Name asv.conf.json, asv's results or html directory, or data.js, or the address of the published pages;"
            " knick import takes results files of all other tools.",
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
        raise InputError("the configuration of asv is no object", where=str(path), remedy="Correct it.")
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
