"""Map addresses to the functions that answer them; resources that belong together share a module, no logic."""

from __future__ import annotations

from fastapi import APIRouter

from knickpoint.server.routes import access, alerts, changes, commits, instance, plots, traces, work

__all__ = ["routers"]


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all resources, in the order of the reference."""
    return (
        access.me_router,
        instance.overview_router,
        instance.state_router,
        instance.service_router,
        alerts.alerts_router,
        access.access_router,
        commits.router,
        traces.clusterings_router,
        changes.changes_router,
        work.bisections_router,
        work.schedules_router,
        changes.quarantines_router,
        work.deliveries_router,
        alerts.quality_router,
        traces.traces_router,
        traces.missing_router,
        plots.pictures_router,
        plots.formulas_router,
        plots.grafana_router,
        work.uploads_router,
    )
