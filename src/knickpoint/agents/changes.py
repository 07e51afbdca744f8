"""The tools about changes: list them, explain one, see the evidence in a trace, and record what a person decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Final

from pydantic import Field

from knickpoint.agents.tool import (
    First,
    LineName,
    Page,
    Reply,
    RepositoryName,
    Request,
    Said,
    Session,
    call,
    commit_facts,
    hash_text,
    percent,
    tool,
    trace_facts,
)
from knickpoint.answers.base import ChangeId, ChangePointId, Id, Text
from knickpoint.answers.bisections import list_recipes
from knickpoint.answers.changes import (
    ChangeAnswer,
    LikelyCommitAnswer,
    Listing,
    Ordering,
    count_changes,
    list_changes_of,
    list_members,
)
from knickpoint.answers.changes import list_changes as list_page
from knickpoint.answers.commits import list_repositories as list_sizes
from knickpoint.answers.explanations import CandidateAnswer, explain
from knickpoint.answers.filters import AlertKindFilter, ListFilter, Tab
from knickpoint.answers.members import ChangePointAnswer, list_suspects
from knickpoint.answers.triage import Entries, TriageAnswer, TriageRequest, UndoRequest
from knickpoint.answers.triage import decide as decide_about
from knickpoint.answers.triage import undo as undo_entries
from knickpoint.model.access import Permission
from knickpoint.model.change_point import Status
from knickpoint.model.commit import short_name
from knickpoint.model.errors import InputError
from knickpoint.model.statement import Basis, ChangeDirection

_PAGE: Final = 20
_FEW: Final = 5
_MOST_CHECKS: Final = 8
EVERY_CHANGE: Final = ListFilter(all=True, alert_kind=AlertKindFilter.ANY)
_GONE: Final = ListFilter(gone=True, alert_kind=AlertKindFilter.ANY)


class RepositoriesRequest(Request):
    """No input."""


@tool()
def list_repositories(session: Session, asked: RepositoriesRequest) -> Reply:  # noqa: ARG001
    """List the repositories with benchmark results, and how much there is of each. Begin here.

    A repository has lines, which are branches by first parent; the first one is the main line. A trace is one
    benchmark in one configuration, with a value for each measured commit. `unprocessed` counts the changes about which
    nobody has decided yet.
    """
    items = [
        {
            "repository": each.name,
            "lines": each.lines[:_FEW],
            "commits": each.commits,
            "traces": each.traces,
            "unprocessed": count_changes(session.visible, ListFilter(repository=each.name)).unprocessed,
        }
        for each in list_sizes(session.visible)
    ]
    return Reply({}, Page("repositories", items, 0, len(items)), [call("list_changes"), call("find_traces", query="")])


class ChangesRequest(Request):
    """Which changes."""

    repository: RepositoryName = ""
    which: Tab = Field(
        default=Tab.UNPROCESSED,
        description="`unprocessed`: nobody has decided yet; `processed`: somebody has; `history`: old ones; `gone`: "
        "later results no longer show them; `all`: all but `gone`.",
    )
    words: Text = Field(
        default="", max_length=1000, description="Words that all occur in the trace, or in hash, author or subject."
    )
    direction: ChangeDirection | None = Field(default=None, description="Only changes of this direction.")
    since: date | None = Field(default=None, description="Only changes at commits of this day or later (UTC).")
    until: date | None = Field(default=None, description="Only changes at commits of this day or earlier (UTC).")
    first: First = 0


@tool()
def list_changes(session: Session, asked: ChangesRequest) -> Reply:
    """List performance changes, the worst first: what got slower, faster, larger or smaller, and since which commit.

    A change is a lasting shift of the level of one or more traces, found by statistics and not by one value.
    `certainty`: a `settled` change stays, a `provisional` one rests on few values and may vanish. `condition`: whether
    the data of today still show it. `likely_commit` has the probability that this commit made the change; its `basis`
    says why: `bisected`, which was measured, `only`, no other is in the range, or `suspect`, by what commits touch.
    """
    wanted = ListFilter(
        repository=asked.repository,
        filter=asked.words,
        direction=asked.direction,
        since=asked.since,
        until=asked.until,
        processed=asked.which is Tab.PROCESSED,
        history=asked.which is Tab.HISTORY,
        all=asked.which is Tab.ALL,
        gone=asked.which is Tab.GONE,
    )
    page, skipped = divmod(asked.first, _PAGE)
    listing = Listing(wanted, Ordering.CHANGE, descending=True, page=page + 1, size=_PAGE, members=1)
    found = list_page(session.visible, listing)
    items = [_change(each) for each in found.changes[skipped:]] if page < found.pages else []
    facts = {"counts": {each.value: getattr(found, each.value) for each in Tab}}
    following = [call("explain_change", change=f"R{found.changes[skipped].id}")] if items else []
    return Reply(facts, Page("changes", items, asked.first, found.total), following)


def _change(each: ChangeAnswer) -> dict[str, object]:
    """Describe a change as lists do."""
    stated = each.statement
    return {
        "change": Said(f"R{each.id}"),
        "repository": each.repository,
        "says": stated and stated.headline,
        "direction": stated and stated.direction,
        "certainty": each.certainty,
        "condition": stated and stated.condition,
        "traces": each.traces,
        "since": commit_facts(each.commit),
        "suspect_commits": each.suspect_range.commits,
        "likely_commit": _likely(stated.likely) if stated else None,
        "decision": stated and stated.decision,
        "top_trace": each.members[0].trace.key if each.members else "",
    }


def _likely(likely: LikelyCommitAnswer | None) -> dict[str, object] | None:
    if likely is None:
        return None
    return {**commit_facts(likely.commit), "probability": likely.probability, "basis": likely.basis}


class ChangeRequest(Request):
    """Which change, and which of its traces."""

    change: ChangeId = Field(description="Id of the change, as `R12`.")
    after: ChangePointId | None = Field(
        default=None, description="Id of the last trace's change point of the page before, as `P34`."
    )


@tool()
def explain_change(session: Session, asked: ChangeRequest) -> Reply:
    """Explain one change: what it is, how sure that is, which commits may have made it and why, and each of its traces.

    The change lies in the suspect range: behind `previous`, the last commit measured before it, up to and including
    `since`. `suspects` are commits of the range by probability, before any commit is measured again; a probability is
    not a proof. A commit found by a bisection was measured. `between` is the 95 % interval of the size of a step.
    """
    change, wanted = _find(session, asked.change)
    stated, reach = change.statement, change.suspect_range
    suspects = list_suspects(session.visible, asked.change)
    listed = list_members(session.visible, asked.change, wanted, after=asked.after, size=_PAGE)
    members = listed.members
    facts = {
        **_change(change),
        "kind": stated and stated.kind,
        "undone_at": commit_facts(stated.undone_at) if stated and stated.undone_at else None,
        "held_back_because": change.held,
        "machine": stated and stated.machine,
        "cause": stated and stated.cause,
        "ticket": stated and stated.ticket,
        "line": reach.line,
        "previous": {"hash": hash_text(short_name(reach.previous_hash)), "position": reach.previous},
        "suspects_ranked": suspects.ranked,
        "suspects_note": suspects.note,
        "no_suspect_probability": suspects.none,
        "suspects": [
            {**commit_facts(each.commit), "probability": each.probability, "reasons": each.reasons[:_FEW]}
            for each in suspects.suspects[:_FEW]
        ],
        "note": change.decided and change.decided.note,
        "bisection": change.bisection
        and {
            "bisection": Said(f"B{change.bisection.id}"),
            "state": change.bisection.state,
            "probability": change.bisection.probability,
        },
    }
    page = Page(
        "steps",
        [_step(each) for each in members],
        0,
        None if asked.after else change.traces,
        listed.after is not None,
        lambda shown: f'after="P{members[shown - 1].id}"',
    )
    return Reply(facts, page, list(_next_calls(session, change, members)))


def _find(session: Session, key: int) -> tuple[ChangeAnswer, ListFilter]:
    """Return a change, and the list that it is on."""
    session.visible.of_change(key)
    for wanted in (EVERY_CHANGE, _GONE):
        if found := list_changes_of(session.visible, wanted, [key]):
            return found[0], wanted
    raise InputError(f"change R{key} no longer has any traces", where="change", remedy="List the changes again.")


def _step(each: ChangePointAnswer) -> dict[str, object]:
    """Describe the step of one trace."""
    level = abs(each.before_level)
    ends = [percent(end / level) for end in (each.low, each.high) if end is not None and level]
    return {
        "step": Said(f"P{each.id}"),
        **trace_facts(each.trace),
        "direction": each.direction,
        "size": percent(each.relative_size),
        "between": Said(" and ".join(filter(None, ends))),
        "level_before": each.before_level,
        "level_after": each.after_level,
        "values_before": each.before.count,
        "values_after": each.after.count,
        "chance_of_right_sign": each.sign,
        "p_value": each.p_value,
        "commit": hash_text(each.commit.short),
    }


def _next_calls(session: Session, change: ChangeAnswer, members: Sequence[ChangePointAnswer]) -> Iterator[str]:
    name, stated = f"R{change.id}", change.statement
    if members:
        commit = hash_text(members[0].commit.short)
        near = {"commit": str(commit)} if isinstance(commit, Said) else {}
        yield call("check_evidence", trace=members[0].trace.id, **near)
        yield call("trace_values", trace=members[0].trace.id)
    if change.bisection:
        yield call("show_bisection", bisection=f"B{change.bisection.id}")
    elif session.may(Permission.MEASURE) and not (stated and stated.likely and stated.likely.basis is Basis.BISECTED):
        for recipe in list_recipes(session.visible, session.instance, change.id)[:1]:
            yield call("start_bisection", change=name, recipe=recipe)
    if session.may(Permission.DECIDE):
        yield call("decide", changes=[name], status="acknowledged", note="…")


class EvidenceRequest(Request):
    """Which trace, and near which commit."""

    trace: Id = Field(description="Id of the trace, a number.")
    commit: Text = Field(
        default="", max_length=1000, description="Only what lies near this commit: a hash or a unique beginning of one."
    )
    line: LineName = ""
    alert: Text = Field(
        default="", max_length=1000, description="Name of the alert. Default: the first that watches it."
    )
    first: First = 0


@tool()
def check_evidence(session: Session, asked: EvidenceRequest) -> Reply:
    """Show why the statistics see a change in a trace, or why they see none: each candidate with the checks it passed.

    A check compares a number with a bound. A candidate that failed a check is not a change, however large the
    difference of two values looks. `flipping` are stretches that jump between levels without a change of the code.
    """
    found = explain(
        session.instance,
        session.visible,
        asked.trace,
        line_name=asked.line,
        alert_name=asked.alert,
        commit=asked.commit,
    )
    facts = {
        **trace_facts(found.trace),
        "line": found.line,
        "method": found.method,
        "alert": found.alert,
        "not_judged_because": found.reason,
        "flipping": [
            {"first": each.first, "last": each.last, "levels": each.levels[:_FEW], "explained_by": each.fact}
            for each in found.flipping[:_FEW]
        ],
        "left_out": found.omitted or None,
    }
    ordered = sorted(found.candidates, key=lambda each: (not each.accepted, -each.position))
    items = [_candidate(each) for each in ordered[asked.first :][:_PAGE]]
    calls = [call("trace_values", trace=asked.trace)]
    return Reply(facts, Page("candidates", items, asked.first, len(ordered)), calls)


def _candidate(each: CandidateAnswer) -> dict[str, object]:
    return {
        "commit": commit_facts(each.commit),
        "accepted": each.accepted,
        "rejected_because": each.reason,
        "note": each.note,
        "step": Said(f"P{each.finding}") if each.finding else None,
        "checks": [
            {
                "name": check.name,
                "value": check.value,
                "must_be": Said(check.relation),
                "bound": check.bound,
                "passed": check.passed,
            }
            for check in each.checks[:_MOST_CHECKS]
        ],
    }


class DecideRequest(Request):
    """What is decided, and about what."""

    changes: list[ChangeId] = Field(min_length=1, max_length=50, description='Ids of changes, as `["R12"]`.')
    status: Status = Field(
        description="`acknowledged`: it is real and known; `hidden`: it is noise; `ticket`: a ticket is about it, which "
        "needs `ticket`; `new`: nobody has decided yet."
    )
    note: Annotated[Text, Field(max_length=2_000)] = Field(
        default="", description="Why, for the people who read it later. Empty keeps the note there is."
    )
    ticket: Annotated[Text, Field(max_length=500)] = Field(default="", description="Key or address of the ticket.")


@tool(Permission.DECIDE)
def decide(session: Session, asked: DecideRequest) -> Reply:
    """Record a decision about changes under the name of the caller. Only do this when a person asked for it.

    Nothing is deleted; `undo_decision` takes the decision back as a whole.
    """
    request = TriageRequest(
        changes=asked.changes,
        status=asked.status,
        note=asked.note or None,
        ticket=asked.ticket or None,
        filter=EVERY_CHANGE,
    )
    return _decided(decide_about(session.visible, request))


class UndoDecisionRequest(Request):
    """Which decision."""

    first_entry: Id | None = Field(default=None, description="`first_entry` of the reply of `decide`.")
    last_entry: Id | None = Field(default=None, description="`last_entry` of the reply of `decide`.")
    changes: list[ChangeId] = Field(
        default=[], max_length=50, description="Instead: the changes whose last decisions are taken back."
    )


@tool(Permission.DECIDE)
def undo_decision(session: Session, asked: UndoDecisionRequest) -> Reply:
    """Take a decision back as a whole. Changes about which somebody decided later keep the later decision.

    Without the reply of `decide`, name the changes; `list_changes(which='processed')` lists what was decided.
    """
    entries = None
    if asked.first_entry is not None and asked.last_entry is not None:
        entries = Entries(first=asked.first_entry, last=asked.last_entry)
    ids: list[int] = []
    for change in asked.changes:
        session.visible.of_change(change)
        ids += [each.id for each in session.visible.store.findings.live_members(change)]
    return _decided(undo_entries(session.visible, UndoRequest(ids=ids, entries=entries, filter=EVERY_CHANGE)))


def _decided(done: TriageAnswer) -> Reply:
    """Describe the effect of a decision."""
    entries = done.entries
    facts = {
        "changed_steps": done.changed,
        "first_entry": entries and entries.first,
        "last_entry": entries and entries.last,
    }
    items: list[dict[str, object]] = [
        {
            "change": Said(f"R{each.id}"),
            "decision": each.statement and each.statement.decision,
            "says": each.statement and each.statement.headline,
        }
        for each in done.changes
    ]
    undo = [call("undo_decision", first_entry=entries.first, last_entry=entries.last)] if entries else []
    return Reply(facts, Page("changes", items, 0, len(items)), [*undo, call("list_changes")])
