"""OpenID providers for tests: a real one as a process, and one that answers whatever a test wants.

And people at a browser.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import RSAKey

from knickpoint.access.settings import RoleSettings, SignInSettings
from knickpoint.instance import Instance

__all__ = ["Browser", "LoopbackProvider", "query_of", "running_provider", "with_sign_in"]

_RUNNING = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


@contextmanager
def running_provider(*people: Mapping[str, object]) -> Iterator[str]:
    """Run a provider as a process of its own, with these people, and give its address."""
    arguments = [part for claims in people for part in ("--user-claims", json.dumps(claims))]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", "0", "--require-nonce", "true", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        found = None
        lines = []
        for line in process.stderr:
            lines.append(line)
            found = _RUNNING.search(line)
            if found:
                break
        reader = threading.Thread(target=process.stderr.read, daemon=True)  # a full pipe would stop the process
        reader.start()
        try:
            assert found, "".join(lines)
            yield found[1]
        finally:
            process.terminate()
            process.wait()
            reader.join()


def with_sign_in(
    instance: Instance, ways: Mapping[str, SignInSettings], roles: Mapping[str, RoleSettings] | None = None, **more: Any
) -> Instance:
    """Return the instance with these ways to sign in, as often a minute as the tests do."""
    limits = dataclasses.replace(instance.config.limits, sign_ins_per_minute=100_000, requests_per_minute=100_000)
    config = dataclasses.replace(instance.config, sign_in=ways, roles=roles or {}, limits=limits, **more)
    return dataclasses.replace(instance, config=config)


def query_of(address: str) -> dict[str, str]:
    """Return the parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


class Browser:
    """A browser with its own cookies, which follows redirects only as a test says."""

    def __init__(self, address: str, **options: Any) -> None:
        self.address = address.rstrip("/")
        self.client = httpx.Client(headers={"accept": "text/html"}, timeout=30, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path if "://" in path else self.address + path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.client.post(self.address + path, headers={"origin": self.address}, **options)

    def begin(self, path: str = "/sign-in") -> str:
        """Begin a sign-in, and return the address at the provider."""
        answer = self.get(path)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def consent(self, authorization: str, subject: str) -> str:
        """Sign in at the provider, and return the address that it sends the browser back to."""
        answer = self.client.post(authorization, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def sign_in(self, subject: str, path: str = "/sign-in") -> httpx.Response:
        """Sign in, and return the response that starts the session."""
        return self.get(self.consent(self.begin(path), subject))

    def session(self) -> str:
        """Return the cookie of the session, "" where there is none."""
        return self.client.cookies.get("knick_session") or ""


class LoopbackProvider:
    """A provider on loopback that signs real tokens, and whose every answer a test can change.

    ``claims`` and ``header`` are added to those of the ID token; ``sign`` makes the token from both. It gives tokens
    only for its own codes, once, and only with the verifier of their challenge.
    """

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.reset()

    def reset(self) -> None:
        """Answer as a provider should."""
        self.claims: dict[str, Any] = {"email": "alice@example.org", "email_verified": True}
        self.header: dict[str, Any] = {}
        self.user_info: dict[str, Any] = {"sub": "alice"}
        self.document: dict[str, Any] = {}
        self.answers: dict[str, Callable[[], tuple[int, bytes]]] = {}
        self.sign: Callable[[dict[str, Any], dict[str, Any]], str] = self._signed
        self.forms: list[dict[str, str]] = []
        self.nonce = ""
        self._challenges: dict[str, str] = {}

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def settings(self, name: str = "local", **more: Any) -> SignInSettings:
        return SignInSettings(name, issuer=self.issuer, client_id="knickpoint", client_secret="its secret", **more)

    def approve(self, authorization: str, code: str = "code-1") -> str:
        """Return the address that the provider sends the browser back to, with a new code."""
        asked = query_of(authorization)
        self.nonce = asked["nonce"]
        assert asked["code_challenge_method"] == "S256"
        self._challenges[code] = asked["code_challenge"]
        return f"{asked['redirect_uri']}?code={code}&state={asked['state']}"

    def _signed(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        return jwt.encode(header, claims, self.key, algorithms=[header["alg"]])

    def _token(self) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": "knickpoint",
            "sub": "alice",
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonce,
            **self.claims,
        }
        present = {name: value for name, value in claims.items() if value is not None}
        token = self.sign({"alg": "RS256", "kid": "one", **self.header}, present)
        return {"access_token": "secret-access-token", "token_type": "Bearer", "expires_in": 300, "id_token": token}

    def _respond(self, path: str, form: dict[str, str]) -> tuple[int, bytes]:
        if path in self.answers:
            return self.answers[path]()
        answers: dict[str, Callable[[], object]] = {
            "/.well-known/openid-configuration": self._description,
            "/jwks": lambda: {"keys": [self.key.as_dict(private=False)]},
            "/userinfo": lambda: self.user_info,
            "/token": lambda: self._tokens(form),
        }
        found = answers[path]()
        return 400 if found is None else 200, json.dumps(found or {"error": "invalid_grant"}).encode()

    def _description(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.document,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _tokens(self, form: dict[str, str]) -> dict[str, Any] | None:
        self.forms.append(form)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return self._token() if self._challenges.pop(form["code"], "") == challenge else None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send({})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                self._send({name: values[0] for name, values in parse_qs(body).items()})

            def _send(self, form: dict[str, str]) -> None:
                status, body = provider._respond(urlsplit(self.path).path, form)
                with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked may have given up
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
