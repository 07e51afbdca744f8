"""A sign-in between its two redirects: what the browser keeps so that only it can finish what it began.

The browser keeps the state as a signed cookie. The nonce and the code verifier (PKCE) are derived from the state with
the key of the instance, so that they stand in no cookie and need no table.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import unquote

from knickpoint.access.session_key import Purpose, derived_key, read_claims, sign_claims

PENDING_SECONDS: Final = 600
"""Time to sign in at the provider."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that was begun at ``provider``; afterwards the browser returns to ``path``."""

    state: str
    provider: str
    path: str
    expires: datetime

    def is_of(self, state: str) -> bool:
        """Return True if the provider answers this sign-in, in a time that says nothing about the state."""
        return hmac.compare_digest(self.state.encode(), state.encode(errors="replace"))

    def nonce(self, key: bytes) -> str:
        """Return the text that the ID token must repeat."""
        return _text(derived_key(key, Purpose.NONCE, self.state))

    def code_verifier(self, key: bytes) -> str:
        """Return the secret of PKCE, without which the code of the provider is worth nothing."""
        return _text(derived_key(key, Purpose.VERIFIER, self.state))


def begin_sign_in(provider: str, path: str, now: datetime) -> PendingSignIn:
    """Begin a sign-in at ``provider``, after which the browser returns to ``path``."""
    expires = now.replace(microsecond=0) + timedelta(seconds=PENDING_SECONDS)
    return PendingSignIn(secrets.token_urlsafe(24), provider, path, expires)


def sign_pending(pending: PendingSignIn, key: bytes) -> str:
    """Return the value of the cookie of a pending sign-in."""
    claims = {
        "jti": pending.state,
        "provider": pending.provider,
        "path": pending.path,
        "exp": int(pending.expires.timestamp()),
    }
    return sign_claims(claims, key, Purpose.SIGN_IN)


def read_pending(text: str, key: bytes, now: datetime) -> PendingSignIn | None:
    """Return the pending sign-in of a cookie, or nothing where it is not signed with ``key`` or took too long."""
    claims = read_claims(text, key, Purpose.SIGN_IN, now)
    if claims is None:
        return None
    expires = datetime.fromtimestamp(claims["exp"], UTC)
    return PendingSignIn(claims["jti"], claims["provider"], claims["path"], expires)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


# The path of this server that a browser returns to after a sign-in, and nothing that could lead to another server.


_HOME: Final = "/"
_LONGEST: Final = 1_500
_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""One slash, then printed ASCII without space and backslash: browsers read ``/\\evil`` and ``/<tab>/evil`` as
``//evil``.
"""

_DECODED_TWICE: Final = 2
_ELSEWHERE: Final = re.compile(r"[/\\]{2}|[\x00-\x1f\x7f\\]")
"""What leads elsewhere, or might after a proxy has tidied the path up."""

_SIGN_IN: Final = re.compile(r"/sign(?:-in|-out|ed-out)(?![\w-])")


def return_path(text: str) -> str:
    """Return ``text`` where it is a path of this server with its query, else the path of the first page.

    The pages of sign-in and sign-out are not places to return to.
    """
    if len(text) > _LONGEST or not _PATH.fullmatch(text):
        return _HOME
    path = text.partition("?")[0].partition("#")[0]
    for _ in range(_DECODED_TWICE + 1):
        if _ELSEWHERE.search(path) or "/./" in path or "/../" in path or _SIGN_IN.match(path):
            return _HOME
        path = unquote(path, errors="replace")
    return text
