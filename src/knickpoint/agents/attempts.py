"""The tools about sessions of attempts to make something faster: start one, try a commit, report, and stop."""

from __future__ import annotations

import time
from typing import Annotated, Final

from pydantic import Field

from knickpoint.agents.tool import (
    First,
    Page,
    Reply,
    RepositoryName,
    Request,
    Said,
    Session,
    call,
    hash_text,
    percent,
    share_text,
    tool,
)
from knickpoint.answers.base import AttemptsId, Text
from knickpoint.answers.visible_repositories import UnknownError
from knickpoint.bisect.attempt_record import Attempt, AttemptJournal
from knickpoint.bisect.attempts import AttemptVerdict, SessionRules, Stage
from knickpoint.instance.attempts import (
    StoredAttempts,
    allowed_recipes,
    find_attempts,
    hours_of_a_day,
    list_attempts,
)
from knickpoint.instance.attempts import start_attempts as begin
from knickpoint.instance.attempts import stop_attempts as stop
from knickpoint.instance.attempts import try_commit as ask
from knickpoint.model.access import Permission
from knickpoint.model.errors import AbsentError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.plain_text import counted

_PAGE: Final = 30
_FEW: Final = 5
_LOOK_SECONDS: Final = 0.2

SessionId = Annotated[AttemptsId, Field(description="Id of the session, as `T3`.")]


class StartAttemptsRequest(Request):
    """What attempts are compared with, and how they are measured."""

    base: Text = Field(
        min_length=1, max_length=200, description="The commit that attempts are compared with: a hash, tag or branch."
    )
    recipe: Text = Field(
        default="",
        max_length=200,
        description="Name of a recipe of the configuration. Default: the only one that fits.",
    )
    repository: RepositoryName = ""


@tool(Permission.MEASURE)
def start_attempts(session: Session, asked: StartAttemptsRequest) -> Reply:
    """Start a session of attempts to make something faster than a base commit, which guards against luck.

    However many commits are tried, few sessions in which nothing is faster confirm one: 1 %, if not configured. Only
    commands of the configuration are run. Where a session with the same base and recipe is open, that one is returned.
    Then commit an edit, without a change of the benchmarks, their data or the build, and call `try_commit`.
    """
    repository = session.visible.choose(asked.repository)
    session.visible.require(Permission.MEASURE, [repository])
    settings = session.instance.config.try_
    rules = SessionRules(settings.error, most_rounds=settings.most_rounds)
    who = session.visible.caller.name
    begun = begin(session.instance, repository.name, asked.base, asked.recipe, who=who, rules=rules)
    facts = {
        **_about(begun),
        "recipes": allowed_recipes(session.instance, repository.name)[:_FEW],
        "protected": list(begun.session.protected),
    }
    return Reply(facts, next=_calls(session, begun))


class TryRequest(Request):
    """Which commit, in which session."""

    session: SessionId
    commit: Text = Field(min_length=1, max_length=200, description="The commit to try: a hash, tag or branch.")


@tool(Permission.MEASURE)
def try_commit(session: Session, asked: TryRequest) -> Reply:
    """Have a commit measured in turns with the base of a session, which takes minutes; return at once.

    One commit at a time. It is tested and measured by a process of its own, also when the connection ends.
    `report_attempts` has the verdict.
    """
    found = _find(session, asked.session, Permission.MEASURE)
    commit = ask(session.instance, found.id, asked.commit, who=session.visible.caller.name)
    facts = {"session": Said(found.name), "commit": hash_text(commit), "state": Said("measuring")}
    return Reply(facts, next=[_report(session, found)])


class ReportRequest(Request):
    """Which session."""

    session: AttemptsId | None = Field(
        default=None, description="Id of the session, as `T3`. Default: list the sessions."
    )
    wait: int = Field(
        default=0,
        ge=0,
        le=50,
        description="Seconds to wait for the end of an attempt that is measured; over stdio only.",
    )
    first: First = 0


@tool()
def report_attempts(session: Session, asked: ReportRequest) -> Reply:
    """Report a session of attempts: the verdict on each, the newest first, with the sizes of those that are confirmed.

    `confirmed faster`: it is, by the size `between`. `not faster`: no claim, however good its values look. `something
    is worse`, `tests fail`, `changed results`, `changed measurement`: no speed-up makes up for that. An attempt that
    was `interrupted` goes on when its commit is tried again. Claim nothing but `confirmed faster`, and give its size.
    """
    if asked.session is None:
        known = [each for each in list_attempts(session.instance) if _may_see(session, each)]
        items = [_about(each) for each in known[asked.first :][:_PAGE]]
        calls = [call("report_attempts", session=each.name) for each in known[:1]]
        if session.may(Permission.MEASURE):
            calls.append(call("start_attempts", base="…"))
        return Reply({}, Page("sessions", items, asked.first, len(known)), calls)
    found = _find(session, asked.session)
    limit = time.monotonic() + (asked.wait if session.local else 0)
    while found.measuring and time.monotonic() < limit:
        time.sleep(_LOOK_SECONDS)
        found = find_attempts(session.instance, found.id)
    return _reported(session, found, asked.first)


