"""An instance with a real repository in which `parse` became slower between two measured commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.repositories import GitRepository
from tests.watch.conftest import QUICK, World, levels

from knickpoint.bisect.settings import ProfileSettings
from knickpoint.history import Git
from knickpoint.instance import Instance, create_instance

GOOD, CULPRIT, BAD = 20, 22, 25
"""Slots: the last one measured at the old level, the one that is slower, the first one measured at the new level."""

COMMITS = 40
PARSE = ",benchmark=parse,kind=p,"
WRITES = """
import json, pathlib, subprocess, sys
source = pathlib.Path("src/parser.py").read_text() if pathlib.Path("src/parser.py").exists() else ""
value = {fast} if not source else {slow}
head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
wobble = int(head[:4], 16) / 65536 * 0.4
pathlib.Path("out.json").write_text(json.dumps([{{"name": "parse", "unit": "ms", "value": value + wobble}}]))
"""


def profile(**changes: object) -> ProfileSettings:
    """Return a profile that measures 100 ms before the culprit and 130 ms from it on."""
    made = ProfileSettings(
        name="quick",
        measure=("python3", "-c", WRITES.format(fast=100.0, slow=130.0)),
        results=("out.json",),
        query="benchmark=parse",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def make_repository(directory: Path) -> GitRepository:
    """Make 40 commits; the culprit makes src/parser.py, the others touch files that are named after nothing."""
    made = GitRepository.make(directory)
    for position in range(COMMITS):
        file = made.directory / ("src/parser.py" if position == CULPRIT else f"src/x{position % 3}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{position}\n")
        made.git("add", "--all")
        made.commit(f"Change number {position}")
    return made


@dataclass
class Bisectable:
    """The instance, and its only regression."""

    instance: Instance
    world: World

    @property
    def regression(self) -> int:
        """The id of the regression."""
        (key,) = self.instance.store.findings.groups.suspect_ranges(self.world.repository)
        return key

    def run(self) -> None:
        """Run the alerts."""
        self.world.run(QUICK)

    def with_profiles(self, *profiles: ProfileSettings) -> Instance:
        """Return the instance with these profiles in its configuration."""
        config = replace(self.instance.config, bisect={each.name: each for each in profiles})
        return replace(self.instance, config=config)


@contextmanager
def bisectable(directory: Path, project: GitRepository) -> Iterator[Bisectable]:
    """Make the instance; `render` is measured as well, and does not move."""
    commits = Git.at(project.directory).first_parents("main")
    with create_instance(directory, repositories={"project": str(project.directory)}) as instance:
        store = instance.store
        repository = store.commits.add_repository("project", str(project.directory))
        store.commits.add(repository, commits)
        store.commits.set_line(repository, "main", range(len(commits)))
        world = World(store, repository)
        for name, series in (("parse", levels((21, 100.0), (19, 130.0))), ("render", levels((COMMITS, 100.0)))):
            for slot, value in enumerate(series):
                if not GOOD < slot < BAD:
                    world.put(slot, {name: value})
        made = Bisectable(instance, world)
        made.run()
        yield made
