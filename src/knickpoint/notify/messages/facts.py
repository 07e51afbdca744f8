"""The facts of a notification, as templates see them: texts, numbers and tuples of a bounded length.

They are read from the store when the message is sent (:mod:`knickpoint.notify.messages.fact_reader`). A template
reaches nothing else, so these dataclasses are the list of its variables; the guide has a table that is made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.model.plain_text import counted


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """A commit.

    Attributes:
        hash: full hash, or the number that the results use instead.
        short: the hash as people write it.
        author: name of the author, "" where it is unknown.
        subject: first line of the commit message, "" where it is unknown.
        date: day of the commit, as in `2026-11-22`, "" where it is unknown.
        address: page of the commit at its host, "" without one.
    """

    hash: str
    short: str
    author: str = ""
    subject: str = ""
    date: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class SuspectCommit:
    """A commit that may have caused the change.

    Attributes:
        commit: the commit.
        probability: between 0 and 1.
        percent: the probability for people, as in `62 %`.
        reasons: why this commit is more or less likely than others.
    """

    commit: CommitFacts
    probability: float
    percent: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LikelyFacts:
    """The commit that most likely made the change.

    Attributes:
        commit: the commit.
        basis: why it is named: `bisected`, `only` (no other commit is in the range), or `suspect` (it stands out).
        probability: between 0 and 1.
        percent: the probability for people, as in `62 %`.
    """

    commit: CommitFacts
    basis: str
    probability: float
    percent: str


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """The suspect range: the commits of which one made the change.

    Attributes:
        line: the branch.
        commits: number of commits in the range.
        last: the newest commit of the range, the first one measured at the new level.
        before: the last commit measured at the old level, which is not in the range; none where it is unknown.
        address: page that compares the two at their host, "" without one.
    """

    line: str
    commits: int
    last: CommitFacts
    before: CommitFacts | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """A trace, and how it changed.

    Attributes:
        id: number of the trace in the API.
        name: name of the benchmark.
        params: the other params, as in `os=linux type=release`.
        trace: the whole trace key.
        unit: unit of the values.
        change: the change in words, as in `12 % slower` or `5× the time`.
        verdict: `worse`, `better`, or `changed` where it is unknown which direction is better.
        levels: both levels with their unit, as in `12.3 ms → 15.1 ms`.
        before: level before the change.
        after: level after the change.
        relative_size: their difference, relative to the level before; none where that level is 0.
        address: page of the trace in the dashboard, "" without a public address.
        between: what the change lies between with 95 %, as in `+21 % to +25 %`; "" where that is unknown.
        over: of a drift, how far it lies from what its alert compares drifts with, as in `4.2 % above the level at
            v1.2`.
        note: which number of the samples the levels are, as in `p99 of the samples`, or how the distribution changed,
            as in `10 to 90 %: 9.8–10.3 → 9.6–12.9 ms`; "" where the levels say all.
    """

    id: int
    name: str
    params: str
    trace: str
    unit: str
    change: str
    verdict: str
    levels: str
    before: float
    after: float
    relative_size: float | None
    address: str = ""
    between: str = ""
    over: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """The links of a change; each is "" where the instance has no public address.

    Attributes:
        change: page of the change in the dashboard.
        noise: signed link to the page where the reader marks the change as noise. It asks before it does so.
        take: signed link to the page where the reader takes the change. It asks before it does so.
    """

    change: str = ""
    noise: str = ""
    take: str = ""


@dataclass(frozen=True, slots=True)
class BisectionFacts:
    """How the newest bisection of a change ended.

    Attributes:
        name: the bisection, as in `B12`.
        state: `culprit`, `range`, `not reproducible` or `gave up`.
        tried: how many probes it made, of how many commits, on which devices.
        meaning: what came of it, as in `The change did not show again: on lab-1, both ends measured 101 ms.`
        remedy: what to do next.
    """

    name: str
    state: str
    tried: str
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """One announced change.

    Attributes:
        kind: `regressed`, `improved`, `moved`, `grew`, `located`, `bisected`, `recovered`, `fixed`, `withdrawn` or
            `returned`.
        sentence: what changed, by how much and where, in one line.
        headline: how many traces changed and by how much, the leading side first, as in `24 faster by up to 46 %; 1
            larger by 0.5 %`.
        direction: `regression`, `improvement`, `mixed`, or `unknown` where it is unknown which direction is better.
        finding_kind: `step`, `drift`, `mode` or `noise`.
        provisional: whether later values may still move the change or take it away.
        certainty_reason: why it is provisional, "" where it is settled.
        repository: name of the repository.
        change: number of the change; people write it as `R12`.
        recovered: whether later values had the earlier level back when the change was announced.
        condition: what the data of today say of the change: `present`, `recovered`, `fixed` or `gone`.
        traces: how many traces changed together.
        worse: how many of them got worse.
        better: how many of them got better.
        lead: the trace that changed most on the leading side, by what is certain of its change.
        others: further traces, in the same order; at most 9.
        others_omitted: traces that are in neither.
        size_to_noise: size of the change in the lead, in standard deviations of its values; none where they do not
            vary.
        interval: number of measured commits by which the place may be off, at either side.
        suspect_range: the commits of which one made the change.
        suspects: the most likely of them; at most 5.
        suspects_omitted: commits of the ranking that are left out here.
        no_suspect_percent: probability that no commit of the ranking is the cause, as in `8 %`, "" without a ranking.
        suspects_note: what limits the ranking, "" if nothing does.
        held: why findings of this change are held back, as in `2 of 5 findings are held back: […]`; "" if none is.
        machine: what changed about the machine at the step, as in `The machine changed: cpu A → B. […]`; "" if nothing
            did.
        profile: what the profiles before and after it say, as in `+18 ms of +20 ms in parse_row (parse.py:120).`; ""
            without any.
        likely: the commit that most likely made the change, and why it is named; none where only the range is known.
        culprits: the commits that made the change, as a bisection measured them: of several, each made one of its own.
        bisection: the bisection that found it, as in `B12`, "" without one.
        outcome: how the newest bisection ended that did not find the one commit which made the change; none without
            one.
        cause: number of the change that brought the earlier level back, 0 without one.
        cause_commit: the commit where the earlier level came back; none where it is unknown.
        first_announced: day of the first announcement about the change, as in `2026-11-22`.
        alerts: names of the alerts that found it.
        severity: `low`, `normal` or `high`, the highest of these alerts.
        owners: who answers for these alerts.
        status: `new`, `acknowledged`, `hidden` or `ticket`: what people decided about the lead.
        assignee: who took it, "" where no person did.
        ticket: ticket of the lead, "" without one.
        reproduce: command line that explains the change again from the stored values.
        picture: name of the attached picture, "" without one.
        announcements: kinds of all announcements about the change up to now, the oldest first.
        links: addresses to go on from here.
    """

    kind: str
    sentence: str
    headline: str
    direction: str
    finding_kind: str
    repository: str
    change: int
    traces: int
    lead: TraceFacts
    suspect_range: RangeFacts
    provisional: bool = False
    certainty_reason: str = ""
    recovered: bool = False
    condition: str = "present"
    worse: int = 0
    better: int = 0
    others: tuple[TraceFacts, ...] = ()
    others_omitted: int = 0
    size_to_noise: float | None = None
    interval: int = 0
    suspects: tuple[SuspectCommit, ...] = ()
    suspects_omitted: int = 0
    no_suspect_percent: str = ""
    suspects_note: str = ""
    held: str = ""
    machine: str = ""
    profile: str = ""
    likely: LikelyFacts | None = None
    culprits: tuple[SuspectCommit, ...] = ()
    bisection: str = ""
    outcome: BisectionFacts | None = None
    cause: int = 0
    cause_commit: CommitFacts | None = None
    first_announced: str = ""
    alerts: tuple[str, ...] = ()
    severity: str = "normal"
    owners: tuple[str, ...] = ()
    status: str = "new"
    assignee: str = ""
    ticket: str = ""
    reproduce: str = ""
    picture: str = ""
    announcements: tuple[str, ...] = ()
    links: LinkFacts = field(default_factory=LinkFacts)


@dataclass(frozen=True, slots=True)
class NotificationFacts:
    """Everything that one message is about.

    Attributes:
        kind: `change`, `digest`, `provisional`, `escalation`, `problem` or `solved`.
        instance: name of the instance.
        recipient: name of the person who gets the message, "" for a list or a room.
        changes: the changes, those that got worse most first; at most 50.
        changes_omitted: changes that are left out.
        hours: of an escalation: for how many hours no person took the change.
        problem: of a problem: what is wrong, in one line.
        problem_details: of a problem: where, and what to do.
        address: the dashboard, "" without a public address.
        mute: signed link to the page where the reader ends such messages, "" without one.
    """

    kind: str
    instance: str
    recipient: str = ""
    changes: tuple[ChangeFacts, ...] = ()
    changes_omitted: int = 0
    hours: float = 0.0
    problem: str = ""
    problem_details: str = ""
    address: str = ""
    mute: str = ""
    pictures: Mapping[str, Callable[[], bytes]] = field(default_factory=dict, repr=False, compare=False)
    """PNG by name of the picture, drawn when it is called; templates do not see it."""


# The first line of a message: what changed, by how much and where, in one sentence.


_LONGEST_NAME: Final = 80
_CUT: Final = "…"
_TAIL_SHARE: Final = 2
"""A name that is cut keeps as much of its end as of its beginning: names often differ at their ends."""


_OPENINGS: Final = {
    "improved": "Improvement: ",
    "moved": "Corrected place: ",
    "grew": "Goes on: ",
    "located": "Commit found: ",
    "bisected": "Bisection ended: ",
    "returned": "Back again: ",
    "provisional": "First sign: ",
}
_LOST: Final = "Improvement lost"
_OUTCOME_OPENINGS: Final = {
    "range": "Fewer commits left: ",
    "not reproducible": "Not reproducible: ",
    "gave up": "Commit not found: ",
}
"""How a message begins that says how a bisection ended."""


def first_sentence(change: ChangeFacts) -> str:
    """Return the sentence that says what changed, by how much and where, without a full stop."""
    if change.kind == "withdrawn":
        return f"No change after all: {_name(change)}, reported as {change.headline}"
    if change.kind in {"recovered", "fixed"}:
        return f"{_LOST if _is_lost(change) else change.kind.capitalize()}: {_back(change)}"
    if change.recovered:
        return f"{_LOST if _is_lost(change) else 'Recovered'} already: {_back(change)}{cause_text(change)}"
    opening = _outcome_opening(change) or _OPENINGS.get(
        change.kind, _OPENINGS["provisional"] if change.provisional else ""
    )
    if change.kind == "improved" and change.direction != "improvement":
        opening = ""
    if change.headline != change.lead.change:
        return f"{opening}{change.headline}{cause_text(change)}: {_name(change)}"
    others = f", and {counted(change.traces - 1, 'further trace')} changed with it" if change.traces > 1 else ""
    return f"{opening}{_named(change.lead)} {_verb(change)}{cause_text(change)}{others}"


def _is_lost(change: ChangeFacts) -> bool:
    return change.lead.verdict == "better"


def _outcome_opening(change: ChangeFacts) -> str:
    if change.kind != "bisected" or change.outcome is None:
        return ""
    return "Several commits found: " if change.culprits else _OUTCOME_OPENINGS.get(change.outcome.state, "")


def cause_text(change: ChangeFacts) -> str:
    """Return since when, and what names that commit, as in ", probably since 1a2b3c4 (37 %)"."""
    likely, suspects = change.likely, change.suspect_range
    if likely is None:
        return f" since {range_text(suspects)}"
    short = likely.commit.short
    if likely.basis == "suspect":
        return f", probably since {short} ({likely.percent}), {range_text(suspects)}"
    return f" since {short}, found by bisection" if likely.basis == "bisected" else f" since {short}"


def range_text(suspects: RangeFacts) -> str:
    """Return the commits that may have made the change: one by its hash, several as git writes a range."""
    if suspects.commits == 1:
        return suspects.last.short
    bounds = f"{suspects.before.short}..{suspects.last.short}" if suspects.before else f"up to {suspects.last.short}"
    return f"one of the {suspects.commits:,} commits {bounds}"


def _back(change: ChangeFacts) -> str:
    """Name the traces that are back at their earlier level, with the commit, and the change that ended."""
    are = "are" if change.traces > 1 else "is"
    by = f" with {change.cause_commit.short}" if change.cause_commit else ""
    return f"{_name(change)} {are} back at the earlier level{by}, after {change.headline}"


def _name(change: ChangeFacts) -> str:
    name = _named(change.lead)
    return name if change.traces <= 1 else f"{name} and {counted(change.traces - 1, 'further trace')}"


def _named(trace: TraceFacts) -> str:
    name = shorten(trace.name, _LONGEST_NAME)
    return f"{name} ({shorten(trace.params, _LONGEST_NAME)})" if trace.params else name


def _verb(change: ChangeFacts) -> str:
    """Return the change of the lead as the rest of a sentence: "is 12 % slower", "takes 5× the time"."""
    text = change.lead.change
    judged = text.endswith(("slower", "faster")) or change.lead.verdict == "changed"
    remark = "" if judged else f" ({change.lead.verdict})"
    if "×" in text:
        return f"{'takes' if text.endswith('time') else 'has'} {text}{remark}"
    if text.endswith("from 0"):
        return f"is {text.partition(',')[0]} than the earlier 0{remark}"
    return f"is {text}{remark}"


def shorten(name: str, longest: int) -> str:
    """Return ``name`` cut in its middle to ``longest`` characters."""
    if len(name) <= longest:
        return name
    tail = (longest - len(_CUT)) // _TAIL_SHARE
    return f"{name[: longest - len(_CUT) - tail]}{_CUT}{name[len(name) - tail :]}"


def shorten_all(names: tuple[str, ...], longest: int) -> tuple[str, ...]:
    """Return ``names`` cut to ``longest`` characters where they are equal, so that they still differ.

    What all of them begin with, and what all of them end with, is cut first; what differs is cut last.
    """
    if all(len(name) <= longest for name in names) or len(set(names)) < 2:
        return tuple(shorten(name, longest) for name in names)
    begin = _common(names)
    end = _common(tuple(name[begin:][::-1] for name in names))
    return tuple(_cut_equal(name, begin, end, longest) for name in names)


def _common(names: tuple[str, ...]) -> int:
    """Return the length of the common beginning of all ``names``."""
    first, last = min(names), max(names)
    shortest = min(map(len, names))
    return next((index for index in range(shortest) if first[index] != last[index]), shortest)


def _cut_equal(name: str, begin: int, end: int, longest: int) -> str:
    """Return ``name`` with as much of its equal parts as fits beside the part that differs."""
    if len(name) <= longest:
        return name
    middle = name[begin : len(name) - end]
    room = longest - len(middle)
    if room < 2 * len(_CUT):
        return _CUT + shorten(middle, longest - 2 * len(_CUT)) + _CUT
    # The beginning gives way first: it says least about a benchmark.
    after = name[len(name) - end :]
    kept_end = after if len(after) <= room - len(_CUT) else after[: max(0, room - 2 * len(_CUT))] + _CUT
    kept = room - len(kept_end) - len(_CUT)
    before = name[begin - kept : begin] if kept else ""
    return f"{_CUT}{before}{middle}{kept_end}"