class StopAttemptsRequest(Request):
    """Which session."""

    session: SessionId


@tool(Permission.MEASURE)
def stop_attempts(session: Session, asked: StopAttemptsRequest) -> Reply:
    """End a session of attempts, with the attempt that is being measured. Its record stays."""
    found = _find(session, asked.session, Permission.MEASURE)
    return _reported(session, stop(session.instance, found.id, who=session.visible.caller.name))


def _may_see(session: Session, found: StoredAttempts) -> bool:
    return any(each.name == found.session.repository for each in session.visible.all())


def _find(session: Session, key: int, permission: Permission = Permission.READ) -> StoredAttempts:
    """Return a session of a repository for which the caller has a permission."""
    try:
        found = find_attempts(session.instance, key)
    except AbsentError:
        found = None
    if found is None or not _may_see(session, found):
        raise UnknownError(f"there is no session T{key}", where="session", remedy="List them with report_attempts.")
    session.visible.require(permission, [session.visible.choose(found.session.repository)])
    return found


def _about(found: StoredAttempts) -> dict[str, object]:
    made = found.session
    state = "ended" if made.ended else "measuring" if found.measuring else "open"
    return {
        "session": Said(found.name),
        "state": Said(state),
        "repository": made.repository,
        "base": hash_text(made.base[:12]),
        "recipe": made.recipe.name,
        "machine": made.machine,
        "by": made.who,
        "started": made.started,
        "attempts": len(made.attempts),
        "attempts_of_earlier_sessions": made.earlier or None,
        "confirmed": sum(_verdict(each) is AttemptVerdict.CONFIRMED for each in made.attempts),
    }


def _verdict(attempt: Attempt) -> AttemptVerdict | None:
    return attempt.end.verdict if attempt.end else None


def _reported(session: Session, found: StoredAttempts, first: int = 0) -> Reply:
    made, bounds = found.session, session.instance.config.try_
    facts = {
        **_about(found),
        "chance_of_a_false_claim": share_text(made.rules.error),
        "attempts_left": max(0, bounds.most_attempts - len(made.attempts)),
        "hours_left_today": max(0.0, bounds.budget_hours - hours_of_a_day(session.instance)),
        "printed": found.last_lines if session.local else None,
        "record": str(found.path) if session.local else None,
    }
    newest = [_attempt(number, each) for number, each in enumerate(made.attempts, 1)][::-1]
    if newest and found.measuring:
        newest[0].update(verdict=Said("measuring"), reason=None)
    elif kept := _kept(found):
        newest[0].update(reason=Said(_interrupted(kept)))
    return Reply(facts, Page("tried", newest[first:][:_PAGE], first, len(newest)), _calls(session, found))


def _attempt(number: int, attempt: Attempt) -> dict[str, object]:
    end = attempt.end
    return {
        "attempt": number,
        "commit": hash_text(attempt.commit[:12]),
        "verdict": end.verdict if end else Said("interrupted"),
        "reason": end.reason if end else Said("it has no verdict, and counts as a confirmation"),
        "seconds": attempt.seconds,
        "resumed_in": attempt.interruptions,
        "faster": [_claim(each) for each in end.claims[:_FEW]] if end else [],
    }


def _kept(found: StoredAttempts) -> AttemptJournal | None:
    """Journal of the newest attempt, if it was interrupted and can go on."""
    kept = None if found.measuring or found.session.ended else found.journal
    return kept if kept and kept.goes_on_with(kept.attempt.commit) else None


def _interrupted(kept: AttemptJournal) -> str:
    rounds = max(0, len(kept.rounds.get(kept.stage, ())) - 1)  # the first is the warm-up
    if kept.stage is Stage.CONFIRM:
        rest = "its confirmation counts, and is made anew"
    else:
        rest = f"{counted(rounds, 'round')} of the stage {kept.stage.value} are kept"
    return f"if its commit is tried next, it goes on: {rest}; otherwise it counts as a confirmation"


def _claim(claim: JudgedBenchmark) -> dict[str, object]:
    ends = [percent(end) for end in (claim.low, claim.high)]
    return {
        "key": claim.trace,
        "between": Said(" and ".join(filter(None, ends))),
        "before": claim.before,
        "after": claim.after,
        "unit": claim.unit,
        "better": claim.better,
    }


def _report(session: Session, found: StoredAttempts) -> str:
    return call("report_attempts", session=found.name, **({"wait": 45} if session.local else {}))


def _calls(session: Session, found: StoredAttempts) -> list[str]:
    if found.measuring:
        return [_report(session, found)]
    if found.session.ended or not session.may(Permission.MEASURE):
        return [call("report_attempts")]
    kept = _kept(found)
    commit = kept.attempt.commit if kept else "…"
    return [call("try_commit", session=found.name, commit=commit), call("stop_attempts", session=found.name)]
