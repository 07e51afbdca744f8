"""Example facts of every kind of notification: templates are checked with them, and they show how messages read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from knickpoint.model.notification import AnnouncementKind, NotificationKind
from knickpoint.notify.messages.facts import (
    BisectionFacts,
    ChangeFacts,
    CommitFacts,
    LikelyFacts,
    LinkFacts,
    NotificationFacts,
    RangeFacts,
    SuspectCommit,
    TraceFacts,
    first_sentence,
)

_HOST = "https://git.example.org/parser"
_DASHBOARD = "https://perf.example.org"


def _commit(short: str, author: str, subject: str, date: str) -> CommitFacts:
    name = short.ljust(40, "0")
    return CommitFacts(name, short, author, subject, date, f"{_HOST}/commit/{name}")


_BEFORE = _commit("1a2b3c4d5e", "Ada Moreau", "Read names in one pass", "2026-03-01")
_SUSPECT = _commit("3f2a9c1b77", "Jonas Weber", "Keep names in a map", "2026-03-02")
_LAST = _commit("9c8d7e6f50", "Mina Sato", "Correct the manual", "2026-03-03")
_OUTCOME = BisectionFacts(
    "B3",
    "not reproducible",
    "B3 made 6 probes of the two ends on lab-1.",
    "The change did not show again: on lab-1, both ends measured 12.3 ms.",
    "Look for what else differed when the values changed, such as the machine. If it was noise, mark the change as "
    "noise.",
)


def _trace(number: int, name: str, after: float) -> TraceFacts:
    return TraceFacts(
        id=number,
        name=name,
        params="os=linux type=release",
        trace=f",benchmark={name},os=linux,type=release,",
        unit="ms",
        change=f"{(after / 12.3 - 1) * 100:.0f} % slower",
        verdict="worse",
        levels=f"12.3 ms → {after} ms",
        before=12.3,
        after=after,
        relative_size=after / 12.3 - 1,
        address=f"{_DASHBOARD}/trace/{number}",
        between=f"+{(after / 12.3 - 1) * 100 - 2:.0f} % to +{(after / 12.3 - 1) * 100 + 2:.0f} %",
    )


def example_change(kind: AnnouncementKind = AnnouncementKind.REGRESSED, *, bare: bool = False) -> ChangeFacts:
    """Return a change as an announcement of ``kind`` says it; ``bare`` without suspects, links and commit messages."""
    lead = _trace(17, "parse/names", 15.1)
    improved = kind is AnnouncementKind.IMPROVED
    if improved:
        lead = replace(
            lead,
            change="23 % faster",
            verdict="better",
            levels="15.1 ms → 12.3 ms",
            before=15.1,
            after=12.3,
            between="−25 % to −21 %",
        )
    place = RangeFacts("main", 3, _LAST, _BEFORE, f"{_HOST}/compare/{_BEFORE.hash}...{_LAST.hash}")
    change = ChangeFacts(
        kind=kind.value,
        sentence="",
        headline="14 faster by up to 23 %" if improved else "13 slower by up to 23 %; 1 faster by 2 %",
        direction="improvement" if improved else "mixed",
        finding_kind="step",
        repository="parser",
        change=12,
        traces=14,
        worse=0 if improved else 13,
        better=14 if improved else 1,
        lead=lead,
        others=(_trace(18, "parse/values", 14.0), _trace(19, "write/names", 13.5)),
        others_omitted=11,
        size_to_noise=6.4,
        interval=1,
        suspect_range=place,
        suspects=(
            SuspectCommit(_SUSPECT, 0.62, "62 %", ("touches src/parse/names.c, as parse/names", "changes 310 lines")),
            SuspectCommit(_LAST, 0.05, "5 %", ("touches documentation only",)),
        ),
        likely=LikelyFacts(_SUSPECT, "suspect", 0.62, "62 %"),
        suspects_omitted=1,
        no_suspect_percent="8 %",
        suspects_note="One commit of the range has no touched files.",
        first_announced="2026-03-05",
        alerts=("everything",),
        owners=("parser-team",),
        reproduce="knick explain ',benchmark=parse/names,os=linux,type=release,' --at 9c8d7e6f50",
        picture="change-12.png",
        announcements=(AnnouncementKind.REGRESSED.value, kind.value),
        links=LinkFacts(
            f"{_DASHBOARD}/?tab=processed",
            f"{_DASHBOARD}/decide/noise/example",
            f"{_DASHBOARD}/decide/take/example",
        ),
    )
    if kind.value in {"recovered", "fixed"}:
        change = replace(
            change,
            condition=kind.value,
            cause=13,
            cause_commit=_commit("77aa55cc33", "Jonas Weber", "Undo the map", "2026-03-09"),
        )
    if kind is AnnouncementKind.BISECTED:
        change = replace(change, outcome=_OUTCOME)
    if bare:
        change = _bare(change)
    return replace(change, sentence=first_sentence(change))


def _bare(change: ChangeFacts) -> ChangeFacts:
    last = CommitFacts("9c8d7e6f50".ljust(40, "0"), "9c8d7e6f50")
    lead = replace(change.lead, params="", address="", relative_size=None, change="higher, from 0", verdict="changed")
    return replace(
        change,
        headline=lead.change,
        direction="unknown",
        likely=None,
        traces=1,
        worse=0,
        better=0,
        lead=lead,
        others=(),
        others_omitted=0,
        size_to_noise=None,
        interval=0,
        suspect_range=RangeFacts("main", 1, last),
        suspects=(),
        suspects_omitted=0,
        no_suspect_percent="",
        suspects_note="",
        cause=0,
        cause_commit=None,
        owners=(),
        picture="",
        provisional=True,
        certainty_reason="found with the newest 2 values in a row; 3 settle it",
        assignee="ada",
        status="ticket",
        ticket="PARSE-7",
        links=LinkFacts(),
    )


def example_notifications() -> Iterator[NotificationFacts]:
    """Yield one notification of each kind, and one for each kind of announcement, in full and with little known."""
    for bare in (False, True):
        changes = tuple(example_change(kind, bare=bare) for kind in AnnouncementKind)
        address, mute = ("", "") if bare else (_DASHBOARD, f"{_DASHBOARD}/decide/mute/example")
        recipient = "" if bare else "Ada Moreau"
        whole = NotificationFacts("change", "Parser performance", recipient, address=address, mute=mute)
        for change in changes:
            yield replace(whole, changes=(change,))
        yield replace(whole, kind=NotificationKind.PROVISIONAL.value, changes=(replace(changes[0], provisional=True),))
        yield replace(whole, kind=NotificationKind.DIGEST.value, changes=changes, changes_omitted=0 if bare else 950)
        yield replace(whole, kind=NotificationKind.ESCALATION.value, changes=changes[:1], hours=48.0)
        yield replace(
            whole,
            kind=NotificationKind.PROBLEM.value,
            problem="the alert nightly fails",
            problem_details="" if bare else "The query cannot be read. Correct it in knickpoint.toml.",
        )
        yield replace(whole, kind=NotificationKind.SOLVED.value, problem="the alert nightly works again")
