"""Alerts from outside of the configuration, the ledgers of announcements and deliveries, and tickets."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata
from knickpoint.store.tables.findings import Real

# Alerts that are defined outside of the configuration: by command and API, and by files of watched repositories.


stored_alert = Table(
    "stored_alert",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("definition", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("changed", Time, nullable=False),
)
"""Alerts that people made by command or API: settings as JSON."""

alert_file = Table(
    "alert_file",
    metadata,
    Column("repository", exact_text, primary_key=True),
    Column("path", exact_text, nullable=False),
    Column("rule", exact_text, nullable=False),
    Column("tip", exact_text, nullable=False),
    Column("commit", exact_text, nullable=False),
    Column("definitions", exact_text, nullable=False),
    Column("failure", exact_text, nullable=False),
    Column("failed_at", exact_text, nullable=False),
)
"""What the worker read of the file of alerts of each repository.

``tip`` is the commit that it read last, with the settings ``rule``; ``commit`` is the one that wrote the
``definitions`` that stand (name → settings, as JSON). ``failure`` is why a newer file at ``failed_at`` cannot be used,
"" where it can.
"""


# Missed changes: what people marked in traces, because no alert found it.


missed_change = Table(
    "missed_change",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("movement", Code, nullable=False),
    Column("note", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Index("ix_missed_change_trace_id", "trace_id"),
)
"""The change lies in (previous, slot] of its line.

A row is deleted when a person takes the mark back; the audit log keeps it.
"""


# Proposals to change alerts that people accepted or rejected.


proposal_decision = Table(
    "proposal_decision",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("alert", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("accepted", Code, nullable=False),
    Column("change", exact_text, nullable=False),
    Column("hidden", Number, nullable=False),
    Column("before", exact_text, nullable=False),
    Column("after", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
)
"""``before`` and ``after`` are JSON: name → settings of the alert.

A decision that is taken back is deleted; the audit log keeps it.
"""


# The announcement ledger, whose rows are added and never changed, and the verdicts on newest values.


announcement = Table(
    "announcement",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("chain", Number, nullable=False),
    Column("number", Code, nullable=False),
    Column("repository_id", Number, nullable=False),
    Column("change_id", Number, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("direction", exact_text, nullable=False),
    Column("finding_kind", exact_text, nullable=False),
    Column("condition", exact_text, nullable=False),
    Column("traces", Code, nullable=False),
    Column("lead", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("unit", exact_text, nullable=False),
    Column("before_level", Real, nullable=True),
    Column("after_level", Real, nullable=True),
    Column("size", Real, nullable=True),
    Column("relative_size", Real, nullable=True),
    Column("interval", Code, nullable=False),
    Column("cause_id", Number, nullable=False),
    Column("provisional", Code, nullable=False, server_default="0"),
    Column("unsent", exact_text, nullable=False, server_default=""),
    UniqueConstraint("chain", "number"),
    Index("ix_announcement_change_id", "change_id"),
    Index("ix_announcement_repository_id", "repository_id", "id"),
)
"""``chain`` is the id of the first announcement about a change, ``number`` the place in the chain: the constraint keeps
two runs from announcing the same thing twice.
"""

newest_verdict = Table(
    "newest_verdict",
    metadata,
    Column("trace_id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("verdict", exact_text, nullable=False),
    Column("value", Real, nullable=False),
    Column("centre", Real, nullable=True),
    Column("low", Real, nullable=True),
    Column("high", Real, nullable=True),
    Column("relative_size", Real, nullable=True),
    Column("p_value", Real, nullable=True),
    Column("judged", Time, nullable=False),
)
"""The traces whose newest value does not belong to the region before it."""


# The delivery ledger, how far announcements are planned, and the signed links that were used.


delivery = Table(
    "delivery",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("key", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("channel", exact_text, nullable=False),
    Column("address", exact_text, nullable=False),
    Column("person", exact_text, nullable=False),
    Column("repository_id", Number, nullable=False),
    Column("announcements", exact_text, nullable=False),
    Column("thread", exact_text, nullable=False),
    Column("created", Time, nullable=False),
    Column("due", Time, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("holder", exact_text, nullable=False),
    Column("attempts", Code, nullable=False),
    Column("answer", exact_text, nullable=False),
    Column("sent", Time, nullable=True),
    Column("reference", exact_text, nullable=False),
    Column("link", exact_text, nullable=False),
    UniqueConstraint("key"),
    Index("ix_delivery_state_due", "state", "due"),
    Index("ix_delivery_channel_address_thread", "channel", "address", "thread"),
)
"""While a sender holds a delivery, ``holder`` is its name, and ``due`` is when its lease ends."""

delivery_item = Table(
    "delivery_item",
    metadata,
    Column("receiver", exact_text, nullable=False),
    Column("purpose", exact_text, nullable=False),
    Column("announcement_id", Number, nullable=False),
    Column("chain", Number, nullable=False),
    Column("delivery_id", Number, nullable=False),
    PrimaryKeyConstraint("receiver", "purpose", "announcement_id"),
    Index("ix_delivery_item_chain", "chain"),
    Index("ix_delivery_item_delivery_id", "delivery_id"),
)
"""Which announcements a receiver hears of, and in which delivery: the key keeps two alerts from announcing one thing
twice.
"""

notification_cursor = Table(
    "notification_cursor",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("announcement_id", Number, nullable=False),
)
"""The last announcement that was planned; without a row, notifications are switched off."""

untaken_chain = Table(
    "untaken_chain",
    metadata,
    Column("chain", Number, primary_key=True, autoincrement=False),
    Column("opened", Time, nullable=False),
)
"""Chains of announcements that were sent, and that may still have to be escalated."""

used_link = Table(
    "used_link",
    metadata,
    Column("link", exact_text, primary_key=True),
    Column("time", Time, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("expires", Time, nullable=False),
)
"""Signed links with which a decision was made; a row may go once its link has expired."""

problem = Table(
    "problem",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("alert", exact_text, nullable=False),
    Column("reason", exact_text, nullable=False),
    Column("opened", Time, nullable=False),
    Column("closed", Time, nullable=True),
)
"""Alerts that fail, and that did: each row has the deliveries that open and close it in its transactions."""


# Tickets of trackers: what each tracker last said about them, the threads that they belong to, how far they were read.


tracker_ticket = Table(
    "tracker_ticket",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("channel", exact_text, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("url", exact_text, nullable=False),
    Column("title", exact_text, nullable=False),
    Column("open", Code, nullable=False),
    Column("assignee", exact_text, nullable=False),
    Column("fixed", exact_text, nullable=False),
    Column("updated", Time, nullable=False),
    Column("verdict", exact_text, nullable=False),
    Column("checked", exact_text, nullable=False),
    UniqueConstraint("channel", "name"),
    Index("ix_tracker_ticket_name", "name"),
)
"""``updated`` is the tracker's time, 0 where it is unknown."""

tracker_thread = Table(
    "tracker_thread",
    metadata,
    Column("channel", exact_text, nullable=False),
    Column("thread", exact_text, nullable=False),
    Column("ticket_id", Number, nullable=False),
    PrimaryKeyConstraint("channel", "thread"),
)
"""Which ticket the messages of a thread go to. ``R12`` is the thread of a change."""

tracker_cursor = Table(
    "tracker_cursor",
    metadata,
    Column("channel", exact_text, nullable=False, primary_key=True),
    Column("since", exact_text, nullable=False),
    Column("etag", exact_text, nullable=False),
    Column("resume", Time, nullable=False),
)
"""How far the tickets of a channel were read. ``resume`` is when the tracker may be asked again."""
