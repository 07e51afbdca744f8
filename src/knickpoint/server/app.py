"""Build the application: the API, the dashboard, and the checks of every request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from knickpoint.instance import Config, Instance
from knickpoint.model.access import Permission
from knickpoint.model.errors import ConfigError
from knickpoint.model.service_part import ALL_PARTS, ServicePart
from knickpoint.server.api_reference import add_api_page
from knickpoint.server.callers import IDENTIFYING, needed_permission
from knickpoint.server.dashboard import add_pages
from knickpoint.server.error_responses import ERRORS, add_error_handlers, check_parameters, check_texts, describe_texts
from knickpoint.server.plain_pages import add_link_pages
from knickpoint.server.process_metrics import ProcessMetrics, RequestMetricsMiddleware
from knickpoint.server.reads import AnswerCache, OwnWrites, PrimaryInstead
from knickpoint.server.request_guard import RequestGuard
from knickpoint.server.request_limits import RequestLimits, limit_request
from knickpoint.server.request_origin import AuditAddress, ForwardedHeaders, RequestIds
from knickpoint.server.routes import routers
from knickpoint.server.routes.instance import agents_router, state_router, usual_addresses
from knickpoint.server.sign_in import add_sign_in

if TYPE_CHECKING:
    from knickpoint.access.identity_token import KeySource


# Describe in OpenAPI how a caller shows who it is, and what each operation needs.


_SCHEMES: Final[Mapping[str, Mapping[str, str]]] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `knick tokens create`, or the identity token of a CI job where `[ci_jobs]` allows it.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "knick_session",
        "description": "The session of a person who signed in. Under https the name is `__Host-knick_session`, and a large"
        " session has several cookies.",
    },
}


def describe_security(description: dict[str, Any], permissions: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Add the schemes to ``description``, and to each operation its permission, in place, and return it.

    ``permissions`` maps (method, path) to the permission that the operation needs; those without one are open to every
    caller. In an operation, the scheme names the permission as OpenAPI 3.1 names roles.
    """
    description.setdefault("components", {})["securitySchemes"] = {name: dict(each) for name, each in _SCHEMES.items()}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            operation["security"] = _requirement(permissions.get((method.upper(), path), ""))
    return description


def _requirement(permission: str) -> Sequence[Mapping[str, Sequence[str]]]:
    if not permission:
        return [{}]
    return [{name: [permission]} for name in _SCHEMES]


_PREFIX: Final = "/api/v1"

_ABOUT = """\
Everything that the dashboard shows, for scripts. Every error has the body `{error, where, remedy, request}`; `request` is the
id in the header `X-Request-Id` of each answer, and in the log of the server. Requests that
change something are refused when they come from a page of another site. Limits of `[limits]` in the configuration bound
how many requests a caller sends (429), how large they are (413, 414, 431), how slowly they come (408), and how long they
work (503). Where it helps to wait, `Retry-After` says how many seconds. Fields and parameters that do not exist are refused (422).
"""


def _operation_id(route: APIRoute) -> str:
    return route.name


