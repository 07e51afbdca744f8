"""What the command line of ``knick bisect`` says, the recipe that it makes, and the command line that says the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import click

from knickpoint.bisect.settings import RecipeSettings, check_recipe
from knickpoint.model.errors import InputError

_NO_RECIPE: Final = "command line"

_OF_A_SEARCH: Final = frozenset(
    {"trace", "devices", "probability", "find", "most_probes", "most_minutes", "flaky", "also"}
)
"""Options that only a search has."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of a search on this machine, as they are given; what is left open comes from the recipe.

    ``measure`` is the command after ``--``; ``build`` and ``prepare`` are commands as well.
    """

    repository: Path = field(default_factory=Path)
    trace: str = ""
    recipe: str = ""
    results: Words = ()
    format: str = ""
    prepare: Words = ()
    build: Words = ()
    measure: Words = ()
    artefact: Words = ()
    environment: Words = ()
    params: Words = ()
    devices: Words = ()
    repeats: int | None = None
    time_limit: float | None = None
    probability: float | None = None
    find: float | None = None
    most_probes: int | None = None
    most_minutes: float | None = None
    flaky: float = 0.0
    workspace: Path | None = None
    also: str = ""

    def settings(self, recipes: Mapping[str, RecipeSettings]) -> RecipeSettings:
        """Return the recipe of the search: the options, and for the rest the recipe of the configuration.

        Without a command and a name, the only recipe of the configuration is taken.

        Raises:
            InputError: there is no such recipe, or neither a command nor a recipe.
            ConfigError: a value cannot be used.
        """
        base = self._base(recipes)
        given: dict[str, Any] = {
            "results": self.results,
            "format": self.format,
            "prepare": self.prepare,
            "build": self.build,
            "measure": self.measure,
            "artefact": self.artefact,
            "repeats": self.repeats,
            "measure_seconds": self.time_limit,
            "probability": self.probability,
            "find": self.find,
            "most_probes": self.most_probes,
            "most_minutes": self.most_minutes,
        }
        changes = {name: value for name, value in given.items() if value not in {(), "", None}}
        environment = {**base.environment, **_pairs(self.environment, "--env")}
        made = replace(base, **changes, environment=environment)
        check_recipe(made, f"[bisect.{base.name}]" if base.name != _NO_RECIPE else _NO_RECIPE)
        return made

    @property
    def added_params(self) -> Mapping[str, str]:
        """The params that join every trace key."""
        return _pairs(self.params, "--param")

    def command_line(self, search: str, *, instance: str = "", resume: bool = False) -> str:
        """Return the command that makes the search ``search`` with these options."""
        words = ["knick", "bisect", search, *(["--instance", instance] if instance else []), *self._words()]
        if resume:
            words.append("--resume")
        if self.measure:
            words += ["--", *self.measure]
        return shlex.join(words)

    def _base(self, recipes: Mapping[str, RecipeSettings]) -> RecipeSettings:
        if self.recipe:
            if self.recipe not in recipes:
                names = ", ".join(sorted(recipes)) or "none"
                raise InputError(
                    f"there is no recipe {self.recipe!r}",
                    where="--recipe",
                    remedy=f"Recipes of knickpoint.toml: {names}.",
                )
            return recipes[self.recipe]
        if self.measure:
            return RecipeSettings(_NO_RECIPE)
        if len(recipes) == 1:
            return next(iter(recipes.values()))
        raise InputError(
            "there is no command to measure with",
            remedy="Give it after --, as in knick bisect v1.0..HEAD --results 'out.json' -- make bench"
            + (f", or a recipe: --recipe {' or '.join(sorted(recipes))}." if recipes else "."),
        )

    def _words(self) -> Iterator[str]:
        if self.repository != Path():
            yield from ("--repository", str(self.repository))
        for name, value in (
            ("--trace", self.trace),
            ("--recipe", self.recipe),
            ("--as", self.format),
            ("--prepare", shlex.join(self.prepare)),
            ("--build", shlex.join(self.build)),
            ("--repeats", self.repeats),
            ("--time-limit", self.time_limit),
            ("--probability", self.probability),
            ("--find", self.find),
            ("--most-probes", self.most_probes),
            ("--most-minutes", self.most_minutes),
            ("--flaky", self.flaky or None),
            ("--workspace", self.workspace),
            ("--also", self.also),
        ):
            if value not in {"", None}:
                yield from (name, str(value))
        for name, values in (
            ("--results", self.results),
            ("--artefact", self.artefact),
            ("--env", self.environment),
            ("--param", self.params),
            ("--device", self.devices),
        ):
            for value in values:
                yield from (name, value)


def _pairs(pairs: Words, option: str) -> dict[str, str]:
    from knickpoint.cli.options import read_pairs

    return read_pairs(pairs, option)


def _split(_context: click.Context, parameter: click.Parameter, text: str) -> Words:
    """Split a command as a shell would, without its substitutions."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a command: {error}", param=parameter) from error


def search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a search, which reach the command as one argument ``options``."""
    return _with_options(command, frozenset(SearchOptions.__dataclass_fields__))


def measuring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of them that say how a commit is built and measured."""
    return _with_options(command, frozenset(SearchOptions.__dataclass_fields__) - _OF_A_SEARCH)


