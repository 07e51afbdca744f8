"""Decide with a signed link: say what it would do now, and do it once, as the recipient of the message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.change_point import Status
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
    """A link as its page shows it: its state, who decides, and what it is about.

    ``lead`` is the trace key of the stated lead, ``headline`` what the change is said to be, ``findings`` how many wait.
    """

    state: LinkState
    claim: LinkClaim
    who: str
    lead: str = ""
    headline: str = ""
    findings: int = 0
    repository: str = ""


def view_link(store: Store, claim: LinkClaim, directory: Directory, now: datetime) -> LinkView:
    """Return what a link can do now; nothing changes."""
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
