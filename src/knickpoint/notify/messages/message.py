"""Make the message of a delivery from its facts and the templates of its channel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Final

from knickpoint.model.notification import Attachment, Delivery, Message
from knickpoint.notify.messages.facts import ChangeFacts, NotificationFacts
from knickpoint.notify.messages.templates import Templates
from knickpoint.store.findings.tracker_tickets import thread_of

__all__ = ["message_for"]

_NOT_IN_DATA: Final = frozenset({"pictures", "change"})


def message_for(delivery: Delivery, facts: NotificationFacts, templates: Templates) -> Message:
    """Return the message of ``delivery``: what ``facts`` say in the words of ``templates``.

    Its text is Markdown for chats and trackers. Mails have HTML and the pictures that it shows, chats the picture of the first
    change; all but mails have ``data``, the facts as JSON values.

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
