"""Signed links: an address with which the recipient of a message makes one decision, once, until it expires."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from knickpoint.access.sessions import Purpose, derived_key
from knickpoint.model.change_point import Status
from knickpoint.people import Directory
from knickpoint.store import Store
from knickpoint.watch.triage.decisions import Targets, decide

# Signed links: an address in a message with which its recipient makes one decision about one change, until it expires.
#
# The text of a link is a JSON object and its HMAC-SHA256, both in base64url. The key is derived from the key of the
# instance for this purpose alone. Whoever has the link may make this decision and nothing else: it is not a sign-in.


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
    """Return the claim of a link, None if it was not signed with ``key``; the caller checks whether it has expired."""
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


# Decide with a signed link: say what it would do now, and do it once, as the recipient of the message.


_NOTE: Final = "by the link in a message"
_STATUS: Final = {LinkAction.NOISE: Status.HIDDEN, LinkAction.ACKNOWLEDGE: Status.ACKNOWLEDGED, LinkAction.TAKE: None}


class LinkState(Enum):
    """What a link can do.

    OPEN: its decision may be made. DONE: it was made with this link just now. USED: it was made with this link before.
    EXPIRED: its time is over. CHANGED: a person decided about the change meanwhile. GONE: the data no longer show it.
    """

    OPEN = "open"
    DONE = "done"
    USED = "used"
    EXPIRED = "expired"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link as its page shows it: its state, who decides, and what it is about.

    ``lead`` is the trace key of the stated lead, ``headline`` what the change is said to be, ``findings`` how many
    wait.
    """

    state: LinkState
    claim: LinkClaim
    who: str
    lead: str = ""
    headline: str = ""
    findings: int = 0
    repository: str = ""


def view_link(store: Store, claim: LinkClaim, directory: Directory, now: datetime) -> LinkView:
    """Return the present effect of a link; nothing changes."""
    who = _person(claim, directory)
    if claim.expires <= now:
        return LinkView(LinkState.EXPIRED, claim, who)
    if store.links.is_used(link_digest(claim)):
        return LinkView(LinkState.USED, claim, who)
    members = store.findings.live_members(claim.change)
    stated = store.findings.statements.of_changes([claim.change]).get(claim.change)
    if not members or stated is None:
        return LinkView(LinkState.GONE, claim, who)
    waiting = [member for member in members if not member.processed]
    taken = claim.action is LinkAction.TAKE and any(member.assignee for member in members)
    state = LinkState.OPEN if waiting and not taken else LinkState.CHANGED
    repository = store.findings.repository_of(claim.change).name
    lead = next((member.key for member in members if member.id == stated.lead), "")
    return LinkView(state, claim, who, lead, stated.headline, len(waiting), repository)


def follow_link(store: Store, claim: LinkClaim, directory: Directory, now: datetime) -> LinkView:
    """Make the decision of a link if it may be made, and return what became of it: all in one transaction."""
    with store.transaction():
        view = view_link(store, claim, directory, now)
        if view.state is not LinkState.OPEN:
            return view
        store.links.use(link_digest(claim), view.who, now=now, expires=claim.expires)
        decide(
            store,
            Targets(changes=(claim.change,)),
            who=view.who,
            status=_STATUS[claim.action],
            note=_NOTE,
            assignee=view.who if claim.action is LinkAction.TAKE else None,
        )
    return replace(view, state=LinkState.DONE)


def _person(claim: LinkClaim, directory: Directory) -> str:
    """Return the name under which the recipient signs in, where it is known, else the address."""
    person = directory.person_of_address(claim.address)
    return person.sign_in if person.name else claim.address
