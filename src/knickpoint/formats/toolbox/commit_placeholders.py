"""Remove from a report what a tool wrote in place of a commit that it did not know."""

from __future__ import annotations

import dataclasses

from knickpoint.model.report import Report
from knickpoint.model.revision import commit_name, is_placeholder

__all__ = ["without_placeholders"]


def without_placeholders(report: Report) -> Report:
    """Return ``report`` with revisions that name a commit, or are empty, and with commits that have a name."""
    if not any(is_placeholder(run.revision) for run in report.runs) and not any(
        is_placeholder(commit.hash) for commit in report.commits
    ):
        return report
    return dataclasses.replace(
        report,
        runs=tuple(dataclasses.replace(run, revision=commit_name(run.revision)) for run in report.runs),
        commits=tuple(commit for commit in report.commits if not is_placeholder(commit.hash)),
    )