def _build(*, whole: bool = True) -> FastAPI:
    app = FastAPI(
        title="Knickpoint",
        version="1",  # of the API; the description stays the same where only the program changed,
        description=_ABOUT,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    add_error_handlers(app)
    app.router.routes.extend(_routes(whole=whole))
    describe = app.openapi
    permissions = {(method, path): permission for method, path, permission in _permissions()}
    app.openapi = lambda: (  # type: ignore[method-assign]
        app.openapi_schema or describe_security(describe_texts(describe()), permissions)
    )
    add_api_page(app)
    return app


@cache
def _routes(*, whole: bool) -> tuple[BaseRoute, ...]:
    """Return the routes of the API, or only those of a process without the part `api`.

    FastAPI prepares included routes at the first request, which takes a tenth of a second. All applications of a
    process share them, so that each of them does not prepare its own.
    """
    holder = FastAPI(openapi_url=None, generate_unique_id_function=_operation_id)
    checks = [Depends(check_texts), Depends(check_parameters), Depends(limit_request, scope="function")]
    for router in routers() if whole else [state_router]:
        undeclared = routes_without_caller(router)
        assert not undeclared, f"these routes take no caller, see knickpoint.server.callers: {', '.join(undeclared)}"
        holder.include_router(router, prefix=_PREFIX, responses=ERRORS, dependencies=checks)
    usual = [usual_addresses, agents_router] if whole else [usual_addresses]
    for router in usual:
        holder.include_router(router, dependencies=checks, include_in_schema=False)
    return tuple(holder.router.routes)


def _permissions() -> Iterator[tuple[str, str, str]]:
    """Yield method, path and permission of each route that needs one."""
    for route in (route for router in routers() for route in router.routes):
        if isinstance(route, APIRoute) and (needed := _permission_of(route.dependant)):
            yield from ((method, f"{_PREFIX}{route.path}", needed.value) for method in route.methods or ())


def _permission_of(dependant: Dependant) -> Permission | None:
    """Return the permission that a route needs: that of the first of its dependencies that checks one."""
    below = (_permission_of(each) for each in dependant.dependencies)
    return needed_permission(dependant.call) or next(filter(None, below), None)


def routes_without_caller(router: APIRouter) -> list[str]:
    """Return the paths of the routes that do not depend on the caller of the request."""
    return [
        path
        for route in router.routes
        for path in [getattr(route, "path", "(a mounted application)")]
        if not (isinstance(route, APIRoute) and _asks_caller(route.dependant))
    ]


def _asks_caller(dependant: Dependant) -> bool:
    return dependant.call in IDENTIFYING or any(map(_asks_caller, dependant.dependencies))


def _utc_now() -> datetime:
    return datetime.now(UTC)


def create_app(
    instance: Instance,
    *,
    hosts: Collection[str] = (),
    open_port: bool = False,
    parts: Collection[ServicePart] = ALL_PARTS,
    process_metrics: ProcessMetrics | None = None,
    clock: Callable[[], datetime] = _utc_now,
) -> FastAPI:
    """Return the application that serves ``instance``, or what a process without the part `api` says about itself.

    Args:
        instance: what to serve.
        hosts: names under which the server is reached, in addition to its addresses and localhost.
        open_port: whether the server listens to other machines, too. Then no request is from the local person.
        parts: the parts of the instance that this process runs.
        process_metrics: what this process counts and measures.
        clock: the time, in UTC, by which sessions expire.

    Raises:
        StoreError: a server of `replicas` cannot be read, or the store is embedded.
        ConfigError: people are to sign in, and a library or the key of the sessions is missing or cannot be used.
    """
    config = instance.config
    whole = ServicePart.API in parts
    app = _build(whole=whole)
    app.state.instance = instance
    app.state.parts = parts
    app.state.answer_cache = AnswerCache()
    app.state.open_port = open_port
    app.state.ci_job_keys = _ci_job_keys(config)
    app.state.limits = limits = RequestLimits(config.limits, config.server.proxies)
    app.state.process_metrics = counted = process_metrics or ProcessMetrics()
    app.state.request_metrics = counted.requests
    counted.requests.watch_uploads(lambda: limits.backlog.files, lambda: limits.backlog.bytes)
    app.state.clock = clock
    add_sign_in(app, instance, clock=clock)
    if whole:
        add_link_pages(app, instance, clock=clock)
        add_pages(app)
    if instance.replicas:
        app.add_middleware(PrimaryInstead)
        app.add_middleware(OwnWrites, instance=instance)
    app.add_middleware(AuditAddress, proxies=config.server.proxies)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(
        RequestGuard, limits=limits, hosts=hosts, address=config.server.address, embed=config.server.embed
    )
    app.add_middleware(RequestMetricsMiddleware, metrics=counted.requests)
    app.add_middleware(ForwardedHeaders, proxies=config.server.proxies)
    app.add_middleware(RequestIds)
    return app


def _ci_job_keys(config: Config) -> KeySource | None:
    """Return the source of the keys of CI services, None if no CI job may upload.

    Raises:
        ConfigError: the package that verifies identity tokens is missing.
    """
    if not config.ci_jobs:
        return None
    try:
        from knickpoint.access.identity_token import KeySource
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"identity tokens of CI jobs need the package {error.name}",
            where="[ci_jobs]",
            remedy='Run: pip install "knickpoint[server]"',
        ) from error
    return KeySource(config.outgoing.rule)


def describe_api() -> dict[str, object]:
    """Return the OpenAPI description of the API; it needs no instance."""
    return _build().openapi()
