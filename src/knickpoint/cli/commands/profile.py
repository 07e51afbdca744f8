"""``knick profile``: compare profiles of two versions of a program, and those of ``--profiler``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.terminal import announcer, note, plain_json
from knickpoint.model.errors import InputError, KnickpointError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.bisect.comparison import Comparison
    from knickpoint.bisect.profiling import Profiler
    from knickpoint.profiles import CostChange, Difference, FunctionChange, Profile

_MOST_PROFILES: Final = 100
_SHOWN: Final = 20


@click.group("profile")
def command() -> None:
    """Compare profiles, and find the functions that a change costs."""


@command.command("diff")
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
@click.option("--value", default="", metavar="NAME", help="The value to compare, where profiles have several.")
@click.option(
    "--measured",
    type=(float, float, float, str),
    metavar="CHANGE LOW HIGH UNIT",
    help="The change that was measured, and its interval, as in 20 18 22 ms: say whether the profiles show it.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with flame graphs to FILE.")
@click.option(
    "--all", "everything", is_flag=True, help=f"List all functions, not only those that changed (at most {_SHOWN})."
)
@format_option
def diff(
    before: Path,
    after: Path,
    *,
    value: str,
    measured: tuple[float, float, float, str] | None,
    html: Path | None,
    everything: bool,
    output: OutputFormat,
) -> None:
    """Compare profiles of two versions: a file or a directory of files each, all from the same work.

    Several profiles a side, made in turns, show their scatter: only what exceeds it is called a cause.
    """
    from knickpoint.profiles import CostState, Measured, difference

    sides = _read_side(before, value), _read_side(after, value)
    found = difference(*sides, Measured(*measured) if measured else None).with_files()
    if html is not None:
        _write_page(html, found, sides, f"{before} → {after}")
    if output is OutputFormat.JSON:
        click.echo(plain_json(json.dumps(_document(found), indent=2, ensure_ascii=False)))
        return
    if output is OutputFormat.TEXT:
        click.echo(found.sentence)
        for text in dict.fromkeys(text for side in sides for profile in side for text in profile.notes):
            note(f"Note: {text}.")
    shown = [each for each in found.functions if each.state is not CostState.UNCHANGED][:_SHOWN]
    if everything or output is OutputFormat.CSV:
        shown = list(found.functions)
    show(_columns(found), map(_row, shown), output)
    left = len(found.functions) - len(shown)
    if left:
        note(f"{counted(left, 'other function')}: --all lists them.")


def _read_side(path: Path, value: str) -> list[Profile]:
    """Read a profile, or all those in a directory.

    Raises:
        InputError: a directory has no files, or too many.
    """
    from knickpoint.profiles import read_profile

    files = (
        sorted(each for each in path.iterdir() if each.is_file() and each.name[:1] != ".") if path.is_dir() else [path]
    )
    if not 0 < len(files) <= _MOST_PROFILES:
        raise InputError(
            f"expected 1 to {_MOST_PROFILES} profiles, found {len(files):,}",
            where=str(path),
            remedy="Give a directory with the profiles of one side, and nothing else.",
        )
    return [read_profile(each.read_bytes(), str(each), value=value) for each in files]


def _write_page(path: Path, found: Difference, sides: tuple[list[Profile], list[Profile]], title: str) -> None:
    from knickpoint.profiles import flame_page

    try:
        path.write_text(flame_page(found, *sides, title), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", where=str(path), remedy="Give a place that can be written to."
        ) from error
    note(f"Wrote {path}.", err=True)


def _columns(found: Difference) -> tuple[Column, ...]:
    from knickpoint.model.quantity_text import scale_for, value_text

    def amount(value: float) -> str:
        return value_text(value, found.unit, scale_for(value, found.unit), 3)

    def change(value: float) -> str:
        return ("+" if value > 0 else "") + amount(value)

    return (
        Column("function", text=lambda name: name if len(name) <= 60 else f"{name[:59]}…"),
        Column("place", detail=True),
        Column("former", title="former name"),
        Column("own_before", title="own before", text=amount, right=True, detail=True),
        Column("own_after", title="own after", text=amount, right=True, detail=True),
        Column("own_difference", title="own change", text=change, right=True),
        Column("explained", title="explains", text=change, right=True),
        Column("low", title="at least", text=change, right=True),
        Column("high", title="at most", text=change, right=True),
        Column("total_difference", title="with calls", text=change, right=True),
        Column("state", title="what it is"),
        Column("partner", title="of cost"),
    )


def _row(each: FunctionChange) -> Row:
    return {
        "function": each.name,
        "place": each.place,
        "former": each.former,
        "own_before": each.own.before,
        "own_after": each.own.after,
        "own_difference": each.own.difference,
        "explained": each.explained.difference,
        "low": each.explained.low,
        "high": each.explained.high,
        "total_difference": each.total.difference,
        "state": each.state.value,
        "partner": each.partner,
    }


def _document(found: Difference) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "kind": found.kind.value,
        "unit": found.unit,
        "profiles": list(found.profiles),
        "shows": found.shows,
        "measured": asdict(found.measured) if found.measured else None,
        "total": _change(found.total),
        "causes": [each.name for each in found.causes],
        "functions": [dict(_row(each)) for each in found.functions],
    }


def _change(change: CostChange) -> dict[str, float]:
    return {**asdict(change), "difference": change.difference}


# What ``--profiler`` of ``knick compare`` and ``knick bisect`` shows.


@dataclass(frozen=True, slots=True)
class EndsProfiler:
    """The profiler of ``--profiler``, the ends that it runs, and the directory of ``--profiles``, None to keep nothing."""

    profiler: Profiler
    ends: Comparison
    keep: Path | None

    def compare(self) -> str:
        """Profile both ends, and return what differs; a failure is a note, and no more: "" then."""
        from knickpoint.bisect.profiling import record_profiles
        from knickpoint.history import Git, SourceFiles
        from knickpoint.profiles import difference

        with TemporaryDirectory(prefix="knick-profiles-") as made:
            directory = Path(made)
            try:
                if self.keep is not None:
                    directory = self.keep.absolute()
                    directory.mkdir(parents=True)
                request, run = self.ends.request, self.ends.run_with
                sides = record_profiles(self.profiler, request.recipe, run, directory, announcer(err=True))
                files = SourceFiles.read(Git.at(Path(request.location)), request.head)
                return difference(*sides).with_files(files.path).sentence
            except OSError as error:
                failed = InputError(
                    f"the directory cannot be made: {error.strerror}", where=str(self.keep), remedy="Name a new one."
                )
                note(f"Not profiled: {failed}", err=True)
            except KnickpointError as error:
                note(f"Not profiled: {error}", err=True)
        return ""

    def name_kept(self, *, err: bool) -> None:
        """Name the command that draws the kept profiles."""
        if self.keep is not None:
            note(f"knick profile diff {self.keep}/before {self.keep}/after --html FILE draws them.", err=err)
