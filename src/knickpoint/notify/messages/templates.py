"""The templates of a channel: those of the program, and the files of an instance that replace them.

A notification has a template for its subject, its plain text, its HTML and its Markdown, named after its kind:
``change.subject.txt``, ``change.txt``, ``change.html``, ``change.md``, and so on. Parts that several of them include
begin with an underscore. Templates are checked with example facts, which also show how messages read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import AnnouncementKind, Attachment, Delivery, Message, NotificationKind
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
from knickpoint.notify.messages.sandbox import TemplateSet
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.store.findings.tickets import thread_of

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


_DIRECTORY: Final = Path(__file__).parent / "templates"
_LONGEST_SUBJECT: Final = 180
_SIGNATURE: Final = "-- "
"""The line after which mail programs expect a signature; its space belongs to it."""
_VARIABLES: Final = (
    "kind",
    "instance",
    "recipient",
    "changes",
    "changes_omitted",
    "hours",
    "problem",
    "problem_details",
    "address",
    "mute",
)
_KIND_OF_TEMPLATE: Final = {"provisional": "change", "solved": "problem"}
"""Notifications of other kinds have templates of their own name."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A notification in words; ``html`` is "" where the channel takes none."""

    subject: str
    text: str
    html: str = ""


@dataclass(frozen=True)
class Templates:
    """The templates of one channel.

    ``markdown`` says that the text is Markdown, as chats and issues take it; ``html`` that there is HTML beside the
    text; ``pictures`` that a picture goes with a text that does not show it itself.
    """

    templates: TemplateSet = field(repr=False)
    markdown: bool = False
    html: bool = True
    pictures: bool = False
    _newest: list[tuple[NotificationFacts, Rendered]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def render(self, facts: NotificationFacts) -> Rendered:
        """Put ``facts`` into words.

        A digest is the same for all recipients without links of their own: facts equal to those before are not rendered
        again.

        Raises:
            ConfigError: a template cannot be rendered with these facts; the message names its file and line.
        """
        if not (self._newest and self._newest[0][0] == facts):
            self._newest[:] = [(facts, self._rendered(facts))]
        return self._newest[0][1]

    def _rendered(self, facts: NotificationFacts) -> Rendered:
        variables: dict[str, object] = {name: getattr(facts, name) for name in _VARIABLES}
        variables["change"] = facts.changes[0] if facts.changes else None
        kind = _KIND_OF_TEMPLATE.get(facts.kind, facts.kind)
        subject = " ".join(self.templates.render(f"{kind}.subject.txt", variables).split())
        text = self.templates.render(f"{kind}.md" if self.markdown else f"{kind}.txt", variables)
        html = self.templates.render(f"{kind}.html", variables) if self.html else ""
        return Rendered(_cut(subject), _without_gaps(text), html)


def load_templates(channel: ChannelSettings, directory: Path) -> Templates:
    """Return the templates of ``channel`` in the instance at ``directory``, checked with examples of every kind.

    Raises:
        ConfigError: a file cannot be read, is not a template, or names what does not exist; or Jinja2 is missing.
    """
    mail, chat = channel.kind is ChannelKind.MAIL, channel.kind is ChannelKind.CHAT
    markdown = channel.kind in {ChannelKind.CHAT, ChannelKind.GITHUB, ChannelKind.GITLAB, ChannelKind.JIRA}
    if not channel.templates:
        return Templates(_built_in(), markdown=markdown, html=mail, pictures=chat)
    folder = directory / Path(channel.templates).expanduser()
    own = _read_folder(folder, f"[channels.{channel.name}] templates")
    sources = _built_in_sources() | own
    places = {name: str(folder / name) if name in own else str(_DIRECTORY / name) for name in sources}
    templates = TemplateSet(sources, places)
    check_templates(templates)
    return Templates(templates, markdown=markdown, html=mail, pictures=chat)


def check_templates(templates: TemplateSet) -> None:
    """Render every template with example facts of every kind.

    Raises:
        ConfigError: one cannot be rendered; the message names its file, its line and the remedy.
    """
    for facts in example_notifications():
        for markdown in (False, True):
            rendered = Templates(templates, markdown=markdown, html=not markdown).render(facts)
            if not rendered.subject or not rendered.text.strip():
                kind = _KIND_OF_TEMPLATE.get(facts.kind, facts.kind)
                part = "subject" if not rendered.subject else "text"
                raise ConfigError(
                    f"the {part} is empty for a notification of the kind {facts.kind}",
                    where=f"templates {kind}.*",
                    remedy="Let the template write at least a line for each kind.",
                )


def _read_folder(folder: Path, setting: str) -> dict[str, str]:
    """Return the templates in ``folder`` by name; each must replace one of the program, or begin with an underscore."""
    try:
        files = sorted(each for each in folder.iterdir() if each.suffix in {".txt", ".html", ".md"})
        known = _built_in_sources()
        for file in files:
            if file.name not in known and not file.name.startswith("_"):
                names = ", ".join(name for name in known if not name.startswith("_"))
                raise ConfigError("replaces no template", where=str(file), remedy=f"Name it as one of {names}.")
        return {file.name: file.read_text(encoding="utf-8") for file in files}
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be read: {error.strerror}", where=setting, remedy="Name a directory with templates."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"a template in {folder} is not UTF-8: byte {error.start}", where=setting, remedy="Save it as UTF-8."
        ) from error


