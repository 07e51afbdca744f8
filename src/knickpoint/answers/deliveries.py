"""Deliveries of notifications, and how failed ones are sent again or dropped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, DeliveryId
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.model.access import Permission
from knickpoint.model.notification import Delivery, DeliveryState, NotificationKind
from knickpoint.notify.sender import drop_deliveries, retry_deliveries

# Deliveries of notifications.


class DeliveryAnswer(Answer):
    """One delivery: a message to one recipient, and how far it is."""

    id: DeliveryId
    kind: NotificationKind
    state: DeliveryState
    channel: str = Field(description="Name of the channel.")
    address: str = Field(description="Address within the channel; empty where it has one receiver.")
    person: str = Field(description="Name of the person in `[people]`; empty for others, lists and rooms.")
    changes: list[ChangeId] = Field(description="The changes that it is about.")
    created: datetime
    due: datetime = Field(description="When the next attempt may start.")
    attempts: int = Field(description="How many attempts were started.")
    answer: str = Field(description="Why it failed, was dropped, or did not go out at once; empty without a reason.")
    sent: datetime | None = None
    link: str = Field(description="Page of the message at its receiver, such as a ticket; empty without one.")


class DeliveriesRequest(Answer):
    """Which deliveries to change."""

    ids: list[DeliveryId] = Field(max_length=10_000)


class DeliveryChange(Answer):
    """How many deliveries a request changed; others were in a state in which it does nothing."""

    changed: int


# List deliveries, send failed ones again, and drop them.


def list_deliveries(
    visible: VisibleRepositories,
    *,
    change: int | None,
    state: DeliveryState | None,
    channel: str,
    limit: int,
    before: int | None = None,
) -> list[DeliveryAnswer]:
    """List deliveries about the repositories in which the caller may decide, the newest first.

    Raises:
        UnknownError: there is no such change.
    """
    if change is not None:
        visible.require(Permission.DECIDE, [visible.of_change(change)])
    found = visible.store.notifications.newest(
        change=change, state=state, channel=channel, repositories=_allowed(visible), before=before, limit=limit
    )
    return _answers(visible, found)


def retry(visible: VisibleRepositories, ids: Sequence[int]) -> DeliveryChange:
    """Have failed deliveries tried again.

    Raises:
        UnknownError: there is no such delivery.
    """
    who = visible.caller.name
    return _change(visible, ids, lambda keys: retry_deliveries(visible.store, keys, who=who, now=datetime.now(UTC)))


def drop(visible: VisibleRepositories, ids: Sequence[int]) -> DeliveryChange:
    """Drop deliveries that wait or failed.

    Raises:
        UnknownError: there is no such delivery.
    """
    who = visible.caller.name
    return _change(visible, ids, lambda keys: drop_deliveries(visible.store, keys, who=who))


def _change(visible: VisibleRepositories, ids: Sequence[int], act: Callable[[Collection[int]], int]) -> DeliveryChange:
    allowed = _allowed(visible)
    with visible.store.transaction():
        known = {
            each.id for each in visible.store.notifications.get(ids) if allowed is None or each.repository_id in allowed
        }
        missing = [key for key in ids if key not in known]
        if missing:
            raise UnknownError(
                f"there is no delivery {missing[0]}", where="ids", remedy="GET /api/v1/deliveries lists them."
            )
        return DeliveryChange(changed=act(ids))


def _allowed(visible: VisibleRepositories) -> list[int] | None:
    """Return the ids of the repositories in which the caller may decide, None for all of them.

    Messages about several repositories belong to callers who may decide in all.
    """
    grants = visible.caller.grants
    if Permission.DECIDE in grants.everywhere:
        return None
    return [each.id for each in visible.all() if grants.allow(Permission.DECIDE, each.name)]


def _answers(visible: VisibleRepositories, deliveries: Sequence[Delivery]) -> list[DeliveryAnswer]:
    ids = {key for each in deliveries for key in each.announcements}
    about = {each.id: each.change_id for each in visible.store.findings.announcements.get(ids)}
    return [
        DeliveryAnswer.of(
            each,
            each.recipient,
            changes=list(dict.fromkeys(about[key] for key in each.announcements if key in about)),
            answer=each.why,
        )
        for each in deliveries
    ]
