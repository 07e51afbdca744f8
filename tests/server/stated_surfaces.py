"""What each surface says of the changes of an instance: API, pages, files, commands, messages, tickets and pictures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

import pytest
from click.testing import CliRunner
from tests.examples import examples
from tests.server.client import Client

from knickpoint.cli.program import knick
from knickpoint.instance import Instance
from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Condition
from knickpoint.model.notification import Announcement, AnnouncementKind, Delivery, NotificationKind, Recipient
from knickpoint.model.plain_text import counted
from knickpoint.model.statement import Change, ChangeCondition, Statement
from knickpoint.notify.messages import load_templates, message_for
from knickpoint.notify.messages.fact_reader import FactReader, FactSettings, LedgerView
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.notify.trackers.tracker_channel import Tracker, TrackerChannel, changes_of, draft_ticket
from knickpoint.publish import Chosen, answers
from knickpoint.publish.answers import TRACES_OF_A_FILE, read_answers
from knickpoint.server import create_app

__all__ = ["STRUCTURED", "TEXTS", "Surfaces", "contradictions", "facts_of"]

_EVERYTHING: Final = {"alert_kind": "any", "members": 100, "size": 500}
_OVER: Final = {AnnouncementKind.RECOVERED, AnnouncementKind.FIXED, AnnouncementKind.WITHDRAWN}
_PLAIN: Final = frozenset(
    {
        "headline",
        "size",
        "direction",
        "side",
        "kind",
        "condition",
        "certainty",
        "lead",
        "machine",
        "held",
        "decision",
        "ticket",
    }
)
_SOME: Final = 5 if examples(2) == 1 else 1
"""Every so many changes are explained, which takes a detection; in the long run all are."""
Facts = Mapping[str, object]


def facts_of(stated: Statement, names: Mapping[int, str]) -> Facts:
    """Return what a statement says as the API writes it; ``names`` has slot → hash."""
    return {
        "headline": stated.headline,
        "size": stated.size,
        "direction": stated.direction.value,
        "side": stated.side.value,
        "kind": stated.kind.value,
        "condition": stated.condition.value,
        "certainty": stated.certainty.value,
        "counts": (stated.worse, stated.better, stated.undirected),
        "lead": f"P{stated.lead}",
        "likely": (stated.likely.basis.value, names[stated.likely.slot]) if stated.likely else None,
        "undone": names[stated.undone_at] if stated.undone_at >= 0 else None,
        "machine": stated.machine,
        "held": stated.held,
        "decision": stated.decision.value,
        "ticket": stated.ticket,
    }


def _facts(answer: Mapping[str, Any]) -> Facts:
    """Return what an answer of the API states."""
    likely, undone = answer["likely"], answer["undone_at"]
    return {
        **{name: answer[name] for name in _PLAIN},
        "counts": (answer["worse"], answer["better"], answer["undirected"]),
        "likely": (likely["basis"], likely["commit"]["hash"]) if likely else None,
        "undone": undone["hash"] if undone else None,
    }


@dataclass
class Surfaces:
    """Reads what an instance says, each list once."""

    instance: Instance
    _read: dict[tuple[str, int], Any] = field(default_factory=dict)

    def read(self, surface: str, key: int) -> Any:
        """Return what a surface says of a change, None where it does not show it."""
        if (surface, key) not in self._read:
            self._read[surface, key] = {**STRUCTURED, **TEXTS}[surface](self, key)
        return self._read[surface, key]

    @cached_property
    def client(self) -> Client:
        """A client of the API."""
        return Client(create_app(self.instance))

    @cached_property
    def changes(self) -> Mapping[int, Change]:
        """All changes, with all of their members."""
        return {key: self.instance.store.findings.change(key) for key in sorted(self.statements)}

    @cached_property
    def statements(self) -> Mapping[int, Statement]:
        """The stored statements: what everything else is compared with."""
        return self.instance.store.findings.statements.of_changes(range(1, 200))

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The hash of each commit."""
        (repository,) = self.instance.store.commits.repositories()
        slots = self.instance.store.commits.line(repository).slots
        return {each.slot: each.commit.hash for each in self.instance.store.commits.get(repository, slots)}

    def short(self, slot: int) -> str:
        """Return the hash of a commit as texts have it."""
        return self.names[slot][:10]

    def get(self, path: str, **params: Any) -> Any:
        """Return an answer of the API."""
        answer = self.client.get(f"/api/v1/{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def is_gone(self, key: int) -> bool:
        """Return whether later data show no member of a change."""
        return all(point.condition is Condition.GONE for point in self.changes[key].members)

    def lead_trace(self, key: int) -> int:
        """Return the trace of the lead of a change."""
        (lead,) = self.instance.store.findings.points([self.statements[key].lead])
        return lead.trace_id

    @cached_property
    def listed(self) -> Mapping[str, Any]:
        """Change → its object in the lists of triage."""
        found = (
            self.get("changes", all=True, **_EVERYTHING)["changes"]
            + self.get("changes", gone=True, **_EVERYTHING)["changes"]
        )
        return {each["id"]: each for each in found}

    @cached_property
    def overview(self) -> Mapping[str, Any]:
        """The overview since ever."""
        found: dict[str, Any] = self.get("overview", since="1970-01-01T00:00:00Z")
        return found

    @cached_property
    def published(self) -> Mapping[str, Any]:
        """The files of the published pages, without pictures, which state nothing."""
        (repository,) = self.instance.store.commits.repositories()
        chosen = Chosen([repository.name], datetime(2026, 6, 1, tzinfo=UTC), badges=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answers, "_MOST_CARDS", 0)
            return read_answers(self.instance, chosen).json

    def knick(self, *arguments: str) -> str:
        """Return what a command prints."""
        ran = CliRunner().invoke(knick, [*arguments, "--instance", str(self.instance.directory)])
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    @cached_property
    def rows(self) -> Mapping[str, str]:
        """Change → its own row in the text of ``knick changes``."""
        text = self.knick("changes", "--status", "all", "--alert-kind", "any", "--gone")
        found: dict[str, str] = {}
        for line in text.splitlines()[1:]:
            found.setdefault(line.split()[0], line)
        return found

    @cached_property
    def objects(self) -> Mapping[str, Any]:
        """Change → its object in ``knick changes --format json``."""
        text = self.knick("changes", "--status", "all", "--alert-kind", "any", "--gone", "--format", "json")
        return {each["id"]: each for each in json.loads(text)}

    @cached_property
    def table(self) -> Mapping[str, Mapping[str, str]]:
        """Change → its first row in ``knick changes --format csv``."""
        text = self.knick("changes", "--status", "all", "--alert-kind", "any", "--gone", "--format", "csv")
        return {row["id"]: row for row in reversed(list(csv.DictReader(io.StringIO(text))))}

    @cached_property
    def marks(self) -> Mapping[str, Any]:
        """Change → its mark on the plots of other pages."""
        traces = sorted({point.trace_id for change in self.changes.values() for point in change.members})
        found = self.get("marks", traces=",".join(map(str, traces)))
        return {each["finding"]["change"]: each["finding"] for each in found}

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """Change → its annotation for Grafana."""
        asked = {"range": {"from": "1970-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}, "annotation": {"query": ""}}
        found = self.client.post("/api/v1/grafana/annotations", json=asked).json()
        return {each["title"].partition(":")[0]: each for each in found}

    @cached_property
    def announced(self) -> Mapping[int, Announcement]:
        """Change → its newest announcement."""
        found: dict[int, Announcement] = {}
        view = LedgerView(self.instance.store)
        for each in self.instance.store.findings.announcements.after(0):
            # A chain whose members were merged away or split off is stated by its own members.
            if view.statement(each) == self.statements.get(each.change_id):
                found[each.change_id] = each
        return found

    def message(self, announced: Announcement, kind: ChannelKind) -> tuple[str, Mapping[str, Any]]:
        """Return the text and the data of the message about an announcement."""
        recipient, time = Recipient("mail", "ada@example.org", "ada"), announced.time
        delivery = Delivery(
            1, "key", NotificationKind.CHANGE, recipient, announced.repository_id, (announced.id,), "t", time, time
        )
        settings = FactSettings("Performance", "https://perf.example.org", tuple(self.instance.alerts))
        facts = FactReader(self.instance.store, settings).read(delivery, time)
        message = message_for(delivery, facts, load_templates(ChannelSettings("c", kind), Path()))
        return f"{message.subject}\n{message.text}", message.data


def _api(said: Surfaces, key: int) -> Facts | None:
    return _facts(said.listed[f"R{key}"]["statement"])


def _json(said: Surfaces, key: int) -> Facts | None:
    return _facts(said.objects[f"R{key}"]["statement"])


def _csv(said: Surfaces, key: int) -> Facts | None:
    row = {name: text for name, text in said.table[f"R{key}"].items() if name.startswith("statement.")}
    row = {name.removeprefix("statement."): text for name, text in row.items()}
    likely, undone = row["likely.commit.hash"], row["undone_at.hash"]
    return {
        **{name: text for name, text in row.items() if name in _PLAIN},
        "counts": tuple(int(row[name]) for name in ("worse", "better", "undirected")),
        "likely": (row["likely.basis"], likely) if likely else None,
        "undone": undone or None,
    }


def _commit_page(said: Surfaces, key: int) -> Facts | None:
    change = said.changes[key]
    report = said.get(f"commits/{said.names[change.suspect_range.slot]}/report")
    found = next((each for each in report["changes"] if each["id"] == f"R{key}"), None)
    if found is None:
        assert said.is_gone(key)
        return None
    return _facts(found["statement"])


def _trace_page(said: Surfaces, key: int) -> Facts | None:
    return _facts(said.get(f"traces/{said.lead_trace(key)}/change-points")["statements"][f"R{key}"])


def _overview(said: Surfaces, key: int) -> Facts | None:
    found = next((each for each in said.overview["largest"] if each["id"] == f"R{key}"), None)
    return _facts(found["statement"]) if found else None


def _news(said: Surfaces, key: int) -> Facts | None:
    found = next((each for each in said.overview["news"] if each["change"] == f"R{key}"), None)
    if found is None:
        return None
    stated = said.statements[key]
    ended = {kind.value for kind in _OVER}
    if not found["updated"]:
        assert found["announced_size"] == stated.size
        assert (found["kind"] in ended) == (stated.condition is not ChangeCondition.PRESENT)
    return _facts(found["statement"])


def _published_list(said: Surfaces, key: int) -> Facts | None:
    lists = said.published["lists"]
    (*found,) = (
        each
        for name in ("unprocessed", "processed", "history", "gone")
        for each in lists[name]
        if each["id"] == f"R{key}"
    )
    return _facts(found[0]["statement"])


def _published_trace(said: Surfaces, key: int) -> Facts | None:
    trace = said.lead_trace(key)
    ids = [each["id"] for each in said.published["0/traces"]["traces"]]
    details = said.published[f"0/details-{ids.index(trace) // TRACES_OF_A_FILE}"][str(trace)]
    return _facts(details["change-points"]["statements"][f"R{key}"])


def _published_commit(said: Surfaces, key: int) -> Facts | None:
    report = said.published["0/reports"].get(said.names[said.changes[key].suspect_range.slot])
    found = next((each for each in (report or {"changes": []})["changes"] if each["id"] == f"R{key}"), None)
    assert found or said.is_gone(key)
    return _facts(found["statement"]) if found else None


def _published_overview(said: Surfaces, key: int) -> Facts | None:
    largest = said.published["fixed"]["overview "]["largest"]
    found = next((each for each in largest if each["id"] == f"R{key}"), None)
    return _facts(found["statement"]) if found else None


def _mark(said: Surfaces, key: int) -> Facts | None:
    found = said.marks.get(f"R{key}")
    if found is None:
        assert said.is_gone(key)
        return None
    assert found["traces"] == said.statements[key].traces
    return {"headline": found["headline"], "direction": found["stated"], "condition": found["condition"]}


STRUCTURED: Final[Mapping[str, Callable[[Surfaces, int], Facts | None]]] = {
    "API and triage page": _api,
    "command, JSON": _json,
    "command, CSV": _csv,
    "commit page": _commit_page,
    "trace page": _trace_page,
    "overview": _overview,
    "news": _news,
    "published list": _published_list,
    "published trace": _published_trace,
    "published commit": _published_commit,
    "published overview": _published_overview,
    "marks of other pages": _mark,
}
"""Surface → what it states of a change, or None where it does not show the change."""


# Texts

Said = tuple[str, list[str]]
"""A text, and what must occur in it."""


def _row(said: Surfaces, key: int) -> Said | None:
    stated = said.statements[key]
    words = [
        stated.headline,
        counted(stated.traces, "trace"),
        stated.direction.value,
        stated.decision.value,
        stated.condition.value,
    ]
    return said.rows[f"R{key}"], [*words, *_named(said, stated)]


def _named(said: Surfaces, stated: Statement) -> list[str]:
    """Return how texts name the likely commit, and the one that undid the change."""
    likely = [f"{said.short(stated.likely.slot)} ({stated.likely.why})"] if stated.likely else []
    is_over = stated.condition is not ChangeCondition.PRESENT and stated.undone_at >= 0
    return likely + ([f"undone at {said.short(stated.undone_at)}"] if is_over else [])


def _explanation(said: Surfaces, key: int) -> Said | None:
    stated = said.statements[key]
    if said.is_gone(key) or key % _SOME:
        return None
    names = {slot: said.short(slot) for slot in stated.named_slots}
    return said.knick("explain", f"R{key}"), [f"R{key}: {stated.headline}; {stated.details(names)}\n"]


def _explanation_json(said: Surfaces, key: int) -> Said | None:
    stated = said.statements[key]
    if key % _SOME:
        return None
    (found,) = json.loads(said.knick("explain", f"R{key}", "--format", "json"))
    change = next(each for each in found["changes"] if each["change_id"] == key)
    assert (change["direction"], change["condition"]) == (stated.direction.value, stated.condition.value)
    return f"{change['headline']}; {change['details']}", [stated.headline, stated.counts, *_named(said, stated)]


def _message(kind: ChannelKind) -> Callable[[Surfaces, int], Said | None]:
    def read(said: Surfaces, key: int) -> Said | None:
        announced = said.announced.get(key)
        if announced is None:
            return None
        stated = said.statements[key]
        text, data = said.message(announced, kind)
        if kind is ChannelKind.WEBHOOK:
            _check_data(said, key, data)
        over = announced.kind in _OVER
        likely = [said.short(stated.likely.slot)] if stated.likely and not over else []
        undone = [said.short(stated.undone_at)] if over and stated.undone_at >= 0 else []
        return text, [stated.headline.replace("slower, from 0", "slower than the earlier 0"), *likely, *undone]

    return read


def _check_data(said: Surfaces, key: int, data: Mapping[str, Any]) -> None:
    stated = said.statements[key]
    (change,) = data["changes"]
    likely = stated.likely
    assert (change["id"], change["headline"]) == (f"R{key}", stated.headline)
    assert (change["direction"], change["condition"]) == (stated.direction.value, stated.condition.value)
    assert (change["worse"], change["better"], change["traces"]) == (stated.worse, stated.better, stated.traces)
    assert [fields.change for fields in changes_of(data)] == [key]
    assert (change["status"], change["ticket"]) == (stated.decision.value, stated.ticket)
    found = change["likely"]
    assert (found and (found["basis"], found["commit"]["hash"])) == (
        likely and (likely.basis.value, said.names[likely.slot])
    )


def _ticket(said: Surfaces, key: int) -> Said | None:
    stated, (repository,) = said.statements[key], said.instance.store.commits.repositories()
    channel = TrackerChannel(ChannelSettings("code", ChannelKind.GITHUB), cast(Tracker, None), said.instance.store)
    ticket = draft_ticket(channel, [(repository, said.changes[key])], key="k", address="")
    assert ticket.changes[0].traces == stated.traces
    assert stated.headline in ticket.title
    likely = stated.likely
    words = [said.names[likely.slot], likely.why] if likely else []
    return ticket.body, [f"R{key} in", stated.headline, *words]


def _annotation(said: Surfaces, key: int) -> Said | None:
    stated, found = said.statements[key], said.annotations.get(f"R{key}")
    if found is None:
        change = said.changes[key]
        assert said.is_gone(key) or change.members[0].alert_kind is not AlertKind.WORK
        return None
    assert found["tags"] == [stated.direction.value, stated.decision.value]
    return f"{found['title']}\n{found['text']}", [f": {stated.headline}", stated.counts, *_named(said, stated)]


def _badge(said: Surfaces, key: int) -> Said | None:
    trace = said.lead_trace(key)
    points = said.instance.store.findings.change_points(trace)
    if not points or points[-1].change_id != key:
        return None
    return said.client.get(f"/api/v1/traces/{trace}/badge.svg").text, [f", {said.statements[key].headline}</title>"]


TEXTS: Final[Mapping[str, Callable[[Surfaces, int], Said | None]]] = {
    "command, text": _row,
    "explanation": _explanation,
    "explanation, JSON": _explanation_json,
    "mail": _message(ChannelKind.MAIL),
    "chat": _message(ChannelKind.CHAT),
    "webhook": _message(ChannelKind.WEBHOOK),
    "ticket": _ticket,
    "Grafana": _annotation,
    "badge": _badge,
}
"""Surface → its text about a change, and what must occur in it; None where it does not show the change."""


def contradictions(said: Surfaces, key: int, *, texts: bool = True) -> dict[str, object]:
    """Return surface → what it says of a change other than the stored statement; texts take more time than lists."""
    expected = facts_of(said.statements[key], said.names)
    found: dict[str, object] = {}
    for name in STRUCTURED:
        facts = said.read(name, key)
        other = {each: value for each, value in (facts or {}).items() if value != expected[each]}
        if other:
            found[name] = other
    for name in TEXTS if texts else ():
        text, words = said.read(name, key) or ("", [])
        missing = [word for word in words if word not in text]
        if missing:
            found[name] = (missing, text)
    return found
