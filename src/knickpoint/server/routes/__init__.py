"""Map addresses to what answers them; one module a resource, no logic."""

from __future__ import annotations

from fastapi import APIRouter

from knickpoint.server.routes import formulas, health, regressions, repositories, results, traces

__all__ = ["routers"]


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all resources, in the order of the reference."""
    return (health.router, repositories.router, regressions.router, traces.router, formulas.router, results.router)
