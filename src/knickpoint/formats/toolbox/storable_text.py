"""Make texts storable: databases refuse half characters (lone surrogates) and NUL."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Final

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.commit import Commit
from knickpoint.model.report import Report, ResultTable, RunReport

_UNKEEPABLE: Final = re.compile("[\x00\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
"""How JSON writes what no database keeps; two halves that follow each other are a whole character."""
_BINARY: Final = b"PAR1"


def may_need_tidying(file: FileContent) -> bool:
    """Return True if the texts of ``file`` may hold what cannot be kept; nearly none do."""
    if file.data.startswith(_BINARY):
        return True
    return "\x00" in file.text or ("\\u" in file.text and _ESCAPE.search(file.text) is not None)


def keepable(report: Report) -> Report:
    """Return ``report`` with U+FFFD in place of every half of a character and NUL in its texts.

    Names of series have none: :mod:`knickpoint.formats.toolbox.result_rows` makes them tidy, or refuses them.
    """
    return dataclasses.replace(
        report,
        runs=tuple(_run(run) for run in report.runs),
        commits=tuple(_commit(commit) for commit in report.commits),
        repository=keepable_text(report.repository),
    )


def keepable_text(text: str) -> str:
    """Return ``text`` with U+FFFD in place of every half of a character and NUL."""
    return _UNKEEPABLE.sub("\ufffd", text)


def _pairs(texts: Mapping[str, str]) -> dict[str, str]:
    return {keepable_text(name): keepable_text(text) for name, text in texts.items()}


def _run(run: RunReport) -> RunReport:
    return dataclasses.replace(
        run,
        results=_table(run.results),
        entry=keepable_text(run.entry),
        revision=keepable_text(run.revision),
        branch=keepable_text(run.branch),
        identity=keepable_text(run.identity),
        environment=_pairs(run.environment),
        links=_pairs(run.links),
        revisions=_pairs(run.revisions),
    )


def _table(table: ResultTable) -> ResultTable:
    return dataclasses.replace(
        table,
        units=tuple(map(keepable_text, table.units)),
        messages={place: keepable_text(message) for place, message in table.messages.items()},
        summaries={
            place: {keepable_text(name): number for name, number in summary.items()}
            for place, summary in table.summaries.items()
        },
        links={place: _pairs(links) for place, links in table.links.items()},
    )


def _commit(commit: Commit) -> Commit:
    return dataclasses.replace(
        commit,
        hash=keepable_text(commit.hash),
        author=keepable_text(commit.author),
        email=keepable_text(commit.email),
        subject=keepable_text(commit.subject),
        url=keepable_text(commit.url),
    )
