"""Two real repositories, the second one checked out inside the first.

The change is in the one, the other, both, or neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.instance.schedule_world import InlinePool
from tests.repositories import GitRepository

from knickpoint.bisect.coordinator import Bisection, FileJournal, OtherRange, TwoRepositoriesAnswer, coordinate_two
from knickpoint.bisect.search.attribution import Attribution
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import BisectionState

_CHECK = """\
import json, pathlib, sys
app, engine = (float(pathlib.Path(name).read_text()) for name in ("level", "engine/level"))
value = {rule}
pathlib.Path("out.json").write_text(json.dumps([{{"name": "start", "unit": "ms", "value": value}}]))
sys.exit(value > 10.5)
"""
_COMMITS = 5
_CULPRIT = 3


@dataclass
class World:
    """An app on an engine; in both, the level rises with the same commit.

    ``rule`` says what of it the benchmark sees.
    """

    app: GitRepository
    engine: GitRepository
    pool: InlinePool
    directory: Path
    app_commits: tuple[str, ...] = ()
    engine_commits: tuple[str, ...] = ()

    @classmethod
    def make(cls, directory: Path, rule: str) -> World:
        app, engine = GitRepository.make(directory / "app"), GitRepository.make(directory / "engine")
        made = cls(app, engine, InlinePool(directory / "probes"), directory)
        check = {"check.py": _CHECK.format(rule=rule)}
        return replace(made, app_commits=_fill(app, check), engine_commits=_fill(engine, {}))

    def bisect(self, results: Sequence[str] = (), *, resume: bool = False) -> TwoRepositoriesAnswer:
        measure = (
            ("python3", "check.py")
            if not results
            else (
                "python3",
                "-c",
                "import runpy, contextlib\nwith contextlib.suppress(SystemExit): runpy.run_path('check.py')",
            )
        )
        recipe = RecipeSettings("p", measure=measure, results=tuple(results), also={"engine": "engine"})
        asked = Bisection(
            "B1",
            {"": str(self.app.directory), "engine": str(self.engine.directory)},
            self.app_commits[0],
            self.app_commits[1:],
            recipe,
        )
        journals: list[FileJournal] = []

        def journal_of(part: str) -> FileJournal:
            journals.append(FileJournal(self.directory / f"{part}.jsonl", {"part": part}, resume=resume))
            return journals[-1]

        try:
            other = OtherRange("engine", self.engine_commits[0], self.engine_commits[1:])
            return coordinate_two(asked, other, self.pool, journal_of)
        finally:
            for journal in journals:
                journal.close()


def _fill(repository: GitRepository, files: Mapping[str, str]) -> tuple[str, ...]:
    changes = [{**files, "level": str(int(number >= _CULPRIT)), "count": str(number)} for number in range(_COMMITS)]
    return tuple(repository.commit_files((f"Change {number}", each) for number, each in enumerate(changes)))


RULES = {
    Attribution.MAIN: "10 + 2 * app",
    Attribution.OTHER: "10 + 2 * engine",
    Attribution.BOTH: "10 + 2 * app + 2 * engine",
    Attribution.INTERACTION: "10 + 2 * app * engine",
    Attribution.NEITHER: "10",
}


_QUICK = {Attribution.MAIN}


@pytest.mark.parametrize(
    "attribution",
    [pytest.param(each, marks=() if each in _QUICK else pytest.mark.long, id=each.value) for each in RULES],
)
def test_the_commit_is_found_in_the_repository_that_made_the_change(tmp_path: Path, attribution: Attribution) -> None:
    answer = World.make(tmp_path, RULES[attribution]).bisect()
    assert answer.attribution is attribution
    both = attribution in {Attribution.BOTH, Attribution.INTERACTION}
    assert (answer.main is not None) == (attribution is Attribution.MAIN or both)
    assert (answer.other is not None) == (attribution is Attribution.OTHER or both)
    for found in filter(None, (answer.main, answer.other)):
        assert (found.state, found.places) == (BisectionState.CULPRIT, (_CULPRIT,))


@pytest.mark.long
@pytest.mark.parametrize("attribution", list(RULES), ids=lambda attribution: attribution.value)
def test_measured_values_find_it_as_well(tmp_path: Path, attribution: Attribution) -> None:
    answer = World.make(tmp_path, RULES[attribution]).bisect(["out.json"])
    assert answer.attribution is attribution
    for found in filter(None, (answer.main, answer.other)):
        assert (found.state, found.places) == (BisectionState.CULPRIT, (_CULPRIT,))


@pytest.mark.long
def test_the_other_repository_is_pinned(tmp_path: Path) -> None:
    world = World.make(tmp_path, RULES[Attribution.OTHER])
    world.bisect()
    searched = [job for job in world.pool.made if "-other-" in job.probe]
    assert {job.target.commit for job in searched} == {world.app_commits[-1]}
    assert {pins for job in searched for _, pins in job.target.pins} <= set(world.engine_commits)


def test_a_combination_that_cannot_be_measured_is_named(tmp_path: Path) -> None:
    world = World.make(tmp_path, "exit(125) if app and not engine else 10")
    answer = world.bisect()
    assert answer.attribution is None
    assert answer.reason.startswith("new main with old other cannot be measured")


@pytest.mark.long
def test_it_goes_on_after_a_kill_without_measuring_again(tmp_path: Path) -> None:
    world = World.make(tmp_path, RULES[Attribution.MAIN])
    first = world.bisect()
    made = len(world.pool.made)
    assert world.bisect(resume=True).attribution is first.attribution
    assert len(world.pool.made) == made
