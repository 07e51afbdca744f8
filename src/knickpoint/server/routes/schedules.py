"""Routes of schedules."""

from __future__ import annotations

from fastapi import APIRouter

from knickpoint.answers.schedules import ScheduleAnswer, list_schedules
from knickpoint.server.routes.dependencies import RequestInstance, Visible

router = APIRouter(tags=["schedules"])


@router.get("/schedules")
def get_schedules(visible: Visible, instance: RequestInstance) -> list[ScheduleAnswer]:
    """List the schedules: which commits they measure, what waits, what became of their newest probes."""
    return list_schedules(instance, visible)
