"""The settings of sign-in, roles and identities of CI jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from knickpoint.model.access import Role
from knickpoint.model.plain_text import secret


class AnyoneRole(Enum):
    """What callers may do who have not signed in."""

    UNSET = ""
    NONE = "none"
    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """The rights of callers who have not signed in, and the duration of a sign-in; ``[access]``.

    Attributes:
        anyone: role of callers who have not signed in: `none`, `viewer`, `editor` or `admin`. Without sign-in, the
            server listens to other machines only if this is set.
        session_hours: how long a sign-in lasts.
        session_secret: secret that signs the cookies, as in `${KNICKPOINT_SESSION_SECRET}`; the same on all machines of
            the instance. Default: the file `session.key` in the instance, which the server makes.
        audit_days: how long entries of the audit log are kept. 0 keeps all.
        public_profiles: whether callers who have not signed in may read profiles, which name functions and files, of
            the repositories that they may read; `knick publish` carries them then.
    """

    anyone: AnyoneRole = AnyoneRole.UNSET
    session_hours: float = 12.0
    session_secret: str = secret()
    audit_days: float = 0.0
    public_profiles: bool = False


class SignInKind(Enum):
    """How people sign in: through an OpenID provider, or at a proxy in front of the server."""

    OPENID = "openid"
    PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """Describe one way to sign in; ``[sign_in.NAME]``.

    Attributes:
        name: unique in the instance.
        kind: `openid`, or `proxy` for a proxy that signs people in and sends headers.
        title: text of the button. Default: the name.
        issuer: of an OpenID provider: its address; `/.well-known/openid-configuration` below it describes the provider.
        client_id: of an OpenID provider: the id that it gave to this instance.
        client_secret: of an OpenID provider: the secret that it gave to this instance, as in `${OPENID_SECRET}`.
        scopes: of an OpenID provider: what is asked for.
        groups_claim: of an OpenID provider: name of the claim that lists the groups of a person.
        name_claim: of an OpenID provider: name of the claim that names a person in logs and `[roles]`; people must not
            be able to choose its value. Default: the mail address if the provider has verified it, else
            `preferred_username` if it is not a mail address, else `sub`.
        networks: of a proxy: the networks that it sends from, as in `10.0.0.0/8`. Headers from elsewhere are ignored.
        user_header: of a proxy: the header with the mail address or the name of the person.
        title_header: of a proxy: the header with the name to show.
        groups_header: of a proxy: the header with the groups, separated by commas.
    """

    name: str
    kind: SignInKind = SignInKind.OPENID
    title: str = ""
    issuer: str = ""
    client_id: str = ""
    client_secret: str = secret()
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    groups_claim: str = "groups"
    name_claim: str = ""
    networks: tuple[str, ...] = ()
    user_header: str = "X-Forwarded-User"
    title_header: str = ""
    groups_header: str = ""


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Give a role to people; ``[roles.NAME]``. A person has the roles of all sections that match.

    Attributes:
        name: unique in the instance.
        role: `viewer`, `editor` or `admin`.
        people: mail addresses, user names, or names as in the audit log, such as `grace (company)`.
        groups: groups of the provider.
        domains: domains of mail addresses that the provider has verified.
        sign_in: names of the sections of `[sign_in]` that it applies to. Default: all.
        repositories: names of the repositories that it applies to. Default: all.
    """

    name: str
    role: Role
    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    sign_in: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


class CiJobKind(Enum):
    """The CI services whose identity tokens are accepted."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True)
class CiJobSettings:
    """Let jobs of a CI service upload results with its identity token, without a secret; ``[ci_jobs.NAME]``.

    Attributes:
        name: unique in the instance.
        kind: `github` or `gitlab`.
        projects: the projects whose jobs may upload, as in `owner/name`.
        refs: patterns of the branches and tags whose jobs may upload, as in `refs/heads/main` or `refs/tags/*`.
            Default: all, also those of pull requests.
        protected: whether only jobs of protected branches and tags may upload.
        audience: audience that the token must be made for. Default: the public address of the server.
        issuer: address of the service that signs the tokens: of GitHub Enterprise Server,
            `https://HOST/_services/token`; of GitLab, its own address. Default: that of GitHub Actions, or
            `https://gitlab.com`.
        repositories: names of the repositories that they may upload to. Default: all.
    """

    name: str
    kind: CiJobKind
    projects: tuple[str, ...]
    refs: tuple[str, ...] = ()
    protected: bool = False
    audience: str = ""
    issuer: str = ""
    repositories: tuple[str, ...] = ()

    @property
    def issuer_or_default(self) -> str:
        """The address of the service that signs the tokens."""
        return self.issuer or _ISSUERS[self.kind]


_ISSUERS: Final[Mapping[CiJobKind, str]] = {
    CiJobKind.GITHUB: "https://token.actions.githubusercontent.com",
    CiJobKind.GITLAB: "https://gitlab.com",
}


class AccessConfig(Protocol):
    """What this room reads of the configuration of an instance."""

    @property
    def access(self) -> AccessSettings:
        """What callers may do who have not signed in, and how long a sign-in lasts."""

    @property
    def sign_in(self) -> Mapping[str, SignInSettings]:
        """The ways to sign in, by name."""

    @property
    def roles(self) -> Mapping[str, RoleSettings]:
        """The roles of people, by name."""
