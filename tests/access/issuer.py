"""A CI service on loopback: it publishes its keys as OpenID Connect Discovery says, and signs identity tokens with real keys."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

DESCRIPTION = "/.well-known/openid-configuration"
KEYS = "/keys"
REQUEST = "/request-token"
"""Where a job asks for its token, as at ACTIONS_ID_TOKEN_REQUEST_URL of GitHub Actions."""

RSA = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
EC = ECKey.generate_key("P-256", {"kid": "curve", "use": "sig"})
STRANGER = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
"""A key with an id of the issuer, which it does not publish."""

Token = Callable[[str], str]


@dataclass
class CiService:
    """The state of a CI service: what it publishes, what it was asked for, and whether it answers."""

    address: str
    keys: list[Mapping[str, Any]] = field(default_factory=list)
    published: dict[str, Any] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    status: int = 200
    request_token: str = ""
    make_token: Token | None = None

    def answer(self, path: str, authorization: str) -> tuple[int, Any]:
        """Return the status and the body of the answer to a request."""
        parts = urlsplit(path)
        self.asked[parts.path] += 1
        if self.status != 200:
            return self.status, {}
        if parts.path.endswith(DESCRIPTION):
            issuer = self.address + parts.path.removesuffix(DESCRIPTION)
            return 200, {"issuer": issuer, "jwks_uri": self.address + KEYS, **self.published}
        if parts.path == KEYS:
            return 200, {"keys": self.keys}
        asked = parse_qs(parts.query)
        if parts.path == REQUEST and self.make_token and authorization == f"bearer {self.request_token}":
            # GitHub's own address has a query already, and the audience is added to it.
            return (200, {"value": self.make_token(asked["audience"][0])}) if "api-version" in asked else (400, {})
        return 404, {}


def _handler(service: CiService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, answer = service.answer(self.path, self.headers.get("Authorization", ""))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


@contextmanager
def ci_service(port: int = 0) -> Iterator[CiService]:
    """Serve a CI service on loopback while a ``with`` lasts."""
    service = CiService("", [RSA.as_dict(private=False), EC.as_dict(private=False)])
    with ThreadingHTTPServer(("127.0.0.1", port), _handler(service)) as server:
        service.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def sign(
    claims: Mapping[str, Any] | str,
    key: RSAKey | ECKey | bytes = RSA,
    *,
    algorithm: str = "RS256",
    header: Mapping[str, Any] | None = None,
) -> str:
    """Return the token with these claims, or with this payload, signed by ``key``, whether that makes sense or not.

    ``header`` replaces single fields; None takes a field away. Bytes are a shared secret.
    """
    payload = claims if isinstance(claims, str) else json.dumps(claims)
    fields = {"alg": algorithm, "typ": "JWT", "kid": "first" if isinstance(key, bytes) else key.kid, **(header or {})}
    known = {name: value for name, value in fields.items() if value is not None}
    signed = f"{part(json.dumps(known))}.{part(payload)}"
    return f"{signed}.{part(_signature(signed.encode(), key, algorithm))}"


def part(content: str | bytes) -> str:
    """Return a part of a token: ``content`` in base64url."""
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _signature(message: bytes, key: RSAKey | ECKey | bytes, algorithm: str) -> bytes:
    if isinstance(key, bytes):
        return hmac.digest(key, message, f"sha{algorithm[2:]}")
    return jws.JWSRegistry.algorithms[algorithm].sign(message, key)


def github_claims(issuer: str, audience: str, moment: float, **changed: Any) -> dict[str, Any]:
    """Return the claims of a push to main, as GitHub Actions states them; None takes a claim away."""
    claims = {
        "jti": "2f3b1f6a",
        "sub": "repo:ada/engine:ref:refs/heads/main",
        "iss": issuer,
        "aud": audience,
        "iat": int(moment),
        "nbf": int(moment) - 300,
        "exp": int(moment) + 600,
        "repository": "ada/engine",
        "repository_owner": "ada",
        "repository_id": "74",
        "ref": "refs/heads/main",
        "ref_type": "branch",
        "ref_protected": "true",
        "event_name": "push",
        "sha": "0123456789012345678901234567890123456789",
        "workflow": "benchmarks",
        **changed,
    }
    return {name: value for name, value in claims.items() if value is not None}


def gitlab_claims(issuer: str, audience: str, moment: float, **changed: Any) -> dict[str, Any]:
    """Return the claims of a push to main, as GitLab states them; None takes a claim away."""
    claims = {
        "jti": "2f3b1f6a",
        "sub": "project_path:ada/engine:ref_type:branch:ref:main",
        "iss": issuer,
        "aud": audience,
        "iat": int(moment),
        "nbf": int(moment) - 5,
        "exp": int(moment) + 3600,
        "project_path": "ada/tools/engine",
        "project_id": "74",
        "ref": "main",
        "ref_type": "branch",
        "ref_protected": "true",
        "pipeline_source": "push",
        **changed,
    }
    return {name: value for name, value in claims.items() if value is not None}
