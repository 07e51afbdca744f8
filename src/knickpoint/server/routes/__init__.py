"""Map addresses to the functions that answer them; one module a resource, no logic."""

from __future__ import annotations

from fastapi import APIRouter

from knickpoint.server.routes import (
    access,
    alerts,
    bisections,
    changes,
    clusterings,
    commits,
    comparisons,
    deliveries,
    formulas,
    grafana,
    health,
    me,
    missing,
    overview,
    pictures,
    quality,
    quarantines,
    schedules,
    state,
    status,
    traces,
    uploads,
)

__all__ = ["routers"]


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all resources, in the order of the reference."""
    return (
        me.router,
        overview.router,
        state.router,
        health.router,
        status.router,
        alerts.router,
        access.router,
        commits.router,
        comparisons.router,
        clusterings.router,
        changes.router,
        bisections.router,
        schedules.router,
        quarantines.router,
        deliveries.router,
        quality.router,
        traces.router,
        missing.router,
        pictures.router,
        formulas.router,
        grafana.router,
        uploads.router,
    )