@lru_cache(maxsize=1)
def _built_in_sources() -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(_DIRECTORY.iterdir())}


@lru_cache(maxsize=1)
def _built_in() -> TemplateSet:
    sources = _built_in_sources()
    return TemplateSet(sources, {name: str(_DIRECTORY / name) for name in sources})


def _cut(subject: str) -> str:
    return subject if len(subject) <= _LONGEST_SUBJECT else f"{subject[: _LONGEST_SUBJECT - 1]}…"


def _without_gaps(text: str) -> str:
    """Return ``text`` with at most one empty line in a row, and one line break at its end."""
    lines = "\n".join(line if line == _SIGNATURE else line.rstrip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"


# Make the message of a delivery from its facts and the templates of its channel.


_NOT_IN_DATA: Final = frozenset({"pictures", "change"})


def message_for(delivery: Delivery, facts: NotificationFacts, templates: Templates) -> Message:
    """Return the message of ``delivery``: what ``facts`` say in the words of ``templates``.

    Its text is Markdown for chats and trackers. Mails have HTML and the pictures that it shows, chats the picture of
    the first change; all but mails have ``data``, the facts as JSON values.

    Raises:
        ConfigError: a template of the instance cannot be rendered with these facts.
    """
    rendered = templates.render(facts)
    attachments = tuple(
        Attachment(name, "image/png", picture())
        for name, picture in sorted(facts.pictures.items())
        if f"cid:{name}" in rendered.html or (templates.pictures and name == facts.changes[0].picture)
    )
    return Message(
        key=delivery.key,
        thread=delivery.thread,
        recipient=delivery.recipient,
        subject=rendered.subject,
        text=rendered.text,
        html=rendered.html,
        attachments=attachments,
        data={}
        if rendered.html
        else {**_json_object(facts), "changes": [_change_data(each) for each in facts.changes]},
        address=facts.changes[0].links.change if len(facts.changes) == 1 else facts.address,
        mute=facts.mute,
    )


def _change_data(change: ChangeFacts) -> Mapping[str, object]:
    """Return a change as JSON values, with what maps a ticket back to its suspect range."""
    suspects = change.suspect_range
    fixed = change.kind in {"recovered", "fixed"} and change.lead.verdict != "better"
    return {
        "id": thread_of(change.change),
        **_json_object(change),
        "line": suspects.line,
        "previous": suspects.before.hash if suspects.before else "",
        "commit": suspects.last.hash,
        "fixed": change.cause_commit.hash if fixed and change.cause_commit else "",
        "link": change.links.change,
    }


def _json_object(facts: object) -> Mapping[str, object]:
    return {name: _json_value(getattr(facts, name)) for name in _names_in_data(type(facts))}  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _names_in_data(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name not in _NOT_IN_DATA)


def _json_value(value: object) -> object:
    """Return a fact as a JSON value; numbers that are not finite become null."""
    if is_dataclass(value):
        return _json_object(value)
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