def _with_options(command: Callable[..., Any], names: Collection[str]) -> Callable[..., Any]:
    def with_options(**arguments: Any) -> Any:
        given = {name: arguments.pop(name) for name in names}
        given["repository"] = Path(given["repository"])
        return command(options=SearchOptions(**given), **arguments)

    with_options.__name__, with_options.__doc__ = command.__name__, command.__doc__
    decorated: Callable[..., Any] = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    options = [option for option in decorated.__click_params__ if option.name in names]  # type: ignore[attr-defined]
    decorated.__click_params__ = options  # type: ignore[attr-defined]
    decorated.__click_params__ += getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return decorated


_OPTIONS: Final = (
    click.option(
        "--repository",
        default=".",
        type=click.Path(exists=True, file_okay=False),
        metavar="DIR",
        help="The git repository. Default: that of the working directory.",
    ),
    click.option(
        "--trace",
        default="",
        metavar="KEY",
        help="The trace that moved, as in benchmark=parse,arch=x86. Default: the first trace of the first results.",
    ),
    click.option(
        "--results",
        multiple=True,
        metavar="FILE",
        help="A file that the command writes, or a pattern, below the worktree; repeatable, in place of those of the "
        "recipe. Without it, the exit code is the answer; knick compare measures the duration.",
    ),
    click.option(
        "--as",
        "format",
        default="",
        metavar="FORMAT",
        help="The format of the results. Default: recognised from the content.",
    ),
    click.option("--recipe", default="", metavar="NAME", help="The section [bisect.NAME] of knickpoint.toml."),
    click.option(
        "--prepare", default="", callback=_split, metavar="COMMAND", help="Command that runs before the build."
    ),
    click.option(
        "--build",
        default="",
        callback=_split,
        metavar="COMMAND",
        help="Command that builds a commit, as in 'make -j4'.",
    ),
    click.option(
        "--artefact",
        multiple=True,
        metavar="FILE",
        help="A build artefact, cached by commit; repeatable; replaces those of the recipe.",
    ),
    click.option(
        "--env",
        "environment",
        multiple=True,
        metavar="NAME=VALUE",
        help="An environment variable for the commands, in addition to those of the recipe; repeatable.",
    ),
    click.option(
        "--param", "params", multiple=True, metavar="NAME=VALUE", help="A param to add to every result; repeatable."
    ),
    click.option(
        "--device",
        "devices",
        multiple=True,
        metavar="NAME",
        help="A device to measure on; repeatable; local is this machine. Default: all devices of the pool of the "
        "configuration, or this machine without one.",
    ),
    click.option(
        "--repeats", type=int, default=None, metavar="N", help="Runs of the command for each probe. Default: 1."
    ),
    click.option(
        "--time-limit", type=float, default=None, metavar="SECONDS", help="Time limit of the command. Default: 3600."
    ),
    click.option(
        "--probability", type=float, default=None, metavar="P", help="Required probability of a culprit. Default: 0.95."
    ),
    click.option(
        "--find",
        type=click.FloatRange(0, 10, min_open=True),
        default=None,
        metavar="SHARE",
        help="The size of the change to look for: 0.05 is 5 %. Without a culprit, the search ends once a change of this "
        "size is excluded. Default: the noise of a probe.",
    ),
    click.option("--most-probes", type=int, default=None, metavar="N", help="Maximum number of probes."),
    click.option(
        "--most-minutes", type=float, default=None, metavar="N", help="Maximum duration of the search in minutes."
    ),
    click.option(
        "--flaky",
        type=click.FloatRange(0, 0.49),
        default=0.0,
        metavar="P",
        help="Without results: approximate share of wrong answers of the command.",
    ),
    click.option(
        "--also",
        default="",
        metavar="DIR=LOCATION@GOOD..BAD",
        help="A second repository that moved as well: where it is checked out below the worktree, its path, its range. "
        "Of a repository that the recipe takes along, NAME@GOOD..BAD is enough.",
    ),
    click.option(
        "--workspace",
        type=click.Path(file_okay=False, path_type=Path),
        default=None,
        metavar="DIR",
        help="Directory where commits are checked out and built. Default: knickpoint/bisect in the user's cache "
        "directory.",
    ),
)


def false_positives_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--false-positives SHARE`` to a command that compares commits in turns."""
    return click.option(
        "--false-positives",
        type=click.FloatRange(0.0005, 0.5),
        default=0.01,
        show_default=True,
        metavar="SHARE",
        help="The share of comparisons without a change that end as regressed, over all benchmarks together.",
    )(command)


def profiler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that measure the ends again under a profiler: ``profiler`` and ``profiles``."""
    chosen = click.option(
        "--profiler",
        default="",
        metavar="NAME",
        help="Once it is decided, measure both ends again under this profiler, and name the functions that changed: "
        "py-spy, perf, callgrind, cprofile, or a command such as 'samply record --save-only -o {out} -- {command}'.",
    )
    kept = click.option(
        "--profiles",
        type=click.Path(file_okay=False, path_type=Path),
        help="Keep the profiles in this new directory, for knick profile diff and knick import.",
    )
    return chosen(kept(command))


def default_workspace() -> Path:
    """Return the directory below the user's cache in which commits are checked out."""
    from knickpoint.bisect.runner.machine_slots import user_cache

    return user_cache() / "bisect"
