"""Answer whether the server works, and what it is."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from knickpoint.server.answers import HealthAnswer, VersionAnswer
from knickpoint.server.reference import render_reference
from knickpoint.server.routes.needs import StoreNeed

__all__ = ["router"]

router = APIRouter(tags=["server"])


@router.get("/health")
def read_health(store: StoreNeed) -> HealthAnswer:
    """Say whether the store can be read."""
    return HealthAnswer(status="ok", repositories=len(store.commits.repositories()))


@router.get("/version")
def read_version() -> VersionAnswer:
    """Say which program and which version answers."""
    return VersionAnswer(name="knickpoint", version=version("knickpoint"), api="v1")


@router.get("/reference", response_class=PlainTextResponse)
def read_reference(request: Request) -> str:
    """Return the reference of this API as text."""
    return render_reference(request.app.openapi())
