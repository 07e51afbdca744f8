"""Who asks, and what they may do: callers, permissions, roles, grants.

A *caller* is the person, the token or the CI job behind a request. What it may do is a set of *permissions*, for every
repository or for some. A *role* is a named set of permissions for people; the *scopes* of a token are permissions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final


class Permission(Enum):
    """One thing that a caller may do; also the scope of a token."""

    READ = "read"
    UPLOAD = "upload"
    DECIDE = "decide"
    MEASURE = "measure"
    ADMIN = "admin"


class Role(Enum):
    """What a person may do: a viewer reads, an editor also decides and starts bisections, an admin does everything."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    @property
    def permissions(self) -> frozenset[Permission]:
        """The permissions that the role includes."""
        return _PERMISSIONS[self]


_IMPLIED: Final[Mapping[Permission, frozenset[Permission]]] = {
    Permission.READ: frozenset({Permission.READ}),
    Permission.UPLOAD: frozenset({Permission.UPLOAD}),
    Permission.DECIDE: frozenset({Permission.READ, Permission.DECIDE}),
    Permission.MEASURE: frozenset({Permission.READ, Permission.MEASURE}),
    Permission.ADMIN: frozenset(Permission),
}
"""What a permission includes: who decides or measures must see, and an admin may do everything."""

_PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.VIEWER: _IMPLIED[Permission.READ],
    Role.EDITOR: _IMPLIED[Permission.DECIDE] | _IMPLIED[Permission.MEASURE],
    Role.ADMIN: _IMPLIED[Permission.ADMIN],
}


@dataclass(frozen=True, slots=True)
class Grants:
    """The permissions of a caller: those for every repository, and further ones for single repositories by name."""

    everywhere: frozenset[Permission] = frozenset()
    repositories: Mapping[str, frozenset[Permission]] = field(default_factory=dict)

    @classmethod
    def of(cls, permissions: Iterable[Permission], repositories: Iterable[str] = ()) -> Grants:
        """Grant ``permissions``, with what they include, for ``repositories``, or for every one where none is named."""
        complete = frozenset(implied for permission in permissions for implied in _IMPLIED[permission])
        named = dict.fromkeys(repositories, complete)
        return cls(repositories=named) if named else cls(everywhere=complete)

    def __or__(self, other: Grants) -> Grants:
        """Return the permissions of both."""
        names = {*self.repositories, *other.repositories}
        empty: frozenset[Permission] = frozenset()
        merged = {name: self.repositories.get(name, empty) | other.repositories.get(name, empty) for name in names}
        return Grants(self.everywhere | other.everywhere, merged)

    def only(self, permissions: Collection[Permission]) -> Grants:
        """Limit the grants to ``permissions``."""
        kept = frozenset(permissions)
        return Grants(self.everywhere & kept, {name: some & kept for name, some in self.repositories.items()})

    def allow(self, permission: Permission, repository: str) -> bool:
        """Return True if ``permission`` is granted for the repository of this name."""
        return permission in self.everywhere or permission in self.repositories.get(repository, ())

    def allow_somewhere(self, permission: Permission) -> bool:
        """Return True if ``permission`` is granted for at least one repository."""
        return permission in self.everywhere or any(permission in some for some in self.repositories.values())


NO_GRANTS: Final = Grants()


class CallerKind(Enum):
    """How a caller is known.

    LOCAL is the user of the operating system on this machine, where no sign-in is configured; PERSON signed in; TOKEN
    is a token for machines; CI_JOB has an identity token of a CI service; ANYONE is not known at all.
    """

    LOCAL = "local"
    PERSON = "person"
    TOKEN = "token"  # noqa: S105  # a kind, not a secret
    CI_JOB = "ci job"
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the person, token or CI job behind a request or a command.

    ``name`` goes into every log: the verified mail address of a person or ``USER (PROVIDER)``, ``token:NAME``,
    ``github:OWNER/REPOSITORY``.
    ``title`` is what pages show. ``provider`` is the section of ``[sign_in]`` that a person came through.
    """

    kind: CallerKind
    name: str
    grants: Grants = NO_GRANTS
    title: str = ""
    mail: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person as a provider or a proxy describes them.

    ``provider`` is the section of ``[sign_in]``. ``name`` identifies the person in logs and in ``[roles]``; it holds a
    mail address only if the provider has verified it. ``groups`` are written as the provider writes them.
    """

    provider: str
    name: str
    title: str = ""
    mail: str = ""
    mail_verified: bool = False
    groups: tuple[str, ...] = ()


class TokenState(Enum):
    """Whether a token is accepted, and why not."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Token:
    """A token for machines, without its secret.

    ``repositories`` are the names that it is limited to; empty, it is good for all. ``expires``, ``last_used`` and
    ``revoked`` are None where the token does not expire, was never used, and is not revoked.
    """

    name: str
    scopes: frozenset[Permission]
    repositories: tuple[str, ...]
    created: datetime
    created_by: str
    expires: datetime | None = None
    last_used: datetime | None = None
    revoked: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Return True if the token is neither revoked nor expired at ``now``."""
        return self.state_at(now) is TokenState.VALID

    def state_at(self, now: datetime) -> TokenState:
        """Return the state of the token at ``now``."""
        if self.revoked:
            return TokenState.REVOKED
        return TokenState.VALID if self.expires is None or now < self.expires else TokenState.EXPIRED


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just created, with its secret, which is stored nowhere."""

    token: Token
    secret: str = field(repr=False)


# The audit log: who signed in, made tokens, changed the configuration, and decided.


class AuditKind(Enum):
    """What an entry of the audit log records."""

    SIGNED_IN = "signed-in"
    SIGN_IN_REFUSED = "sign-in-refused"
    SIGNED_OUT = "signed-out"
    TOKEN_CREATED = "token-created"  # noqa: S105  # a kind, not a secret
    TOKEN_REVOKED = "token-revoked"  # noqa: S105  # a kind, not a secret
    CONFIGURATION_CHANGED = "configuration-changed"
    DECIDED = "decided"
    BOUNDARY_MOVED = "boundary-moved"
    MISSED_MARKED = "missed-marked"
    MISSED_UNMARKED = "missed-unmarked"
    TICKETS_CHANGED = "tickets-changed"
    ALERTS_APPLIED = "alerts-applied"
    ALERT_SET = "alert-set"
    ALERT_REMOVED = "alert-removed"
    PROPOSAL_ACCEPTED = "proposal-accepted"
    PROPOSAL_REJECTED = "proposal-rejected"
    PROPOSAL_UNDONE = "proposal-undone"
    RENAME_ACCEPTED = "rename-accepted"
    RENAME_WITHDRAWN = "rename-withdrawn"
    QUARANTINE_LIFTED = "quarantine-lifted"
    BISECTION_ASKED = "bisection-asked"
    BISECTION_STOPPED = "bisection-stopped"
    ATTEMPTS_STARTED = "attempts-started"
    ATTEMPT_ASKED = "attempt-asked"
    ATTEMPTS_STOPPED = "attempts-stopped"
    DELIVERIES_CHANGED = "deliveries-changed"
    ENTRIES_DELETED = "entries-deleted"
    RUNS_REMOVED = "runs-removed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log: at ``time``, ``who`` did what ``kind`` and ``about`` say.

    ``who`` is the name of a caller. ``address`` is the network address that the request came from, "" for a command.
    All texts are one line without control characters.
    """

    id: int
    time: datetime
    kind: AuditKind
    who: str
    about: str
    address: str = ""
