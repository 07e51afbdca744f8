"""Keep the outbox of an instance from growing without end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knickpoint.instance.place import Instance

__all__ = ["forget_events"]

_DAY_SECONDS: Final = 86_400


def forget_events(instance: Instance) -> list[str]:
    """Drop events that are older, or more, than the configuration wants kept; return a line for each kind.

    Nothing is lost for good with them: alerts run over everything by schedule, and findings stay in the store.
    """
    rule = instance.config.worker
    gone = instance.store.outbox.forget(rule.event_days * _DAY_SECONDS, rule.most_events)
    return [
        f"events: {count:,} of kind {kind} that {consumer} did not take in {rule.event_days:g} days, or that were more"
        f" than {rule.most_events:,}, are forgotten"
        for (consumer, kind), count in gone.items()
    ]
