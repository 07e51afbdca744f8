"""Put the API and the dashboard together."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.routing import APIRoute

from knickpoint.instance import Instance
from knickpoint.server.dashboard import add_pages
from knickpoint.server.error_responses import ERRORS, handle_failures
from knickpoint.server.request_guard import Guard
from knickpoint.server.routes import routers

__all__ = ["create_app", "describe_api"]

_ABOUT = """\
Everything that the dashboard shows, for scripts. Errors have one shape, `{error, where, remedy}`. Requests that
change something are refused when they come from a page of another site, and bodies of more than 4,000,000 bytes
are refused (413) but for uploads of results.
"""


def _identifier(route: APIRoute) -> str:
    return route.name


def _build() -> FastAPI:
    app = FastAPI(
        title="Knickpoint",
        version=version("knickpoint"),
        description=_ABOUT,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_identifier,
    )
    handle_failures(app)
    for router in routers():
        app.include_router(router, prefix="/api/v1", responses=ERRORS)
    return app


def create_app(instance: Instance, *, hosts: Collection[str] = ()) -> FastAPI:
    """Return the application that serves ``instance``.

    ``hosts`` are names, beside addresses and localhost, under which the server is known.
    """
    app = _build()
    app.state.instance = instance
    add_pages(app)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(Guard, hosts=hosts)
    return app


def describe_api() -> dict[str, object]:
    """Return the OpenAPI description of the API, which no instance is needed for."""
    return _build().openapi()
