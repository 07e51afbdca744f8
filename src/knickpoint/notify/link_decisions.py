"""Decide with a signed link: say what it would do now, and do it once, as the recipient of the message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.change import ChangePoint, Status
from knickpoint.notify.links import LinkAction, LinkClaim, link_digest
from knickpoint.people import Directory
from knickpoint.store import Store
from knickpoint.watch.triage.decisions import Targets, decide

__all__ = ["LinkState", "LinkView", "follow_link", "view_link"]

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
    """A link as its page shows it: its state, who decides, and the ``lead`` and number of the findings that it is about."""

    state: LinkState
    claim: LinkClaim
    who: str
    lead: ChangePoint | None = None
    findings: int = 0
    repository: str = ""


def view_link(store: Store, claim: LinkClaim, directory: Directory, now: datetime) -> LinkView:
    """Return what a link can do now; nothing changes."""
    who = _person(claim, directory)
    if claim.expires <= now:
        return LinkView(LinkState.EXPIRED, claim, who)
    if store.links.is_used(link_digest(claim)):
        return LinkView(LinkState.USED, claim, who)
    members = sorted(store.findings.live_members(claim.change), key=lambda member: member.rank)
    if not members:
        return LinkView(LinkState.GONE, claim, who)
    waiting = [member for member in members if not member.processed]
    taken = claim.action is LinkAction.TAKE and any(member.assignee for member in members)
    state = LinkState.OPEN if waiting and not taken else LinkState.CHANGED
    repository = store.findings.repository_of(claim.change).name
    return LinkView(state, claim, who, members[0], len(waiting), repository)


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
    return LinkView(LinkState.DONE, claim, view.who, view.lead, view.findings, view.repository)


def _person(claim: LinkClaim, directory: Directory) -> str:
    """Return the name under which the recipient signs in, where it is known, else the address."""
    person = directory.person_of_address(claim.address)
    return person.sign_in if person.name else claim.address
