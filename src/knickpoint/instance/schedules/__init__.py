"""The schedules of an instance: what they choose, the probes that they make, and what becomes of them."""

from knickpoint.instance.schedules.planning import ScheduledLine, plan_fills, plan_new, read_scheduled_line
from knickpoint.instance.schedules.rounds import ScheduleRounds
from knickpoint.instance.schedules.schedule_status import ScheduleStatus, describe_policy, schedule_status

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
