"""Routes of the deliveries of notifications."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from knickpoint.answers import deliveries
from knickpoint.answers.base import ChangeId, DeliveryId
from knickpoint.answers.deliveries import DeliveriesRequest, DeliveryAnswer, DeliveryChange
from knickpoint.model.notification import DeliveryState
from knickpoint.server.callers import Editor
from knickpoint.server.routes.dependencies import Visible

router = APIRouter(tags=["deliveries"])


@router.get("/deliveries")
def get_deliveries(
    _caller: Editor,
    visible: Visible,
    *,
    change: Annotated[ChangeId | None, Query(description="Only those about this change.")] = None,
    state: Annotated[DeliveryState | None, Query(description="Only those in this state.")] = None,
    channel: Annotated[str, Query(max_length=200, description="Only those of this channel.")] = "",
    before: Annotated[
        DeliveryId | None, Query(description="Id of the last delivery of the page before. Default: the newest ones.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many to return.")] = 200,
) -> list[DeliveryAnswer]:
    """List what was sent to whom, the newest first; it has the addresses of people, so it is for editors."""
    return deliveries.list_deliveries(visible, change=change, state=state, channel=channel, before=before, limit=limit)


@router.post("/deliveries/retry")
def post_retry(_caller: Editor, visible: Visible, request: DeliveriesRequest) -> DeliveryChange:
    """Send failed deliveries again, with all their attempts."""
    return deliveries.retry(visible, request.ids)


@router.post("/deliveries/drop")
def post_drop(_caller: Editor, visible: Visible, request: DeliveriesRequest) -> DeliveryChange:
    """Drop deliveries that wait or failed: they are not sent."""
    return deliveries.drop(visible, request.ids)
