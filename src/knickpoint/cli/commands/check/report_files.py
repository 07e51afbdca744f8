"""Write reports where ``--report`` says: files, the log of a job of GitHub Actions, and the summary of that job."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from knickpoint.model.errors import ConfigError, InputError
from knickpoint.reports import GateReport, html_page, junit, markdown_comment, sarif, workflow_commands
from knickpoint.version import __version__

__all__ = ["NO_PLOTS", "ReportPlots", "ReportTarget", "read_targets", "write_reports"]

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
                f"{text!r} is no report",
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


def write_reports(
    targets: Sequence[ReportTarget],
    report: GateReport,
    *,
    rows: str,
    plots: ReportPlots = NO_PLOTS,
    instance: str | None,
    to_errors: bool,
) -> None:
    """Write the reports; ``rows`` are the rows as JSON, ``instance`` is the directory that the command names.

    Annotations go to standard output, or with ``to_errors`` to standard error: GitHub reads both.

    Raises:
        InputError: a file cannot be written.
    """
    written: dict[str, Callable[[], str]] = {
        "markdown": lambda: markdown_comment(report, plots.histories),
        _SUMMARY: lambda: markdown_comment(report, plots.histories),
        "html": lambda: html_page(report, plots.pictures),
        "json": lambda: rows,
        "junit": lambda: junit(report),
        "sarif": lambda: sarif(report, file=_configuration_file(instance), version=__version__),
    }
    for target in targets:
        if target.file is None:
            click.echo(workflow_commands(report), nl=False, err=to_errors)
            continue
        text = written[target.form]()
        try:
            with target.file.open("a" if target.form == _SUMMARY else "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror}", where=str(target.file), remedy="Choose another place."
            ) from error


def _configuration_file(instance: str | None) -> str:
    """Return the path of the configuration in the repository of the working directory; its name where it is not in there."""
    from knickpoint.history import find_work_tree
    from knickpoint.instance import CONFIG_FILE, find_instance

    try:
        path = (Path(instance) if instance is not None else find_instance()).resolve() / CONFIG_FILE
    except ConfigError:
        return CONFIG_FILE
    top = (find_work_tree(Path.cwd()) or Path.cwd()).resolve()
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else CONFIG_FILE
