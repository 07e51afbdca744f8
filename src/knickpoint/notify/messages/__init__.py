"""What a message says: facts from the store, and templates that put them into words for mails, chats and issues."""

from knickpoint.notify.messages.facts import (
    ChangeFacts,
    CommitFacts,
    LinkFacts,
    NotificationFacts,
    RangeFacts,
    SuspectCommit,
    TraceFacts,
)
from knickpoint.notify.messages.templates import Templates, load_templates, message_for

__all__ = [
    "ChangeFacts",
    "CommitFacts",
    "LinkFacts",
    "NotificationFacts",
    "RangeFacts",
    "SuspectCommit",
    "Templates",
    "TraceFacts",
    "load_templates",
    "message_for",
]
