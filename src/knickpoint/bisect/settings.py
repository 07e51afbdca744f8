"""The settings of what measures commits: recipes, devices, schedules, attempts."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Final

from knickpoint.model.errors import ConfigError
from knickpoint.model.plain_text import address_with_secret, secret

_NOT_OF_THE_PROBE = frozenset(
    {
        "name",
        "probability",
        "find",
        "most_probes",
        "most_minutes",
        "budget_hours",
        "minimum_effect",
        "repeats",
        "same_machine",
        "test",
        "test_seconds",
        "same_output",
        "vary",
        "profiler",
    }
)

_PROBES_PER_HALVING: Final = 40
"""Probes that a search may make for each halving of its range, where the recipe has no bound of its own.

Searches of changes of one standard deviation of a probe take about a quarter of that in the mean, and their tails all
of it.
"""


@dataclass(frozen=True, slots=True)
class RecipeSettings:
    """A recipe to build and measure a commit; ``[bisect.NAME]``.

    Commands are a program and its arguments, as in `["make", "bench"]`; no shell reads them. They run in a worktree of
    the commit. A step that ends with exit code 125 skips the commit.

    Attributes:
        name: unique in the instance.
        repository: name of the repository. Without it, the recipe is for every repository.
        prepare: command that runs once in a new worktree, as for packages.
        build: command that builds the commit. `{build}` is the number of the build, 1 but for `knick calibrate`.
        measure: command that measures it. With `results` it writes values; without, its exit code is the answer.
            `{benchmarks}` is a regular expression of the benchmarks to run, `.*` but for `knick compare`.
        results: files that the measure command writes, below the worktree, as in `build/*.json`.
        format: name of the format of these files. Without it, it is recognised.
        artefact: what the build makes, below the worktree, as in `build/app`; it is kept by commit, and built once.
        prebuilt: where finished artefacts are found: a directory, relative to the instance, or an address, with
            `{commit}` in it, as in `https://ci.example.org/builds/{commit}.tar.gz` or `s3://builds/{commit}.tar`.
        prepare_seconds: time limit of the prepare command.
        build_seconds: time limit of the build command.
        measure_seconds: time limit of the measure command.
        params: params that a device must have, as in `arch = "arm64"`.
        environment: variables that the commands get, in addition to PATH, HOME, LANG and TZ.
        query: traces that this recipe measures; findings in them can be bisected with it. "" means all.
        also: other repositories that take part, by name, each with the directory below the worktree where it is checked
            out.
        repeats: how many runs of the measure command a probe makes.
        probability: how sure a culprit has to be.
        find: the size of the change that a search looks for, relative to the level before it: 0.05 is 5 %. A search
            ends without a culprit only once a change of this size is excluded. 0 is half of what the history shows, or
            the noise of a probe without one.
        most_probes: how many probes one bisection may make. 0 allows 40 for each halving of the range and 80 more: 240
            for sixteen commits, 480 for a thousand.
        most_minutes: how long one bisection may take. 0 has no limit.
        minimum_effect: findings of at least this relative size are bisected without being asked for. 0 means none.
        budget_hours: device hours that bisections by rule may take within a day.
        same_machine: the devices measure like the machines whose results the traces have. Then results of probes join
            these traces. Without it, they do only where they name the same machine; others stay in the journal of the
            bisection.
        test: command that tests a commit. An attempt to make something faster whose tests fail is not faster.
        test_seconds: time limit of the test command.
        same_output: files that the measure command writes, below the worktree, as in `out/*.txt`, and whose content an
            attempt must not change.
        vary: variables of a second input, as in `SIZE = "2000"`. A benchmark whose time depends on it at the base has
            to depend on it in an attempt, too.
        profiler: once a bisection of an instance has its commit, that and the one before it are measured again under
            this profiler, and the change says which function costs more. `py-spy`, `perf`, `callgrind`, `cprofile`, or
            a command that writes a profile to `{out}`, as in `samply record --save-only -o {out} -- {command}`.
    """

    name: str
    repository: str = ""
    prepare: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    measure: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    format: str = ""
    artefact: tuple[str, ...] = ()
    prebuilt: str = address_with_secret("")
    prepare_seconds: float = 1800.0
    build_seconds: float = 3600.0
    measure_seconds: float = 3600.0
    params: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    also: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 1
    probability: float = 0.95
    find: float = 0.0
    most_probes: int = 0
    most_minutes: float = 0.0
    minimum_effect: float = 0.0
    budget_hours: float = 24.0
    same_machine: bool = False
    test: tuple[str, ...] = ()
    test_seconds: float = 3600.0
    same_output: tuple[str, ...] = ()
    vary: Mapping[str, str] = field(default_factory=dict)
    profiler: str = ""

    def probes_allowed(self, commits: int) -> int:
        """Return the most probes that a search among so many commits may make, so that none goes on for ever."""
        return self.most_probes or _PROBES_PER_HALVING * (2 + math.ceil(math.log2(max(commits, 1))))

    @property
    def digest(self) -> str:
        """A hash of all that decides what a probe does; probes of equal digests are interchangeable."""
        facts = {name: value for name, value in asdict(self).items() if name not in _NOT_OF_THE_PROBE}
        text = json.dumps(facts, sort_keys=True, ensure_ascii=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:40]


class DeviceUse(Enum):
    """What a device does."""

    ALL = "all"
    BISECT = "bisect"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """Describe a device of the pool; ``[devices.NAME]``. A device without a section takes any job that fits its params.

    Attributes:
        name: the name that `knick agent --device` gives.
        params: params that the device must state when it joins.
        use: `bisect` reserves it for bisections, `schedule` for measuring new commits, `all` takes both.
        enabled: whether it gets jobs.
    """

    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    use: DeviceUse = DeviceUse.ALL
    enabled: bool = True


class ScheduleMode(Enum):
    """Which commits a schedule measures."""

    EACH = "each"
    EVERY = "every"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """The commits that are measured as they arrive; ``[schedule.NAME]``.

    Attributes:
        name: unique in the instance.
        recipe: the name of the recipe that measures.
        branch: the branch whose commits are measured. Default: the default branch.
        mode: `each` commit, `every` so many commits or minutes, or only what an `event` asks for.
        commits: of `every`: a commit is measured when so many are new,
        minutes: or when the oldest new one has waited so long, whichever comes first.
        fill: whether missing commits inside the suspect range of a new finding are measured by themselves.
        fill_hours: device hours that filling may take within a day.
        priority: larger goes first.
    """

    name: str
    recipe: str
    branch: str = ""
    mode: ScheduleMode = ScheduleMode.EVERY
    commits: int = 16
    minutes: float = 60.0
    fill: bool = True
    fill_hours: float = 8.0
    priority: int = 0


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """The place where probes run; ``[pool]``.

    Attributes:
        address: where the scheduler of the pool listens or is found, as in `tls://pool.example.org:8786`. Without it,
            this machine makes the probes.
        at_once: without an address: how many probes run on this machine at the same time. More than one disturb each
            other.
        secret: secret that agents prove to know, as in `${KNICKPOINT_POOL_SECRET}`.
        certificate: path of a file (PEM), relative to the instance, with the certificate of the scheduler and of
            agents.
        private_key: path of the private key of the certificate.
        authorities: path of a file (PEM) with the certificates of the authorities to trust.
        heartbeat_seconds: an agent that is silent for so long has lost its probe.
        space_megabytes: disk space for worktrees and artefacts on each device; the oldest go first.
    """

    address: str = ""
    at_once: int = 1
    secret: str = secret()
    certificate: str = ""
    private_key: str = ""
    authorities: str = ""
    heartbeat_seconds: float = 30.0
    space_megabytes: int = 20_000


PROTECTED: Final = (
    "*bench*", "*perf*", "*fixture*", "*testdata*", "*/data/*", "data/*", "*conftest.py",
    "*Makefile*", "*.mk", "*CMakeLists.txt", "*.cmake", "*meson*", "*BUILD*", "*.bazel*", "*WORKSPACE*",
    "*pyproject.toml", "*setup.py", "*setup.cfg", "*requirements*.txt", "*Cargo.*", "*.cargo/*", "*build.rs",
    "*rust-toolchain*", "*package*.json", "*tsconfig*.json", "*go.mod", "*go.sum", "*pom.xml", "*.gradle*", "*.lock",
    "*sitecustomize.py", "*usercustomize.py", "*.pth", "time.py", "*/time.py", "*Dockerfile*", ".github/*", ".gitlab*",
    ".gitmodules", "*.gitattributes", "*knickpoint.toml",
)  # fmt: skip
"""Patterns of paths that an attempt must not change: benchmarks, their data, how they are built and run."""


@dataclass(frozen=True, slots=True)
class TrySettings:
    """Bound the sessions of attempts to make something faster; ``[try]``.

    Attributes:
        protected: patterns of paths that an attempt must not change, in any case; `*` stands for `/` as well. A list of
            your own replaces the default.
        recipes: names of the recipes that agents may use. Without any, all of them.
        most_attempts: attempts that an agent may make in one session.
        budget_hours: hours that attempts of agents may take within a day.
        error: the share of sessions of agents in which nothing is faster that may end with a confirmed attempt.
        most_rounds: rounds of each stage of an attempt of an agent at most.
    """

    protected: tuple[str, ...] = PROTECTED
    recipes: tuple[str, ...] = ()
    most_attempts: int = 100
    budget_hours: float = 8.0
    error: float = 0.01
    most_rounds: int = 20


# Check a recipe, from the configuration or the command line, as far as its types cannot.


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_REPEATS: Final = 10_000
_LARGEST: Final = 10.0
"""The largest change to look for, relative to the level before it."""


def check_recipe(recipe: RecipeSettings, where: str) -> None:
    """Refuse a recipe that measures nothing, or whose numbers, paths or variables cannot be used.

    Raises:
        ConfigError: the message names the setting.
    """
    if not recipe.measure:
        raise ConfigError(
            "'measure' is missing",
            where=where,
            remedy='Add the command that measures, as in measure = ["make", "bench"].',
        )
    commands = {"prepare": recipe.prepare, "build": recipe.build, "measure": recipe.measure, "test": recipe.test}
    for name, command in commands.items():
        if command and (not command[0] or any("\0" in part for part in command)):
            raise ConfigError(f"{name} is not a command", where=where, remedy="Give a program and its arguments.")
    if recipe.find and not recipe.results:
        raise ConfigError(
            "find needs values, and probes that pass or fail have no size",
            where=where,
            remedy="Name the files that the command writes, with results or --results.",
        )
    _check_numbers(recipe, where)
    _check_paths(recipe, where)
    for setting, variables in (("environment", recipe.environment), ("vary", recipe.vary)):
        for name, value in variables.items():
            if not _VARIABLE.fullmatch(name) or "\0" in value:
                raise ConfigError(
                    f"{setting} has {name!r}, which is not the name of a variable",
                    where=where,
                    remedy="Use letters, digits and _.",
                )


def _check_numbers(recipe: RecipeSettings, where: str) -> None:
    seconds = {
        "prepare_seconds": recipe.prepare_seconds,
        "build_seconds": recipe.build_seconds,
        "measure_seconds": recipe.measure_seconds,
        "test_seconds": recipe.test_seconds,
    }
    for name, value, wanted, fits in (
        *((name, value, "more than 0", value > 0) for name, value in seconds.items()),
        ("probability", recipe.probability, "more than 0.5, less than 1", 0.5 < recipe.probability < 1),
        ("find", recipe.find, "a share: 0.05 is 5 %, and 0 leaves the size open", 0 <= recipe.find <= _LARGEST),
        ("repeats", recipe.repeats, f"1 to {_MOST_REPEATS:,}", 1 <= recipe.repeats <= _MOST_REPEATS),
        (
            "most_probes",
            recipe.most_probes,
            "0, which follows the length of the range, or more",
            recipe.most_probes >= 0,
        ),
        ("most_minutes", recipe.most_minutes, "0, which is not a limit, or more", recipe.most_minutes >= 0),
        ("minimum_effect", recipe.minimum_effect, "0, which is never, or more", recipe.minimum_effect >= 0),
        ("budget_hours", recipe.budget_hours, "0 or more", recipe.budget_hours >= 0),
    ):
        if not fits or not math.isfinite(value):
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")


def _check_paths(recipe: RecipeSettings, where: str) -> None:
    places = [("results", path) for path in recipe.results]
    places += [("artefact", path) for path in recipe.artefact]
    places += [("same_output", path) for path in recipe.same_output]
    places += [(f"also, {name!r},", path) for name, path in recipe.also.items()]
    for name, path in places:
        parts = path.split("/")
        if not path or parts[0] == "" or ".." in parts or "\0" in path:
            raise ConfigError(
                f"{name} is {path!r}",
                where=where,
                remedy="Give a path below the worktree, relative and without .., as in build/*.json.",
            )
