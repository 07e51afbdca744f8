"""Signed links: an address in a message with which its recipient makes one decision about one change, until it expires.

The text of a link is a JSON object and its HMAC-SHA256, both in base64url. The key is derived from the key of the instance
for this purpose alone. Whoever has the link may make this decision and nothing else: it is no sign-in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from knickpoint.access.signed_claims import Purpose, derived_key

__all__ = ["LINK_PATH", "LinkAction", "LinkClaim", "link_digest", "read_link", "sign_link"]

LINK_PATH: Final = "/link/"
"""Beginning of the paths of signed links."""

_LONGEST: Final = 2_000


class LinkAction(Enum):
    """The decision that a link makes."""

    NOISE = "noise"
    ACKNOWLEDGE = "acknowledge"
    TAKE = "take"


@dataclass(frozen=True, slots=True)
class LinkClaim:
    """What a link is for.

    ``change`` is the id of the change, ``address`` and ``person`` are those of the recipient of the message.
    """

    change: int
    action: LinkAction
    address: str
    person: str
    expires: datetime

    @property
    def who(self) -> str:
        """Who decides, as the audit log shows it before the directory of people is asked."""
        return self.person or self.address


def sign_link(claim: LinkClaim, key: bytes) -> str:
    """Return the text of a link for ``claim``; ``key`` is that of the instance."""
    body = _body(claim)
    return f"{_encoded(body)}.{_encoded(_mac(body, key))}"


def read_link(text: str, key: bytes) -> LinkClaim | None:
    """Return what a link is for, None where it was not signed with ``key``; the caller checks whether it has expired."""
    body, _, mac = text.partition(".")
    try:
        if len(text) > _LONGEST:
            return None
        plain = _decoded(body)
        if not hmac.compare_digest(_decoded(mac), _mac(plain, key)):
            return None
        change, action, address, person, expires = json.loads(plain)
        return LinkClaim(change, LinkAction(action), address, person, datetime.fromtimestamp(expires, UTC))
    except (ValueError, TypeError, binascii.Error, OverflowError):
        return None


def link_digest(claim: LinkClaim) -> str:
    """Return by what the store knows a link that was used: the same, however its text is written."""
    return hashlib.sha256(_body(claim)).hexdigest()


def _body(claim: LinkClaim) -> bytes:
    expires = int(claim.expires.timestamp())
    values = [claim.change, claim.action.value, claim.address, claim.person, expires]
    return json.dumps(values, separators=(",", ":")).encode()


def _mac(body: bytes, key: bytes) -> bytes:
    return hmac.digest(derived_key(key, Purpose.LINK), body, hashlib.sha256)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    if not text.isascii():
        raise ValueError("not base64url")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
