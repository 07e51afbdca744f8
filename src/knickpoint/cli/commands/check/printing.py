"""Print the verdict about a merge: on a terminal, as rows for programs, and as reports where ``--report`` says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from knickpoint.cli.output import Column, OutputFormat, Row, echo_rendered, render, show
from knickpoint.cli.terminal import without_control
from knickpoint.gate.report import GateReport, Standing
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark, ResultKind
from knickpoint.reports import html_page, junit, markdown_comment, sarif, workflow_commands
from knickpoint.reports.answer import answer, change, found_from, levels, reason
from knickpoint.version import __version__

_BENCHMARK: Final = (
    "trace", "benchmark", "params", "unit", "before", "after", "relative_size", "low", "high", "detectable", "p_value",
    "samples", "conditional", "together", "reason", "decides", "canary",
)  # fmt: skip
"""The columns that a judged benchmark has, as in the API."""

_COLUMNS: Final = tuple(
    Column(name)
    for name in (
        "verdict", *_BENCHMARK, "attribution", "accepted", "fails", "false_positives", "condition", "again", "base", "base_time",
        "base_subject", "base_reason", "base_commits", "head",
    )
)  # fmt: skip

_TEXT_COLUMNS: Final = (
    Column("verdict"),
    Column("trace"),
    Column("levels", "before → after", right=True),
    Column("change", "change (95 %)", right=True),
    Column("detectable", "found from", right=True),
    Column("reason"),
)

_FILES: Final = ("markdown", "html", "json", "junit", "sarif")
_ANNOTATIONS: Final = "annotations"
_SUMMARY: Final = "summary"
_SUMMARY_FILE: Final = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """A form of report, and the file that it goes to; None for the log and for the summary of a job."""

    form: str
    file: Path | None = None

    @property
    def draws(self) -> bool:
        """Whether the form has plots."""
        return self.form in {"markdown", "html", _SUMMARY}


@dataclass(frozen=True, slots=True)
class ReportPlots:
    """What reports draw, by trace key: ``pictures`` as SVG, and ``histories`` as values, oldest first."""

    pictures: Mapping[str, str] = field(default_factory=dict)
    histories: Mapping[str, Sequence[float]] = field(default_factory=dict)


NO_PLOTS: Final = ReportPlots()


def read_targets(texts: Sequence[str]) -> list[ReportTarget]:
    """Read the values of ``--report``: ``FORM=FILE``, ``annotations`` or ``summary``.

    Raises:
        InputError: no such form, or a file is missing or too many.
    """
    targets = []
    for text in texts:
        form, equals, file = text.partition("=")
        if form in _FILES and file:
            targets.append(ReportTarget(form, Path(file)))
        elif form == _ANNOTATIONS and not equals:
            targets.append(ReportTarget(form))
        elif form == _SUMMARY and not equals:
            targets.append(ReportTarget(form, _summary_file()))
        else:
            raise InputError(
                f"{text!r} is not a report",
                where="--report",
                remedy=f"Write FORM=FILE with {', '.join(_FILES)} as the form, or {_ANNOTATIONS}, or {_SUMMARY}.",
            )
    return targets


def _summary_file() -> Path:
    named = os.environ.get(_SUMMARY_FILE)
    if not named:
        raise InputError(
            f"the variable {_SUMMARY_FILE} is not set",
            where="--report summary",
            remedy="Run in a job of GitHub Actions, or write markdown=FILE.",
        )
    return Path(named)


def print_gate(
    report: GateReport,
    output: OutputFormat,
    *,
    everything: bool,
    targets: Sequence[ReportTarget],
    plots: ReportPlots = NO_PLOTS,
    instance: str | None,
) -> None:
    """Print a verdict and its warnings, and write the reports; ``instance`` is the directory that the command names.

    Text for people lists what is unchanged with ``everything`` only. Annotations go to standard output, or beside rows
    for programs to standard error: GitHub reads both.

    Raises:
        InputError: a file cannot be written.
    """
    rows = _rows(report)
    if output is not OutputFormat.TEXT:
        show(_COLUMNS, rows, output)
    elif report.benchmarks or report.complete:
        echo_rendered(_text(report, everything=everything))
    written: dict[str, Callable[[], str]] = {
        "markdown": lambda: markdown_comment(report, plots.histories),
        _SUMMARY: lambda: markdown_comment(report, plots.histories),
        "html": lambda: html_page(report, plots.pictures),
        "json": lambda: render(_COLUMNS, rows, OutputFormat.JSON),
        "junit": lambda: junit(report),
        "sarif": lambda: sarif(report, file=_configuration_file(instance), version=__version__),
    }
    for target in targets:
        if target.file is None:
            click.echo(workflow_commands(report), nl=False, err=output is not OutputFormat.TEXT)
            continue
        text = written[target.form]()
        try:
            with target.file.open("a" if target.form == _SUMMARY else "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror}", where=str(target.file), remedy="Choose another place."
            ) from error
    for warning in report.warnings:
        click.echo(f"knick: {warning}", err=True)


def _rows(report: GateReport) -> list[Row]:
    """Return one row a benchmark for programs."""
    base, head = report.sides.base, report.sides.head
    whole: Row = {
        "condition": report.condition or None,
        "again": report.again,
        "base": base.hash if base else None,
        "base_time": base.time.isoformat() if base and base.has_time else None,
        "base_subject": base.subject if base else None,
        "base_reason": report.sides.reason,
        "base_commits": report.sides.measured,
        "head": head.hash if head else None,
    }
    return [
        {
            **{name: getattr(each, name) for name in _BENCHMARK},
            "verdict": each.verdict.value,
            "attribution": each.attribution.value,
            "accepted": each.accepted.reason if each.accepted else None,
            "fails": report.standing(each) is Standing.FAILS,
            "false_positives": report.results.false_positives,
            **whole,
        }
        for each in report.benchmarks
    ]


def _text(report: GateReport, *, everything: bool) -> str:
    """Return the text; ``everything`` lists what is unchanged, too."""
    parts = ["\n".join(without_control(line) for line in answer(report)) + "\n"]
    canaries = [row for row in report.worst_first if row.canary]
    parts += _table("", report.deciding if everything else report.listed)
    parts += _table(
        "Other statistics, without effect on the verdict:", report.beside if everything else _changed(report.beside)
    )
    parts += _table("Canaries:", canaries if everything else _changed(canaries))
    return "\n".join(parts)


def _changed(rows: Sequence[JudgedBenchmark]) -> list[JudgedBenchmark]:
    return [row for row in rows if row.kind is not ResultKind.UNCHANGED]


def _table(heading: str, rows: Sequence[JudgedBenchmark]) -> list[str]:
    if not rows:
        return []
    table = render(_TEXT_COLUMNS, [_cells(row) for row in rows], OutputFormat.TEXT, coloured=True)
    return [f"{heading}\n{table}" if heading else table]


def _cells(row: JudgedBenchmark) -> Row:
    return {
        "verdict": "accepted" if row.accepted else row.kind.value,
        "trace": row.trace,
        "levels": levels(row),
        "change": change(row),
        "detectable": found_from(row),
        "reason": reason(row),
    }


def _configuration_file(instance: str | None) -> str:
    """Return the path of the configuration in the repository of the working directory.

    Its name where it is not in there.
    """
    from knickpoint.history import find_work_tree
    from knickpoint.instance import CONFIG_FILE, find_instance

    try:
        path = (Path(instance) if instance is not None else find_instance()).resolve() / CONFIG_FILE
    except ConfigError:
        return CONFIG_FILE
    top = (find_work_tree(Path.cwd()) or Path.cwd()).resolve()
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else CONFIG_FILE
