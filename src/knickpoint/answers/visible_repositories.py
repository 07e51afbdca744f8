"""What a caller may read and do, by repository: the only way from a request to the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from knickpoint.access.local_user import local_caller
from knickpoint.model.access import Caller, CallerKind, Permission
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import ForbiddenError, HistoryError, InputError, KnickpointError, NotSignedInError
from knickpoint.model.frame import Trace
from knickpoint.store import Store

# The errors that only a server has; ``error_responses`` gives each its status code.


class UnknownError(InputError):
    """The address of a request names something that does not exist: 404."""


class _LaterError(KnickpointError):
    """The request may be sent again after some ``seconds``."""

    def __init__(self, message: str, *, where: str = "", remedy: str = "", seconds: float = 1.0) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.seconds = seconds


class TooManyRequestsError(_LaterError):
    """A caller sends too many requests, or too many at the same time: 429."""


class BacklogError(TooManyRequestsError):
    """More uploads wait than the server takes, whoever sent them."""


class OverloadedError(_LaterError):
    """All callers together ask for too much at the same time: 503."""


# Check that a caller has a permission; the errors say how to get it.


def require(caller: Caller, permission: Permission, *, repository: str = "") -> None:
    """Check that ``caller`` has ``permission`` for a repository, or for at least one where none is named.

    Raises:
        NotSignedInError: it has not, and it is not known who asks.
        ForbiddenError: it has not.
    """
    grants = caller.grants
    if grants.allow(permission, repository) if repository else grants.allow_somewhere(permission):
        return
    raise _refusal(caller, permission, f" in {repository}" if repository else "")


def require_everywhere(caller: Caller, permission: Permission) -> None:
    """Check that ``caller`` has ``permission`` for every repository.

    Raises:
        NotSignedInError: it has not, and it is not known who asks.
        ForbiddenError: it has not.
    """
    if permission not in caller.grants.everywhere:
        raise _refusal(caller, permission, " in every repository")


def _refusal(caller: Caller, permission: Permission, about: str) -> NotSignedInError | ForbiddenError:
    if caller.kind is CallerKind.ANYONE:
        return NotSignedInError(
            f"only known callers may {_VERBS[permission]}{about}",
            where="Authorization",
            remedy="Sign in at /sign-in, or send Authorization: Bearer TOKEN; /api/v1/me lists the ways to sign in.",
        )
    return ForbiddenError(
        f"the caller {caller.name} may not {_VERBS[permission]}{about}",
        where="permissions",
        remedy="Ask an admin of the instance for the permission; /api/v1/me lists what the caller may do.",
    )


_VERBS = {
    Permission.READ: "read",
    Permission.UPLOAD: "upload",
    Permission.DECIDE: "decide",
    Permission.MEASURE: "start or stop measurements",
    Permission.ADMIN: "administer",
}


# The repositories that a caller may read: the only way from a request to what the store has.
#
# A repository that the caller may not read does not exist for the caller: asking for it, for its traces and for its
# findings gives the errors that names and ids give which were never used. Routes therefore take the visible
# repositories, and no store. Answers get a repository, a trace or a finding of a request from here, and read on from
# there.


_MOST_NAMED: Final = 5
"""Ids that an error names."""

_KEY_SIGN: Final = ","
"""What the key of a trace begins with; the other entries of a short id are formulas."""


@dataclass(frozen=True, slots=True)
class VisibleRepositories:
    """What of ``store`` exists for ``caller``; ``public_profiles`` are there for callers who are not known as well."""

    store: Store
    caller: Caller
    public_profiles: bool = False

    @classmethod
    def to_local_user(cls, store: Store) -> Self:
        """Return everything, for the user of this process."""
        return cls(store, local_caller())

    @property
    def reads_profiles(self) -> bool:
        """Whether profiles, which name functions and files, exist for the caller."""
        return self.public_profiles or self.caller.kind is not CallerKind.ANYONE

    @property
    def is_everything(self) -> bool:
        """Whether the caller may read every repository, also those to come."""
        return Permission.READ in self.caller.grants.everywhere

    @property
    def extent(self) -> frozenset[str] | None:
        """The names that the caller may read, None for every one, also those to come.

        Callers of one extent see the same.
        """
        granted = self.caller.grants.repositories
        readable = frozenset(name for name, permissions in granted.items() if Permission.READ in permissions)
        return None if self.is_everything else readable

    def shows(self, name: str) -> bool:
        """Return True if the caller may read a repository of this name, if there is one."""
        return self.caller.grants.allow(Permission.READ, name)

    # Repositories

    def all(self) -> list[Repository]:
        """Return the repositories, by name."""
        return [each for each in self.store.commits.repositories() if self.shows(each.name)]

    def choose(self, name: str) -> Repository:
        """Return the repository ``name``; "" means the only one.

        Raises:
            HistoryError: there is none of that name, or none at all.
            InputError: none is named and there are several.
        """
        known = self.all()
        names = ", ".join(repository.name for repository in known)
        if name:
            for repository in known:
                if repository.name == name:
                    return repository
            raise HistoryError(f"there is no repository {name!r}", remedy=f"Known repositories: {names or 'none yet'}.")
        if len(known) == 1:
            return known[0]
        if not known:
            raise HistoryError("there is no repository yet", remedy="Import results with knick import.")
        raise InputError(
            f"there are {len(known)} repositories", where="repository", remedy=f"Name one of them: {names}."
        )

    def some(self, name: str) -> list[Repository]:
        """Return the repository ``name`` alone; "" means all.

        Raises:
            HistoryError: there is none of that name.
        """
        return [self.choose(name)] if name else self.all()

    def line(self, repository: str, name: str) -> Line:
        """Return the line ``name`` of a repository; "" means the only repository, and its default line.

        Raises:
            HistoryError: there is no such repository or line.
            InputError: no repository is named and there are several.
        """
        return self.store.commits.line(self.choose(repository), name)

    # Traces

    def trace(self, key: int) -> tuple[Repository, Trace]:
        """Return the trace ``key`` and its repository.

        Raises:
            UnknownError: there is no such trace.
        """
        repository, (trace,) = self.traces([key])
        return repository, trace

    def traces(self, keys: Sequence[int]) -> tuple[Repository, list[Trace]]:
        """Return the traces ``keys`` in that order, and the one repository that they belong to.

        Raises:
            UnknownError: one of them does not exist.
            InputError: they belong to several repositories.
        """
        found = self.store.traces.owned(keys)
        visible = {repository.id: repository for repository in self.all()}
        missing = [key for key in keys if key not in found or found[key].repository not in visible]
        if missing:
            raise _unknown("trace", missing, "Look for it with /api/v1/traces.")
        repositories = {found[key].repository for key in keys}
        if len(repositories) > 1:
            raise InputError(
                "the traces belong to several repositories", where="traces", remedy="Ask for those of one repository."
            )
        return visible[repositories.pop()], [found[key].trace for key in keys]

    def owners(self, keys: Sequence[int]) -> Mapping[int, Repository]:
        """Return the repository of each of the traces ``keys`` that exist for the caller."""
        visible = {repository.id: repository for repository in self.all()}
        owners = self.store.traces.owners(keys)
        return {key: visible[owner] for key, owner in owners.items() if owner in visible}

    def short_id(self, name: str) -> tuple[str, ...]:
        """Return the keys and formulas of a short id; all of its keys are of repositories that the caller may read.

        Raises:
            UnknownError: there is no such short id.
        """
        try:
            entries = self.store.shortcuts.get(name)
        except InputError as error:
            raise UnknownError(error.message, where=name, remedy=error.remedy) from error
        if not self.is_everything:
            hidden = {entry for entry in entries if entry.startswith(_KEY_SIGN)}
            for repository in self.all():
                hidden -= self.store.traces.find_ids(repository, hidden).keys()
            if hidden:
                raise UnknownError(f"there is no shortcut {name!r}", where=name, remedy="Ask for the address again.")
        return entries

    # Findings

    def of_change(self, key: int) -> Repository:
        """Return the repository of the change ``key``.

        Raises:
            UnknownError: there is no such change.
        """
        return self.of_changes([key])[key]

    def of_changes(self, keys: Sequence[int]) -> Mapping[int, Repository]:
        """Return change → its repository.

        Raises:
            UnknownError: one of the changes does not exist.
        """
        owners = self.store.findings.owners_of_changes(keys)
        return self._checked("change", keys, owners, "GET /api/v1/changes lists them.")

    def of_findings(self, keys: Sequence[int]) -> Mapping[int, Repository]:
        """Return change point → its repository.

        Raises:
            UnknownError: one of the change points does not exist.
        """
        owners = self.store.findings.owners(keys)
        return self._checked("change point", keys, owners, "GET /api/v1/changes lists them.")

    def existing_findings(self, keys: Iterable[int]) -> list[int]:
        """Return those of the change points ``keys`` that exist, in that order."""
        wanted = list(keys)
        owners = self.store.findings.owners(wanted)
        visible = {repository.id for repository in self.all()}
        return [key for key in wanted if owners.get(key) in visible]

    def require(self, permission: Permission, repositories: Iterable[Repository]) -> None:
        """Check that the caller has ``permission`` for all of ``repositories``.

        Raises:
            NotSignedInError: it has not, and it is not known who asks.
            ForbiddenError: it has not.
        """
        for name in sorted({repository.name for repository in repositories}):
            require(self.caller, permission, repository=name)

    def require_profiles(self) -> None:
        """Check that the caller may read profiles.

        Raises:
            NotSignedInError: only known callers may.
        """
        if not self.reads_profiles:
            raise NotSignedInError(
                "only known callers may read profiles",
                where="Authorization",
                remedy="Sign in at /sign-in, or send Authorization: Bearer TOKEN. Or set public_profiles of [access].",
            )

    def _checked(
        self, kind: str, keys: Sequence[int], owners: Mapping[int, int], remedy: str
    ) -> Mapping[int, Repository]:
        visible = {repository.id: repository for repository in self.all()}
        missing = [key for key in keys if owners.get(key) not in visible]
        if missing:
            raise _unknown(kind, missing, remedy)
        return {key: visible[owners[key]] for key in keys}


def _unknown(kind: str, keys: Sequence[int], remedy: str) -> UnknownError:
    named = f"{', '.join(map(str, keys[:_MOST_NAMED]))}{' …' if len(keys) > _MOST_NAMED else ''}"
    return UnknownError(f"there is no {kind} {named}", where=f"{kind} {named}", remedy=remedy)
