"""Check that a caller has a permission; the errors say how to get it."""

from __future__ import annotations

from knickpoint.model.access import Caller, CallerKind, Permission
from knickpoint.model.errors import ForbiddenError, NotSignedInError

__all__ = ["require", "require_everywhere"]


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
    Permission.ADMIN: "administer",
}
