"""Say what the message about an alert that fails says, at the time when it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knickpoint.instance.config import Config
from knickpoint.model.notification import Delivery, NotificationKind
from knickpoint.model.plain_text import plain_line
from knickpoint.store import Store

if TYPE_CHECKING:
    from knickpoint.notify.messages import NotificationFacts

__all__ = ["problem_facts"]

_LONGEST: Final = 500


def problem_facts(store: Store, config: Config, delivery: Delivery) -> NotificationFacts | None:
    """Return the facts of a problem or of its end; None where there is nothing to say.

    A problem that is over is not mentioned to those who did not hear of it, and neither is its end.
    """
    from knickpoint.notify.messages import NotificationFacts

    number = delivery.thread.rpartition("-")[2]
    problem = store.problems.get(int(number)) if number.isascii() and number.isdigit() else None
    if problem is None:
        return None
    alert, since = plain_line(problem.alert, _LONGEST), f"{problem.opened:%Y-%m-%d %H:%M} UTC"
    if delivery.kind is NotificationKind.SOLVED:
        if not store.notifications.was_sent(NotificationKind.PROBLEM, delivery.thread, delivery.recipient):
            return None
        headline = f"The alert {alert} works again"
        details = f"It had failed since {since}."
    else:
        if problem.closed is not None:
            return None
        headline = f"The alert {alert} fails, and finds nothing new"
        details = (
            f"{plain_line(problem.reason, _LONGEST)} It has failed since {since}, and is run again as usual. "
            "There is one message once it works again."
        )
    return NotificationFacts(
        kind=delivery.kind.value,
        instance=plain_line(config.name, _LONGEST),
        recipient=plain_line(delivery.recipient.person, _LONGEST),
        problem=headline,
        problem_details=details,
        address=config.server.address,
    )
