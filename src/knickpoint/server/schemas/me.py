"""Who the caller is, what the caller may do, and how to sign in."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.access import CallerKind, Permission
from knickpoint.server.schemas.base import Answer

__all__ = ["MeAnswer", "PermissionsAnswer", "SignInAnswer"]


class PermissionsAnswer(Answer):
    """What the caller may do."""

    everywhere: list[Permission] = Field(description="Permissions for every repository.")
    repositories: dict[str, list[Permission]] = Field(
        description="Further permissions for single repositories, by name."
    )


class SignInAnswer(Answer):
    """A way to sign in."""

    name: str
    title: str = Field(description="Text of the button.")
    address: str = Field(description="Where a browser goes to sign in; `?next=PATH` names the page to come back to.")


class MeAnswer(Answer):
    """The caller of this request."""

    kind: CallerKind = Field(
        description="`local`: the person at this machine; `anyone`: a caller who is not known, with the role of anyone."
    )
    name: str = Field(description="The name that goes into logs.")
    title: str = Field(description="The name to show.")
    mail: str
    provider: str = Field(description="The section of `[sign_in]` that a person signed in through; empty without one.")
    permissions: PermissionsAnswer
    sign_in: list[SignInAnswer]
    sign_out: str = Field(
        description="Where a form is posted to sign out; empty where there is nothing to sign out of."
    )
    open: bool = Field(description="Whether other machines reach the server, and no sign-in is configured.")
    notice: str = Field(description="What a person should know about it; empty where there is nothing to say.")
