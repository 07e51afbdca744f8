"""Refuse requests of other sites' pages and oversized or slow ones, and set the security headers of every response."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knickpoint.answers.visible_repositories import TooManyRequestsError
from knickpoint.instance.config import LimitSettings
from knickpoint.server.request_limits import UPLOADS, RequestLimits
from knickpoint.server.request_origin import host_of_address, name_of_host, request_id

# Check the size and the pace of the body of each request while it is read.


_LARGE: Final = 20_000
"""Bytes of a body that is large: parsing it takes milliseconds, in which no other request is served."""

_SHORTEST_WAIT: Final = 0.001
"""Seconds that are waited at least, so that what has arrived is taken."""


SEND_LESS: Final = "Send less at a time, or have an admin raise body_bytes of [limits] in knickpoint.toml."
"""What to do about a body that is larger than the limit."""


def too_large(limits: LimitSettings) -> str:
    """Return the error about a body that is larger than the limit."""
    return f"The body is larger than {limits.body_bytes:,} bytes"


def watched_body(receive: Receive, limits: LimitSettings, *, bounded: bool, admit_large: Callable[[], None]) -> Receive:
    """Return ``receive`` for one request, with limits on the body.

    A client may take ``body_seconds`` for the first bytes and between two pieces; on average it sends at least
    ``body_bytes_per_second`` after that. Only the time in which the server waits for the client counts. With
    ``bounded`` the body has at most ``body_bytes``, and ``admit_large`` is called before it becomes large, and may
    raise: a request need not announce its length.
    """
    received = 0
    waited = 0.0
    complete = False

    async def receive_watched() -> Message:
        nonlocal received, waited, complete
        if complete:
            return await receive()
        allowed = limits.body_seconds + min(received / limits.body_bytes_per_second - waited, 0.0)
        begin = time.monotonic()
        try:
            async with asyncio.timeout(max(allowed, _SHORTEST_WAIT)):
                message = await receive()
        except TimeoutError:
            complete = True
            raise HTTPException(408, "The body arrived too slowly", {"connection": "close"}) from None
        waited += time.monotonic() - begin
        before, received = received, received + len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if bounded and received > limits.body_bytes:
            raise HTTPException(413, too_large(limits))
        if bounded and before <= _LARGE < received:
            _admit(admit_large)
        return message

    return receive_watched


def _admit(admit_large: Callable[[], None]) -> None:
    """Admit a large body; the framework passes errors of HTTP only through the reading of a body."""
    try:
        admit_large()
    except TooManyRequestsError as error:
        message = f"{error.message[:1].upper()}{error.message[1:]}"
        raise HTTPException(429, message, {"retry-after": str(math.ceil(error.seconds))}) from error


# Refuse requests of other sites' pages and oversized requests, and set the security headers of every response.
#
# Any page in a browser on this machine can send requests to 127.0.0.1, so listening there only is not enough. The guard
# refuses a Host name that it does not know, because another site may have its own name resolve to this machine (DNS
# rebinding), and a request that changes something from a page of another site (cross-site request forgery).
#
# It also answers HEAD as GET without the body, and counts what clients may do before they are known: attempts to sign
# in, and requests with credentials that are refused.


_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
)
_NO_FRAMES: Final = "x-frame-options"
_EMBED: Final = "embed"
_FEATURES: Final = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
_HEADERS: Final = {
    "content-security-policy": _POLICY.format(ancestors="'none'"),
    "x-content-type-options": "nosniff",
    _NO_FRAMES: "DENY",
    "referrer-policy": "same-origin",
    "permissions-policy": _FEATURES,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PRIVATE: Final = ("/api/", "/mcp", "/metrics", "/sign-in", "/sign-out", "/link/")
"""Beginnings of paths whose answers depend on the caller, so that nothing may keep them."""

_LONGEST_SHOWN: Final = 253
"""Characters of a host that a message shows; no name is longer."""

_SIGN_IN: Final = "/sign-in"
_ONLY_HTTPS: Final = "max-age=31536000"
_UNAUTHORIZED: Final = 401


def is_known_host(host: str, known: Collection[str]) -> bool:
    """Whether ``host`` names this server: an IP address, localhost, or a name of ``known``.

    Any other name may belong to a site that has it resolve to this machine.
    """
    name = name_of_host(host)
    if name == "localhost" or name.endswith(".localhost") or name in known:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_origin(headers: Headers, address: str = "", *, scheme: str = "http") -> bool:
    """Whether a request comes from a page of this server, or from no page.

    Scheme, name and port have to agree. ``address`` is the public address of the server, and the only one under its
    name; behind a proxy, the Host header may name the server itself. ``scheme`` is that of the request. Where a proxy
    that is not in the configuration ends https, the scheme is unknown, and the browser says itself whether the page has
    the same origin.
    """
    site = headers.get("sec-fetch-site", "none")
    if site not in {"none", "same-origin"}:
        return False
    origin, host = headers.get("origin"), headers.get("host", "")
    public = urlsplit(address)
    if origin is None or (address and origin == f"{public.scheme}://{public.netloc}"):
        return True
    if address and host == public.netloc:
        return False
    return origin == f"{scheme}://{host}" or (site == "same-origin" and origin == f"https://{host}")


class RequestGuard:
    """Check the host, the origin and the size of each request, and set the headers of each response.

    ``hosts`` are names of the server in addition to its addresses and localhost, ``address`` is its public address, and
    ``embed`` are websites that may show pages with `?embed` in a frame: these pages decide nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: RequestLimits,
        hosts: Collection[str] = (),
        address: str = "",
        embed: Collection[str] = (),
    ) -> None:
        self._app = app
        self._limits = limits
        named = [*hosts, *([host_of_address(address)] if address else [])]
        self._hosts = frozenset(host.lower() for host in named)
        self._address = address
        https = {"strict-transport-security": _ONLY_HTTPS} if address.startswith("https://") else {}
        self._headers = {**_HEADERS, **https}
        self._embeds = bool(embed)
        policy = {"content-security-policy": _POLICY.format(ancestors=" ".join(embed))}
        self._embedded = {name: value for name, value in self._headers.items() if name != _NO_FRAMES} | policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        bodiless = scope["method"] == "HEAD"

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._complete(message, scope)
            elif bodiless:
                message = {**message, "body": b""}
            await send(message)

        watched = watched_body(
            receive,
            self._limits.settings,
            bounded=scope["path"] not in UPLOADS,
            admit_large=lambda: self._limits.admit_large_body(self._limits.address_of(scope)),
        )
        inner = {**scope, "method": "GET"} if bodiless else scope
        await (self._refusal(scope) or self._app)(inner, watched, send_guarded)
        if bodiless and "route" in inner:
            scope["route"] = inner["route"]

    def _complete(self, message: Message, scope: Scope) -> None:
        """Add the security headers to the start of a response, and count a credential that was refused."""
        headers = MutableHeaders(scope=message)
        for name, value in self._security_headers(scope, headers).items():
            headers.setdefault(name, value)
        if scope["path"].startswith(_PRIVATE):
            headers.setdefault("cache-control", "no-store")
        if message["status"] == _UNAUTHORIZED and _has_credential(scope):
            self._limits.count_refused_credential(self._limits.address_of(scope))

    def _security_headers(self, scope: Scope, headers: Headers) -> Mapping[str, str]:
        """Return the headers of a response.

        Where websites may embed, pages with `?embed` and pictures are open to them.
        """
        if not self._embeds:
            return self._headers
        if headers.get("content-type", "").startswith("image/"):
            return {**self._headers, "cross-origin-resource-policy": "cross-origin"}
        wanted = _EMBED in parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return self._embedded if wanted and not scope["path"].startswith(_PRIVATE) else self._headers

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        return self._unsafe(scope) or self._oversized(scope) or self._too_often(scope)

    def _unsafe(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not is_known_host(host, self._hosts):
            return _refused(
                f"the name {name_of_host(host) or host[:_LONGEST_SHOWN]!r} is not one of this server's",
                "Use its address, or add the name to names of [server] in knickpoint.toml.",
            )
        own = scope["method"] in _SAFE_METHODS or is_own_origin(headers, self._address, scheme=scope["scheme"])
        if not own:
            return _refused(
                f"a page of {headers.get('origin', 'another site')!r} may not change anything here",
                "Open the dashboard under the address that the server printed.",
            )
        return None

    def _oversized(self, scope: Scope) -> JSONResponse | None:
        limits = self._limits.settings
        address = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if address > limits.address_bytes:
            return _refused(
                f"The address is longer than {limits.address_bytes:,} bytes",
                "Shorten the query, or keep the set of traces under a short id.",
                414,
            )
        if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.header_bytes:
            return _refused(
                f"The headers have more than {limits.header_bytes:,} bytes",
                "Send fewer cookies and headers.",
                431,
            )
        length = Headers(scope=scope).get("content-length", "0")
        if scope["path"] not in UPLOADS and not (length.isdecimal() and int(length[:20]) <= limits.body_bytes):
            return _refused(too_large(limits), SEND_LESS, 413)
        return None

    def _too_often(self, scope: Scope) -> JSONResponse | None:
        try:
            self._limits.admit_unknown(self._limits.address_of(scope), sign_in=scope["path"].startswith(_SIGN_IN))
        except TooManyRequestsError as error:
            response = _refused(f"{error.message[:1].upper()}{error.message[1:]}.", error.remedy, 429)
            response.headers["retry-after"] = str(math.ceil(error.seconds))
            return response
        return None


def _has_credential(scope: Scope) -> bool:
    """Return True if a request tries to be known; one that does not cannot guess, and is counted by its address."""
    headers = Headers(scope=scope)
    return "authorization" in headers or "cookie" in headers or b"token=" in scope["query_string"]


def _refused(error: str, remedy: str, code: int = 403) -> JSONResponse:
    return JSONResponse({"error": error, "where": "", "remedy": remedy, "request": request_id()}, status_code=code)
