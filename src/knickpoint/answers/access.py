"""The caller, with permissions, ways to sign in and own settings of the dashboard; tokens for machines; the audit log."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from enum import Enum
from typing import Final
from urllib.parse import parse_qs, urlsplit

from pydantic import AwareDatetime, Field

from knickpoint.access import tokens
from knickpoint.access.exposure import open_port_notice
from knickpoint.access.settings import SignInKind
from knickpoint.answers.base import Answer, Text
from knickpoint.answers.visible_repositories import UnknownError, require, require_everywhere
from knickpoint.instance.config import Config
from knickpoint.model.access import AuditKind, Caller, CallerKind, Grants, Permission, Token, TokenState
from knickpoint.model.errors import AbsentError, ForbiddenError, InputError, NotSignedInError
from knickpoint.store import Store

# Who the caller is, what the caller may do, and how to sign in.


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


# Build the answer to the caller who asks: who am I, and what may I do.


SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"


def describe_caller(config: Config, caller: Caller, *, open_port: bool, ended: bool) -> MeAnswer:
    """Describe ``caller`` and the ways to sign in.

    Args:
        config: the configuration of the instance.
        caller: who asks.
        open_port: whether the server listens to other machines.
        ended: whether the request has a sign-in that is not valid any more.
    """
    is_open = open_port and not config.sign_in
    through = config.sign_in.get(caller.provider)
    return MeAnswer.of(
        caller,
        title=caller.title or caller.name,
        permissions=_permissions(caller.grants),
        sign_in=[
            SignInAnswer(name=name, title=way.title or name, address=f"{SIGN_IN}/{name}")
            for name, way in config.sign_in.items()
            if way.kind is SignInKind.OPENID
        ],
        sign_out=SIGN_OUT if through is not None and through.kind is SignInKind.OPENID else "",
        open=is_open,
        notice=_notice(config, caller, is_open=is_open, ended=ended),
    )


def _permissions(grants: Grants) -> PermissionsAnswer:
    return PermissionsAnswer(
        everywhere=_listed(grants.everywhere),
        repositories={name: _listed(some) for name, some in sorted(grants.repositories.items())},
    )


def _listed(permissions: Collection[Permission]) -> list[Permission]:
    return [permission for permission in Permission if permission in permissions]


def _notice(config: Config, caller: Caller, *, is_open: bool, ended: bool) -> str:
    if ended:
        return "Your sign-in has ended. Sign in again."
    if is_open:
        return open_port_notice(config.access)
    if caller.kind is CallerKind.LOCAL:
        return f"No sign-in is configured. You act as {caller.name}, the user of this machine."
    if caller.kind is CallerKind.ANYONE and not config.sign_in and not caller.grants.everywhere:
        return (
            "No sign-in is configured, and this request does not come from this machine alone. "
            "Configure [sign_in] or set anyone of [access] in knickpoint.toml."
        )
    return ""


# What people set for themselves in the dashboard.


class SettingsAnswer(Answer):
    """What the caller set in the dashboard."""

    kept: bool = Field(
        description="Whether the server keeps the settings of this caller: of people who signed in. Otherwise the "
        "browser keeps them."
    )
    values: dict[str, str]


class SettingRequest(Answer):
    """The new value of a setting."""

    value: Text = Field(max_length=20_000)


# Read and keep what people set for themselves in the dashboard.


class Setting(Enum):
    """What a person can set. The values are texts that only the dashboard reads."""

    LAST_LOOK = "last-look"
    THEME = "theme"
    TIME_ZONE = "time-zone"
    VIEWS = "views"


def read_settings(store: Store, caller: Caller) -> SettingsAnswer:
    """Return the settings of a caller; those who did not sign in have none here."""
    kept = caller.kind is CallerKind.PERSON
    return SettingsAnswer(kept=kept, values=store.people.get(caller) if kept else {})


def put_setting(store: Store, caller: Caller, name: Setting, value: str) -> SettingsAnswer:
    """Keep a setting of a person.

    Raises:
        NotSignedInError: it is not known who asks.
        InputError: the caller is not a person who signed in.
    """
    if caller.kind is CallerKind.ANYONE:
        raise NotSignedInError("settings are kept for people who sign in", where=name.value, remedy="Sign in.")
    if caller.kind is not CallerKind.PERSON:
        raise InputError(
            "the server keeps settings only of people who sign in", where=name.value, remedy="Keep it in the browser."
        )
    store.people.put(caller, name.value, value)
    return read_settings(store, caller)


# Views that people share: pages of the dashboard under a name.


class SharedView(Answer):
    """A page of the dashboard, with all that its address says."""

    name: Text = Field(min_length=1, max_length=80)
    url: str = Field(
        max_length=8_000, pattern=r"^/([^/\\\x00][^\\\x00]*)?$", description="Path and parameters of a page."
    )


class SharedViewAnswer(SharedView):
    """A view that is shared, and by whom."""

    by: str = Field(description="The name of the caller who shared it.")


_MOST_VIEWS: Final = 200


def list_views(store: Store, caller: Caller) -> list[SharedViewAnswer]:
    """List the shared views that the caller may see, by name.

    A view of one repository is for those who may read it; others are for those who may read all repositories.
    """
    views = [SharedViewAnswer.model_validate_json(value) for value in store.people.shared().values()]
    return [view for view in views if _allows(caller, Permission.READ, view.url)]


def share_view(store: Store, caller: Caller, view: SharedView) -> SharedViewAnswer:
    """Share a view, in place of one with the same name.

    Raises:
        NotSignedInError: it is not known who asks.
        ForbiddenError: the caller may not decide about what the view or the former one shows.
        InputError: there are too many.
    """
    known = store.people.shared()
    _require_deciding(caller, view.url)
    if view.name in known:
        _require_deciding(caller, SharedViewAnswer.model_validate_json(known[view.name]).url)
    elif len(known) >= _MOST_VIEWS:
        raise InputError(f"{_MOST_VIEWS} views are already shared", where=view.name, remedy="Remove one first.")
    shared = SharedViewAnswer(name=view.name, url=view.url, by=caller.title or caller.name)
    store.people.share(view.name, shared.model_dump_json())
    return shared


def unshare_view(store: Store, caller: Caller, name: str) -> SharedViewAnswer:
    """Stop sharing a view.

    Raises:
        UnknownError: the caller sees no such view.
        NotSignedInError: it is not known who asks.
        ForbiddenError: the caller may not decide about what the view shows.
    """
    require(caller, Permission.DECIDE)
    found = next((view for view in list_views(store, caller) if view.name == name), None)
    if found is None:
        raise UnknownError(f"there is no shared view {name!r}", where="name", remedy="GET /api/v1/views lists them.")
    _require_deciding(caller, found.url)
    store.people.unshare(name)
    return found


def _repository_of(url: str) -> str:
    return next(iter(parse_qs(urlsplit(url).query).get("repository", [])), "")


def _allows(caller: Caller, permission: Permission, url: str) -> bool:
    repository = _repository_of(url)
    grants = caller.grants
    return grants.allow(permission, repository) if repository else permission in grants.everywhere


def _require_deciding(caller: Caller, url: str) -> None:
    repository = _repository_of(url)
    if repository:
        require(caller, Permission.DECIDE, repository=repository)
    else:
        require_everywhere(caller, Permission.DECIDE)


# Tokens for machines, and the request for a new one.


_MOST_REPOSITORIES = 1000


class TokenAnswer(Answer):
    """A token for machines, without its secret."""

    name: str
    scopes: list[Permission] = Field(
        description="What the token permits. `decide` and `measure` include `read`, `admin` includes all."
    )
    repositories: list[str] = Field(description="Names of the repositories that it is limited to; empty: all.")
    created: datetime
    created_by: str = Field(description="Name of the caller who created it.")
    expires: datetime | None = Field(description="When it expires; null: never.")
    last_used: datetime | None = Field(description="When it was last used, to the minute; null: never.")
    revoked: datetime | None = Field(description="When it was revoked; null: it is not.")
    state: TokenState = Field(description="Whether it is accepted now.")


class TokenRequest(Answer):
    """A token to create."""

    name: str = Field(
        max_length=200,
        json_schema_extra={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
        description="1 to 64 letters, digits, dots, underscores and hyphens; a name that no token had before.",
    )
    scopes: list[Permission] = Field(
        max_length=len(Permission),
        json_schema_extra={"minItems": 1},
        description="What the token permits; at least one.",
    )
    repositories: list[Text] = Field(
        default=[],
        max_length=_MOST_REPOSITORIES,
        description="Names of the repositories that it is limited to. Default: all, which takes an admin of all.",
    )
    expires: AwareDatetime | None = Field(
        default=None, description="When it expires, with an offset to UTC. Default: never."
    )


class NewTokenAnswer(Answer):
    """A new token with its secret."""

    token: TokenAnswer
    secret: str = Field(description="What machines send as `Authorization: Bearer SECRET`. It cannot be read again.")


# List, create and revoke tokens, within what the caller administers.


_TOKEN: Final = "token:"  # noqa: S105  # what the names of callers begin with, not a secret


def list_tokens(store: Store, caller: Caller) -> list[TokenAnswer]:
    """List the tokens that ``caller`` administers by name, revoked and expired ones too."""
    return [token_answer(token) for token in tokens.list_tokens(store) if _administers(caller, token.repositories)]


def create_token(store: Store, caller: Caller, request: TokenRequest) -> NewTokenAnswer:
    """Create a token that grants no more than ``caller`` has, and for no longer where ``caller`` is a token.

    Raises:
        ForbiddenError: it is for a repository, or for all, of which ``caller`` is not an admin, or it outlives
        ``caller``. InputError: its name is taken, or a value cannot be used.
    """
    if not _administers(caller, request.repositories):
        wanted = ", ".join(request.repositories) or "all repositories"
        raise ForbiddenError(
            f"the caller {caller.name} may not create a token for {wanted}",
            where="repositories",
            remedy="Name only repositories of which you are an admin; GET /api/v1/me lists them.",
        )
    end = _end_of(store, caller)
    if end is not None and (request.expires is None or request.expires > end):
        raise ForbiddenError(
            f"the caller {caller.name} may not create a token that outlives it",
            where="expires",
            remedy=f"Have it expire at {end.isoformat(timespec='seconds')} or earlier.",
        )
    created = tokens.create_token(
        store,
        request.name,
        request.scopes,
        by=caller.name,
        repositories=request.repositories,
        expires=request.expires,
    )
    return NewTokenAnswer(token=token_answer(created.token), secret=created.secret)


def revoke_token(store: Store, caller: Caller, name: str) -> TokenAnswer:
    """Revoke the token ``name``.

    Raises:
        AbsentError: there is no such token among those that ``caller`` administers.
        InputError: it is revoked already.
    """
    if name not in {token.name for token in list_tokens(store, caller)}:
        raise AbsentError(f"there is no token {name!r}", where="name", remedy="GET /api/v1/tokens lists the tokens.")
    return token_answer(tokens.revoke_token(store, name, by=caller.name))


def _administers(caller: Caller, repositories: Collection[str]) -> bool:
    """Return True if ``caller`` is an admin of all ``repositories``, of every one where none is named.

    An admin may do everything, so a token for these repositories grants no more, whatever its scopes.
    """
    if not repositories:
        return Permission.ADMIN in caller.grants.everywhere
    return all(caller.grants.allow(Permission.ADMIN, repository) for repository in repositories)


def _end_of(store: Store, caller: Caller) -> datetime | None:
    """Return when the token expires that ``caller`` is, None where it does not, or is not a token."""
    if caller.kind is not CallerKind.TOKEN:
        return None
    name = caller.name.removeprefix(_TOKEN)
    return next((token.expires for token in tokens.list_tokens(store) if token.name == name), None)


def token_answer(token: Token) -> TokenAnswer:
    """Return a token, with its state of now."""
    scopes = [scope for scope in Permission if scope in token.scopes]
    return TokenAnswer.of(token, scopes=scopes, state=token.state_at(datetime.now(UTC)))


# Entries of the audit log.


class AuditEntryAnswer(Answer):
    """One entry of the audit log."""

    id: int
    time: datetime
    kind: AuditKind
    who: str = Field(description="Name of the caller: a mail address or user name, `token:NAME`, or that of a CI job.")
    about: str = Field(description="What the caller did, in words.")
    address: str = Field(description="Network address that the request came from; empty for a command.")


# List the audit log.


def list_entries(
    store: Store, *, before: int | None, kind: AuditKind | None, who: str, limit: int
) -> list[AuditEntryAnswer]:
    """List at most ``limit`` entries, the newest first."""
    entries = store.audit.entries(before_id=before, kind=kind, who=who, limit=limit)
    return [AuditEntryAnswer.of(entry) for entry in entries]
