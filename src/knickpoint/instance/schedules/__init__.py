"""The schedules of an instance: what they choose, the probes that they make, and what becomes of them."""

from knickpoint.instance.schedules.planning import (
    ScheduledLine,
    ScheduleStatus,
    describe_policy,
    plan_fills,
    plan_new,
    read_scheduled_line,
    schedule_status,
)
from knickpoint.instance.schedules.rounds import ScheduleRounds

__all__ = [
    "ScheduleRounds",
    "ScheduleStatus",
    "ScheduledLine",
    "describe_policy",
    "plan_fills",
    "plan_new",
    "read_scheduled_line",
    "schedule_status",
]
