"""Differential flame graphs: of a change, of two commits, and of what a bisection found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from knickpoint.answers.base import Answer
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.alert_round import git_source
from knickpoint.model.commit import Repository
from knickpoint.model.errors import HistoryError, StoreError
from knickpoint.store import Store
from knickpoint.watch.causes import compare, profiles_of_commits, read_pair

if TYPE_CHECKING:
    from knickpoint.history import SourceFiles
    from knickpoint.profiles import Difference, Profile

Sides = tuple[Sequence[str], Sequence[str]]
"""Digests of the profiles before and after."""


class FlameGraphAnswer(Answer):
    """The stacks before and after a change in one tree, and the functions in them; costs are means of the profiles."""

    sentence: str
    benchmark: str
    unit: str
    divisor: float = Field(description="Costs over it are in the unit.")
    whole: float = Field(description="The larger of the whole costs before and after.")
    note: str = Field(description="What was left out, empty if nothing was.")
    functions: list[list[str | float]] = Field(
        description="Name, place, former name, own cost before and after, cost with calls before and after, what it "
        "explains of the difference, at least, at most, what it is, and the partner that cost moved from or to."
    )
    pages: list[str] = Field(
        description="The page of each function's line at the forge, in the later commit that has it; empty where none "
        "is known."
    )
    parents: list[int] = Field(description="Stacks, callers before callees: the place of the caller, -1 for none.")
    frames: list[int] = Field(description="The function of each stack.")
    before: list[float] = Field(description="Cost before of each stack, with all that it calls.")
    after: list[float]


def read_flame_graph(
    visible: VisibleRepositories, instance: Instance, key: int, benchmark: str = ""
) -> FlameGraphAnswer:
    """Read the flame graph of a change, of the benchmark that its sentence is about or of another one.

    Raises:
        FormatError: a profile is damaged.
        NotSignedInError: the caller may read the change, but not its profiles.
        UnknownError: the caller can see no such change, or its profiles of the benchmark were deleted.
    """
    repository = visible.of_change(key)
    visible.require_profiles()
    store, where = visible.store, f"R{key}"
    cause = store.profiles.causes([key]).get(key)
    about = (
        next((each for each in cause.body.get("benchmarks", ()) if benchmark in {"", each["benchmark"]}), None)
        if cause
        else None
    )
    found_points = store.findings.points([about["point"]] if about else [])
    point = next((each for each in found_points if each.change_id == key), None)
    if about is None or point is None:
        raise _without_profiles(benchmark, "before and after the change", where)
    before, after = _read(store, (about["before"], about["after"]), where)
    place = point.suspect_range
    source = _source(instance, repository, (place.previous, place.slot))
    return _answer(about["benchmark"], compare(before, after, point), (before, after), source)


def read_flame_graph_of_commits(
    visible: VisibleRepositories, instance: Instance, repository: Repository, slots: tuple[int, int], benchmark: str
) -> FlameGraphAnswer:
    """Read the flame graph of two commits of a repository that the caller may read, of the first benchmark by default.

    Raises:
        FormatError: a profile is damaged.
        NotSignedInError: the caller may not read profiles.
        UnknownError: there are no profiles of the benchmark at both commits.
    """
    from knickpoint.profiles import difference

    visible.require_profiles()
    found = profiles_of_commits(visible.store.profiles.at(repository, slots), *slots)
    name = benchmark or next(iter(found), "")
    if name not in found:
        raise _without_profiles(benchmark, "at both commits", repository.name)
    before, after = found[name]
    sides = _read(visible.store, ([each.digest for each in before], [each.digest for each in after]), repository.name)
    return _answer(name, difference(*sides), sides, _source(instance, repository, slots))


def profiled_benchmarks(visible: VisibleRepositories, repository: Repository, slots: tuple[int, int]) -> list[str]:
    """List the benchmarks with profiles at both of two commits; none for callers who may not read profiles."""
    if not visible.reads_profiles or not visible.store.profiles.any(repository):
        return []
    return list(profiles_of_commits(visible.store.profiles.at(repository, slots), *slots))


def _without_profiles(benchmark: str, sides: str, where: str) -> UnknownError:
    named = f" of {benchmark!r}" if benchmark else ""
    return UnknownError(f"there are no profiles{named} {sides}", where=where, remedy="Import some of both.")


def _read(store: Store, sides: Sides, where: str) -> tuple[list[Profile], list[Profile]]:
    try:
        return read_pair(store, sides)
    except StoreError as error:
        raise UnknownError(error.message, where=where, remedy=error.remedy) from error


def _answer(
    benchmark: str,
    found: Difference,
    sides: tuple[list[Profile], list[Profile]],
    source: _Source,
) -> FlameGraphAnswer:
    from knickpoint.profiles import is_library_file
    from knickpoint.profiles.flame_page import flame_data

    shown = found.with_files(source.files.path)

    def page(file: str, line: int, side: int) -> str:
        return source.pages[side](file, line) if side in source.pages and not is_library_file(file) else ""

    return FlameGraphAnswer(
        sentence=shown.sentence,
        benchmark=benchmark,
        pages=[page(each.file, each.line, int(each.total.after > 0)) for each in found.functions],
        **flame_data(shown, *sides),
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """The files of the later commit, and the pages of lines in both; sides without pages, or unknown to git, lack."""

    files: SourceFiles
    pages: Mapping[int, Callable[[str, int], str]]


def _source(instance: Instance, repository: Repository, slots: tuple[int, int]) -> _Source:
    from knickpoint.history import SourceFiles, SourcePages

    known = {each.slot: each.commit for each in instance.store.commits.get(repository, slots)}
    files, pages = SourceFiles(()), dict[int, Callable[[str, int], str]]()
    with suppress(HistoryError):
        git = git_source(instance)(repository)
        for side, slot in enumerate(slots):
            if git is not None and slot in known:
                files = SourceFiles.read(git, known[slot].hash)
                pages[side] = SourcePages(known[slot], files).page
    return _Source(files, pages)
