"""Sessions: who a cookie says somebody is, and when it stops to count."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.access.sessions import (
    Purpose,
    Session,
    new_session,
    read_claims,
    read_session,
    session_caller,
    session_cookie,
    sign_claims,
    sign_session,
)
from knickpoint.access.settings import RoleSettings, SignInKind, SignInSettings
from knickpoint.instance.config import Config
from knickpoint.model.access import CallerKind, Permission, Role, SignedIn
from knickpoint.model.errors import InputError, NotSignedInError
from knickpoint.store import Store, create_store

_KEY = b"k" * 32
_NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
_ALICE = SignedIn("keycloak", "alice", "Alice Ampère", "alice@example.org", mail_verified=True, groups=("perf", "ops"))
_ISSUER = "https://id.example.org"
_CONFIG = Config(sign_in={"keycloak": SignInSettings("keycloak", issuer=_ISSUER, client_id="knick")})


def _session(person: SignedIn = _ALICE, *, hours: float = 12, now: datetime = _NOW) -> Session:
    return new_session(person, issuer=_ISSUER, hours=hours, now=now)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create_store(str(tmp_path / "store.db")) as opened:
        yield opened


def test_a_signed_session_is_read_back_as_it_was() -> None:
    session = _session()
    assert read_session(sign_session(session, _KEY), _KEY, _NOW) == session


_TEXT = st.text(st.characters(codec="utf-8"), max_size=50)


@given(name=_TEXT, title=_TEXT, mail=_TEXT, verified=st.booleans(), groups=st.lists(_TEXT, max_size=4))
def test_any_person_is_read_back(*, name: str, title: str, mail: str, verified: bool, groups: list[str]) -> None:
    session = _session(SignedIn("p", name, title, mail, mail_verified=verified, groups=tuple(groups)))
    assert read_session(sign_session(session, _KEY), _KEY, _NOW) == session


def test_each_sign_in_has_a_session_of_its_own() -> None:
    assert len({_session().id for _ in range(100)}) == 100


def test_a_session_counts_until_the_second_in_which_it_expires() -> None:
    text = sign_session(_session(hours=1), _KEY)
    assert read_session(text, _KEY, _NOW + timedelta(minutes=60, microseconds=-1)) is not None
    assert read_session(text, _KEY, _NOW + timedelta(minutes=60)) is None


def test_a_session_of_another_instance_is_not_read() -> None:
    assert read_session(sign_session(_session(), b"o" * 32), _KEY, _NOW) is None


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _encoded(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", ["none", "None", "HS512", "RS256", "dir"])
def test_a_session_that_names_another_algorithm_is_not_read(algorithm: str) -> None:
    _, claims, signature = sign_session(_session(), _KEY).split(".")
    header = _encoded({"alg": algorithm, "typ": "JWT"})
    assert read_session(f"{header}.{claims}.{signature}", _KEY, _NOW) is None
    assert read_session(f"{header}.{claims}.", _KEY, _NOW) is None


@pytest.mark.parametrize(("claim", "value"), [("sub", "boss"), ("groups", ["admins"]), ("exp", 9_999_999_999)])
def test_a_changed_claim_breaks_the_signature(claim: str, value: object) -> None:
    header, claims, signature = sign_session(_session(), _KEY).split(".")
    changed = _encoded({**json.loads(_decoded(claims)), claim: value})
    assert read_session(f"{header}.{changed}.{signature}", _KEY, _NOW) is None


@given(st.one_of(st.text(max_size=60), st.from_regex(r"\A[\w-]*\.[\w-]*\.[\w-]*\Z")))
def test_any_other_text_is_no_session(text: str) -> None:
    assert read_session(text, _KEY, _NOW) is None


def test_a_cookie_of_great_length_is_not_looked_at() -> None:
    assert read_session("e" * 1_000_000, _KEY, _NOW) is None


def test_a_text_that_was_signed_for_another_purpose_is_no_session() -> None:
    claims = {"exp": int((_NOW + timedelta(hours=1)).timestamp()), "sub": "alice"}
    text = sign_claims(claims, _KEY, Purpose.SIGN_IN)
    assert read_claims(text, _KEY, Purpose.SIGN_IN, _NOW) == claims
    assert read_session(text, _KEY, _NOW) is None


def test_a_cookie_keeps_the_groups_with_a_role_where_not_all_fit() -> None:
    groups = tuple(f"department-{number:04}" for number in range(1_000))
    text = sign_session(_session(dataclasses.replace(_ALICE, groups=groups)), _KEY, frozenset({"department-0007"}))
    assert len(text) < 3_800
    session = read_session(text, _KEY, _NOW)
    assert session is not None
    assert session.person.groups == ("department-0007",)


def test_a_session_that_fits_into_no_cookie_is_refused() -> None:
    groups = tuple(f"department-{number:04}" for number in range(1_000))
    with pytest.raises(InputError, match="do not fit into a cookie"):
        sign_session(_session(dataclasses.replace(_ALICE, groups=groups)), _KEY, frozenset(groups))


def _cookies(session: Session, *, https: bool = False) -> dict[str, str]:
    return {session_cookie(https=https): sign_session(session, _KEY)}


def test_a_session_makes_its_person_the_caller(store: Store) -> None:
    caller = session_caller(_cookies(_session()), _CONFIG, store, _NOW, key=_KEY, https=False)
    assert caller is not None
    assert (caller.kind, caller.name, caller.title, caller.mail, caller.provider) == (
        CallerKind.PERSON,
        "alice (keycloak)",
        "Alice Ampère",
        "alice@example.org",
        "keycloak",
    )


def test_the_roles_are_those_of_the_configuration_at_the_time_of_the_request(store: Store) -> None:
    cookies = _cookies(_session())
    before = session_caller(cookies, _CONFIG, store, _NOW, key=_KEY, https=False)
    changed = dataclasses.replace(_CONFIG, roles={"perf": RoleSettings("perf", Role.EDITOR, groups=("perf",))})
    after = session_caller(cookies, changed, store, _NOW, key=_KEY, https=False)
    assert before is not None
    assert after is not None
    assert not before.grants.allow_somewhere(Permission.DECIDE)
    assert after.grants.allow(Permission.DECIDE, "any")


def test_without_a_cookie_there_is_no_session(store: Store) -> None:
    assert session_caller({"other": "x"}, _CONFIG, store, _NOW, key=_KEY, https=False) is None


def test_without_an_openid_provider_cookies_mean_nothing(store: Store) -> None:
    proxy = Config(sign_in={"proxy": SignInSettings("proxy", SignInKind.PROXY)})
    for config in (Config(), proxy):
        assert session_caller(_cookies(_session()), config, store, _NOW, key=_KEY, https=False) is None


def _refused(cookies: dict[str, str], store: Store, config: Config = _CONFIG, *, https: bool = False) -> bool:
    with pytest.raises(NotSignedInError, match="this sign-in is over"):
        session_caller(cookies, config, store, _NOW, key=_KEY, https=https)
    return True


def test_a_foreign_and_an_expired_session_are_refused(store: Store) -> None:
    assert _refused({session_cookie(https=False): sign_session(_session(), b"o" * 32)}, store)
    assert _refused(_cookies(_session(now=_NOW - timedelta(hours=12))), store)


def test_a_session_that_was_ended_is_refused_wherever_the_cookie_was_copied_to(store: Store) -> None:
    session = _session()
    store.sessions.end(session.id, session.expires)
    assert _refused(_cookies(session), store)


def test_a_session_of_a_provider_that_is_no_longer_configured_is_refused(store: Store) -> None:
    other = Config(
        sign_in={"gitlab": SignInSettings("gitlab"), "keycloak": SignInSettings("keycloak", SignInKind.PROXY)}
    )
    assert _refused(_cookies(_session()), store, other)


def test_a_session_of_another_provider_under_the_same_name_is_refused(store: Store) -> None:
    moved = Config(sign_in={"keycloak": SignInSettings("keycloak", issuer="https://other.example.org")})
    assert _refused(_cookies(_session()), store, moved)


def test_over_https_a_cookie_that_a_plain_connection_could_set_is_not_read(store: Store) -> None:
    assert session_caller(_cookies(_session(), https=False), _CONFIG, store, _NOW, key=_KEY, https=True) is None
    assert session_caller(_cookies(_session(), https=True), _CONFIG, store, _NOW, key=_KEY, https=True) is not None
