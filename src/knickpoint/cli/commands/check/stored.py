"""Judge results that are in the store already: a commit against the history of another one, as the page *Compare* does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knickpoint.cli.commands.check.judged import CheckOptions, JudgedResults, decide_by
from knickpoint.cli.options import open_chosen_instance
from knickpoint.cli.trace_argument import chosen_repositories, parse_terms
from knickpoint.cli.trace_suggestions import no_trace_remedy
from knickpoint.ingest.commit_sources.git_repository import open_present_git
from knickpoint.ingest.comparison_base import ACCEPT_TRAILER
from knickpoint.instance.named_commits import find_revision
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.summary import MEDIAN
from knickpoint.watch.commit_comparison import ComparedTrace, LinePosition, compare_commits
from knickpoint.watch.results_check import CheckedTrace, CheckReport

if TYPE_CHECKING:
    from knickpoint.cli.output import Row
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.model.summary import Summary

__all__ = ["STORED_VALUES", "judge_stored"]

STORED_VALUES: Final = 3
"""New values of a trace that count where no number is given, as on the page."""


def judge_stored(
    instance: str | None, commit: str, base: str, *, line: str, values: int, options: CheckOptions
) -> JudgedResults:
    """Judge ``commit`` against the history up to ``base``; both are names of commits in the store.

    ``values`` is how many of its newest values up to ``commit``, of commits that the base does not have, stand for a trace.

    Raises:
        InputError: there is no base, or it has every commit of the new side; or no trace matches; or there are several
            repositories, and none is named.
        HistoryError: there is no such repository, line or commit.
        QueryError: the query cannot be read.
    """
    if not base:
        raise InputError(
            f"--stored {commit} has nothing to compare with",
            where="--base",
            remedy=f"Name the last commit of the old side: knick check --stored {commit} --base REF.",
        )
    with open_chosen_instance(instance) as opened:
        store, repository = opened.store, _repository(opened, options.repository)
        rules = options.rules(opened.config.check)
        old = find_revision(opened, store.commits.line(repository, line), base)
        new = _new_side(opened, repository, old, commit)
        ids = store.traces.select(repository, parse_terms(store, [repository], options.query)).tolist()
        if not ids:
            remedy = no_trace_remedy(store, [repository], options.query)
            raise InputError(f"no trace matches {options.query!r}", where="--query", remedy=remedy)
        found = compare_commits(
            store,
            old,
            new,
            ids,
            values=values,
            summary=rules.summary,
            false_positives=rules.false_positives,
            minimum_effect=rules.minimum_effect,
        )
        report = CheckReport(
            old.line.name,
            old.line.slots[old.position],
            tuple(map(_checked, found.traces)),
            found.counts,
            false_positives=found.false_positives,
            replayed=found.replayed,
        )
        before, after = (_commit(opened, each) for each in (old, new))
        gate, canaries, warnings = decide_by(
            opened.config,
            report,
            options,
            repository=repository.name,
            base=_sentence(before, after, values, rules.summary),
            accepted=_trailers(opened, repository, before, after),
        )
    fields: Row = {
        "base": before.hash,
        "base_time": before.time.isoformat() if before.has_time else None,
        "base_subject": before.subject,
        "base_reason": f"--base {base}",
        "base_commits": old.position + 1,
        "head": after.hash,
    }
    return JudgedResults(report, gate, fields, canaries, warnings)


def _repository(opened: Instance, name: str) -> Repository:
    """Return the repository of that name, or the only one."""
    found = chosen_repositories(opened.store, name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError("the store has no results", remedy="Import some: knick import PATH.")
    names = ", ".join(each.name for each in found)
    raise InputError("there are several repositories", where="--repository", remedy=f"Name one: {names}.")


def _new_side(opened: Instance, repository: Repository, old: LinePosition, name: str) -> LinePosition:
    """Return the place of a commit on the line of the base, else on the first line that has it."""
    lines = opened.store.commits.lines(repository)
    others = [opened.store.commits.line(repository, each) for each in lines if each != old.line.name]
    try:
        return find_revision(opened, old.line, name)
    except HistoryError:
        known = opened.store.commits.find(repository, name)
        line = next((each for each in others if known and known.slot in each.positions), None)
        if known is None or line is None:
            raise
        return LinePosition(line, line.positions[known.slot])


def _commit(opened: Instance, at: LinePosition) -> Commit:
    (found,) = opened.store.commits.get(at.line.repository, [at.line.slots[at.position]])
    return found.commit


def _trailers(opened: Instance, repository: Repository, before: Commit, after: Commit) -> list[tuple[Commit, str]]:
    """Return the trailers that accept changes between the two, where git has both."""
    settings = opened.repositories.get(repository.name)
    git = open_present_git(repository.name, settings, opened.directory) if settings else None
    if git is None or len(git.resolve([before.hash, after.hash])) < len({before.hash, after.hash}):
        return []
    return list(git.trailers(ACCEPT_TRAILER, after.hash, without=[before.hash]))


def _checked(each: ComparedTrace) -> CheckedTrace:
    trace = each.trace
    return CheckedTrace(
        trace.key,
        trace,
        trace.unit,
        each.new,
        each.judgement,
        better=trace.better,
        margin=each.margin,
        past=each.past,
        decides=each.decides,
    )


def _sentence(before: Commit, after: Commit, values: int, summary: Summary) -> str:
    """Return the sentence about the two sides, and what of them is compared."""
    sides = f"Base: {_named(before)}. New: {_named(after)}, with the newest"
    sides += f" {counted(values, 'value')} of each benchmark that the base does not have."
    return sides if summary == MEDIAN else f"{sides} Compared: the {summary} of the samples of each commit."


def _named(commit: Commit) -> str:
    subject = f" {commit.subject!r}" if commit.subject else ""
    return f"{commit.hash[:12]}{subject} of {commit.time:%Y-%m-%d %H:%M} UTC"
