"""A search on this machine: the range, the recipe, where it works, its journal, and what it will cost."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knickpoint.bisect.coordinator import Bisection, RevisionRange, priors_of, range_inside, read_range
from knickpoint.bisect.search import conclude, plan
from knickpoint.bisect.search.problem import Budget, Observation, Problem
from knickpoint.bisect.settings import PoolSettings, RecipeSettings
from knickpoint.cli.commands.bisect.answer import short_subject
from knickpoint.cli.commands.bisect.options import SearchOptions, default_workspace
from knickpoint.cli.output import Column, OutputFormat, render
from knickpoint.cli.terminal import note
from knickpoint.history import Git, find_work_tree
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.commit import Commit
from knickpoint.model.errors import ConfigError, InputError, KnickpointError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.bisect.job import DevicePool
    from knickpoint.bisect.runner import Workspace
    from knickpoint.instance import Config
    from knickpoint.instance.bisections.requests import KnownChange


_ID: Final = "search"
_DIGITS: Final = 8
"""Digits that tell the searches apart which one pool measures."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search that can begin.

    ``pool`` is that of the nearest configuration, whose files are relative to ``directory``. ``about`` says what is
    searched, as plain values: a journal of other values is another search. ``known`` says in words what the store of
    the instance knows of the change, "" for nothing. ``digests`` are those of the recipes of the configuration.
    """

    bisection: Bisection
    range: RevisionRange
    git: Git
    options: SearchOptions
    instance: str
    workspace: Path
    pool: PoolSettings
    directory: Path
    about: dict[str, Any]
    known: str = ""
    digests: frozenset[str] = frozenset()

    @property
    def journal(self) -> Path:
        """The file of its journal."""
        name = hashlib.sha256(json.dumps(self.about, sort_keys=True).encode()).hexdigest()[:16]
        return self.workspace / "journals" / f"{name}.jsonl"

    def open_pool(self, recipe: RecipeSettings, progress: Callable[[str, str], None]) -> DevicePool:
        """Open the devices that make the probes: those that are named, or all of the pool, or this machine.

        Raises:
            InputError: a device is named that takes no probes, or ``recipe`` is not one of the configuration, and there
                is a pool.
            ConfigError: the pool cannot be used.
            ServiceError: the pool does not answer.
        """
        from knickpoint.bisect.pool import measures_here, open_pool
        from knickpoint.bisect.runner import Workspace

        only = self.options.devices
        if not measures_here(self.pool, only) and recipe.digest not in self.digests:
            raise InputError(
                "the devices of a pool run only what a recipe of the configuration says",
                where=f"pool {self.pool.address}",
                remedy="Give --recipe and no other command, or measure on this machine with --device local.",
            )
        workspace = Workspace(self.workspace, self.pool.space_megabytes)
        announce = partial(note, err=True)
        return open_pool(
            self.pool, self.directory, workspace, params=recipe.params, progress=progress, announce=announce, only=only
        )

    @property
    def planned(self) -> PlannedSearch:
        """The search as a dry run shows it."""
        commits = (self.range.good, *self.range.commits)
        return PlannedSearch(self.bisection, commits, str(self.workspace), self._probe_seconds())

    def _probe_seconds(self) -> float | None:
        """Return the median time of the probes of an earlier run of the same search, None where there was none."""
        from knickpoint.bisect.coordinator import FileJournal

        if not self.journal.exists():
            return None
        try:
            with FileJournal(self.journal, self.about, resume=True) as journal:
                seconds = [entry.result.seconds for entry in journal.load() if entry.result is not None]
        except KnickpointError:
            return None
        return statistics.median(seconds) if seconds else None

    def command_line(self, *, resume: bool = False) -> str:
        """Return the command that makes this search again, with the hashes of its ends."""
        ends = f"{self.range.good.hash}..{self.range.commits[-1].hash}"
        return self.options.command_line(ends, instance=self.instance, resume=resume)

    def check_line(self, place: int) -> str:
        """Return the command that measures the commit at ``place`` beside its parent."""
        places = self.bisection.places
        return self.options.command_line(f"{places[place - 1]}..{places[place]}", instance=self.instance)

    def inside_line(self, place: int) -> str:
        """Return the command that searches what the merge at ``place`` brings in, "" for another commit."""
        inside = range_inside(self.git, self.range.commits[place - 1])
        return self.options.command_line(inside, instance=self.instance) if inside else ""


def prepare_search(text: str, options: SearchOptions, instance: str | None) -> Search:
    """Read what a search needs: the range from the repository, the recipe from the options and the configuration.

    Raises:
        InputError: a value cannot be used; the message says which.
        HistoryError: there is no repository, or it lacks a commit.
        ConfigError: the configuration or the recipe cannot be used.
    """
    config, place = nearest_configuration(instance, options.repository)
    recipe = options.settings(config.bisect if config else {})
    if options.flaky and recipe.results:
        raise InputError("--flaky is for commands that pass or fail", remedy="Leave it out, or leave out --results.")
    if options.trace and not recipe.results:
        raise InputError(
            "a trace needs results", where="--trace", remedy="Name the file that the command writes: --results FILE."
        )
    top = work_tree_of(options.repository)
    git = Git.at(top)
    found = read_range(git, text)
    trace = trace_key_of(options.trace)
    bisection = Bisection(
        _ID,
        {"": str(top)},
        found.good.hash,
        found.hashes,
        recipe,
        trace,
        priors=priors_of(git, trace, found.hashes),
        error=options.flaky,
        ingest=naming_of(config),
        added_params=options.added_params,
    )
    known = _known_change(instance, top, bisection) if instance and trace else None
    if known is not None:
        bisection = replace(bisection, before=known.before, after=known.after, movement=known.movement)
    about = {
        "repository": str(top),
        "good": found.good.hash,
        "bad": found.hashes[-1],
        "commits": len(found.hashes),
        "profile": recipe.digest,  # the word in journals of older versions, which a search goes on with
        "repeats": recipe.repeats,
        "trace": trace,
        "params": dict(options.added_params),
        "flaky": options.flaky,
    }
    workspace = (options.workspace or default_workspace()).expanduser().absolute()
    about_change = known.text if known is not None else ""
    pool = config.pool if config else PoolSettings()
    digests = frozenset(each.digest for each in config.bisect.values()) if config else frozenset()
    search = Search(
        bisection, found, git, options, instance or "", workspace, pool, place, about, about_change, digests
    )
    return replace(search, bisection=replace(bisection, id=f"{_ID}-{search.journal.stem[:_DIGITS]}"))


def _known_change(instance: str | None, top: Path, bisection: Bisection) -> KnownChange | None:
    """Return the change of the trace within the range that the store of the instance has, None where it has none."""
    from knickpoint.cli.options import open_chosen_instance
    from knickpoint.instance.bisections.requests import known_change

    with open_chosen_instance(instance) as opened:
        return known_change(opened, str(top.resolve()), bisection)


def work_tree_of(directory: Path) -> Path:
    """Return the top of the work tree around ``directory``, which is taken itself where there is none."""
    place = directory.expanduser().absolute()
    return find_work_tree(place) or place


def local_workspace(directory: Path | None, config: Config | None) -> Workspace:
    """Return the workspace in which this machine checks out and builds commits, with its limit of space."""
    from knickpoint.bisect.runner import Workspace

    pool = config.pool if config else PoolSettings()
    return Workspace((directory or default_workspace()).expanduser().absolute(), pool.space_megabytes)


def nearest_configuration(instance: str | None, repository: Path) -> tuple[Config | None, Path]:
    """Return the configuration that is named, or the nearest one above the repository, and its directory.

    None where there is none.
    """
    from knickpoint.instance import CONFIG_FILE, find_instance, read_config

    try:
        directory = Path(instance) if instance else find_instance()
    except ConfigError:
        top = find_work_tree(repository) or repository
        directory = top
        if not (directory / CONFIG_FILE).is_file():
            return None, directory
    return read_config(directory / CONFIG_FILE), directory


def naming_of(config: Config | None) -> IngestSettings:
    """Return the settings that name results, without the sources of the instance."""
    return replace(config.ingest, sources={}) if config else IngestSettings()


def trace_key_of(text: str) -> str:
    """Return the trace key that ``text`` means; the commas around it may be missing, and params have any order.

    Raises:
        InputError: it is not a key.
    """
    if not text:
        return ""
    pairs = sorted(text.strip(",").split(","), key=lambda pair: pair.partition("=")[0])
    return encode_key(decode_key(f",{','.join(pairs)},"))


_SIGMAS: Final = 4.0
"""Size of the change that is assumed, in standard deviations of a probe."""

_PLAYED: Final = 9
"""Searches that are played for the estimate."""

_MOST: Final = 400
_MOST_LISTED: Final = 8


_COLUMNS: Final = tuple(
    Column(name)
    for name in (
        "good",
        "bad",
        "commits",
        "expected_probes",
        "most_probes",
        "longest_probe_seconds",
        "measured_probe_seconds",
        "workspace",
    )
)


@dataclass(frozen=True, slots=True)
class PlannedSearch:
    """A search that could begin: what is searched, its commits by place, and where they would be measured.

    ``probe_seconds`` is the median time of the probes of an earlier run of this search, None where there was none.
    """

    bisection: Bisection
    commits: Sequence[Commit]
    workspace: str
    probe_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Cost:
    """How many probes played searches took: the median and the largest number."""

    usual: int
    most: int


def expected_probes(bisection: Bisection) -> _Cost:
    """Play the search with culprits all over the range, and return how many probes it takes.

    Values have a change of :data:`_SIGMAS` standard deviations; answers of a test are as wrong as the options say.
    """
    count = len(bisection.commits)
    problem = Problem(
        count,
        prior=None if bisection.priors is None else np.array(bisection.priors),
        error=None if bisection.measures else bisection.error,
        unknown_error=not bisection.measures and bisection.error > 0,
        probability=bisection.recipe.probability,
    )
    culprits = sorted({round(place) for place in np.linspace(1, count, min(_PLAYED, count)).tolist()})
    taken = [_play(problem, culprit) for culprit in culprits]
    return _Cost(round(statistics.median(taken)), max(taken))


def _play(problem: Problem, culprit: int) -> int:
    """Return the number of probes of a search for ``culprit``, one after the other; the noise is always the same."""
    noise = np.random.default_rng(culprit)
    observations: list[Observation] = []
    while len(observations) < _MOST:
        if conclude(problem, observations, Budget()) is not None:
            break
        planned = plan(problem, observations, (), ("machine",))
        if not planned:
            break
        place = planned[0].place
        changed = place >= culprit
        if problem.error is None:
            value = float(noise.normal()) + _SIGMAS * changed
            observations.append(Observation(place, "machine", value, purpose=planned[0].purpose))
        else:
            wrong = bool(noise.random() < problem.error)
            observations.append(Observation(place, "machine", passed=changed == wrong, purpose=planned[0].purpose))
    return len(observations)


def _seconds(bisection: Bisection) -> float:
    """Return the most seconds of one probe, by the time limits."""
    recipe = bisection.recipe
    seconds = recipe.repeats * recipe.measure_seconds
    seconds += recipe.build_seconds if recipe.build else 0
    return seconds + (recipe.prepare_seconds if recipe.prepare else 0)


def render_dry_run(planned: PlannedSearch, output: OutputFormat) -> str:
    """Return the plan of a search: in words, as one object of JSON, or as one row of CSV."""
    cost = expected_probes(planned.bisection)
    if output is OutputFormat.TEXT:
        return "".join(f"{line}\n" for line in _lines(planned, cost))
    recipe = planned.bisection.recipe
    found = {
        "good": planned.commits[0].hash,
        "bad": planned.commits[-1].hash,
        "commits": [commit.hash for commit in planned.commits[1:]],
        "expected_probes": cost.usual,
        "most_probes": cost.most,
        "longest_probe_seconds": _seconds(planned.bisection),
        "measured_probe_seconds": planned.probe_seconds,
        "workspace": planned.workspace,
    }
    if output is OutputFormat.CSV:
        return render(_COLUMNS, [{**found, "commits": len(planned.commits) - 1}], output)  # type: ignore[dict-item]
    commands = {name: list(getattr(recipe, name)) for name in ("prepare", "build", "measure")}
    return json.dumps({**found, **commands}, indent=2) + "\n"


def _lines(planned: PlannedSearch, cost: _Cost) -> Iterator[str]:
    """Yield what the search would do, in words."""
    recipe, (good, *commits) = planned.bisection.recipe, planned.commits
    yield f"{counted(len(commits), 'commit')} after the good end {good.hash[:10]} {short_subject(good)}:"
    listed = commits if len(commits) <= _MOST_LISTED else (*commits[:4], None, *commits[-3:])
    for commit in listed:
        yield "  …" if commit is None else f"  {commit.hash[:10]} {commit.author}: {short_subject(commit)}"
    for name, command in (("prepare", recipe.prepare), ("build", recipe.build), ("measure", recipe.measure)):
        if command:
            yield f"{name:8} {' '.join(command)}"
    yield f"results  {' '.join(recipe.results) or 'none: the exit code is the answer'}"
    shape = f"for a change of {_SIGMAS:g} standard deviations of a probe" if recipe.results else "for a test"
    yield f"About {counted(cost.usual, 'probe')} {shape}, at most {cost.most} in simulated searches."
    if planned.probe_seconds is not None:
        seconds = planned.probe_seconds
        yield (
            f"A probe took {seconds:.1f} s in an earlier run of this search: about {_hours(cost.usual * seconds)} in "
            "all."
        )
    else:
        longest = _seconds(planned.bisection)
        yield (
            f"The time limits end a probe after {longest:,.0f} s, so that this takes {_hours(cost.usual * longest)} at "
            "most."
        )
    yield f"Commits are checked out below {planned.workspace}. Nothing was run."


def _hours(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"
