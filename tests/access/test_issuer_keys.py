"""The keys of an issuer: how they are found, cached, and fetched anew."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey
from tests.access.issuer import DESCRIPTION, EC, KEYS, RSA, CiService, ci_service

from knickpoint.access.identity_token import KeySource
from knickpoint.model.errors import ServiceError


class Clock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(clock: Clock) -> KeySource:
    return KeySource(clock=clock)


def _public(key_id: str, **changed: Any) -> dict[str, Any]:
    return {**RSA.as_dict(private=False), "kid": key_id, **changed}


def test_keys_are_fetched_once(service: CiService, keys: KeySource) -> None:
    assert keys.find(service.address, "first") is not None
    assert keys.find(service.address, "curve") is not None
    assert service.asked == {DESCRIPTION: 1, KEYS: 1}


def test_an_unknown_id_has_the_keys_fetched_again_at_a_bounded_rate(
    service: CiService, keys: KeySource, clock: Clock
) -> None:
    assert keys.find(service.address, "next") is None
    service.keys.append(_public("next"))
    assert [keys.find(service.address, f"guess {number}") for number in range(50)] == [None] * 50
    assert service.asked[KEYS] == 1
    clock.seconds += 30
    assert keys.find(service.address, "next") is not None
    assert service.asked[KEYS] == 2


def test_a_key_that_the_issuer_withdrew_is_not_used_after_an_hour(
    service: CiService, keys: KeySource, clock: Clock
) -> None:
    assert keys.find(service.address, "first") is not None
    service.keys = [_public("next")]
    clock.seconds += 3600
    assert keys.find(service.address, "first") is None


def test_cached_keys_go_on_for_a_day_while_the_issuer_does_not_answer(
    service: CiService, keys: KeySource, clock: Clock
) -> None:
    assert keys.find(service.address, "first") is not None
    service.status = 500
    clock.seconds += 23 * 3600
    assert keys.find(service.address, "first") is not None
    clock.seconds += 3600
    with pytest.raises(ServiceError):
        keys.find(service.address, "first")


def test_an_issuer_that_does_not_answer_is_an_error_of_the_service_and_asked_at_a_bounded_rate(
    service: CiService, keys: KeySource, clock: Clock
) -> None:
    service.status = 503
    for _ in range(20):
        with pytest.raises(ServiceError, match=service.address):
            keys.find(service.address, "first")
    assert service.asked == {DESCRIPTION: 1}
    service.status = 200
    clock.seconds += 30
    assert keys.find(service.address, "first") is not None


def test_an_issuer_that_is_down_is_an_error_of_the_service(keys: KeySource) -> None:
    with ci_service() as service:
        address = service.address
    with pytest.raises(ServiceError, match="cannot be fetched"):
        keys.find(address, "first")


def test_many_threads_ask_an_issuer_once(service: CiService, keys: KeySource) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(keys.find(service.address, "first"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found)
    assert service.asked[KEYS] == 1


@pytest.mark.parametrize(
    "published",
    [
        {"issuer": "https://gitlab.com"},
        {"jwks_uri": None},
        {"jwks_uri": "https://127.0.0.1/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": ["http://127.0.0.1/keys"]},
        {"jwks_uri": "http://10.0.0.1/keys"},
        {"jwks_uri": "http://169.254.169.254/latest/meta-data"},
    ],
)
def test_a_description_that_leads_elsewhere_is_refused(
    service: CiService, keys: KeySource, published: dict[str, Any]
) -> None:
    service.published = published
    with pytest.raises(ServiceError):
        keys.find(service.address, "first")
    assert service.asked == {DESCRIPTION: 1}


@pytest.mark.parametrize(
    "fields",
    [
        RSA.as_dict(private=True),
        OctKey.generate_key(256, {"kid": "first"}).as_dict(),
        _public("first", use="enc"),
        _public("first", n="AQAB"),
        _public("first", n=None),
        _public("first", kty="oct"),
        {**EC.as_dict(private=False), "kid": "first", "x": "AAAA"},
        {"kid": "first"},
        {"kty": "RSA"},
        ["first"],
        None,
    ],
)
def test_what_is_no_public_key_for_signatures_is_left_out(service: CiService, keys: KeySource, fields: Any) -> None:
    service.keys = [fields, _public("second")]
    assert keys.find(service.address, "first") is None
    assert keys.find(service.address, "second") is not None


def test_a_short_key_is_left_out_even_with_zeros_before_it(service: CiService, keys: KeySource) -> None:
    with pytest.warns(UserWarning, match="2048"):
        short = RSAKey.generate_key(1024, {"kid": "first"}).as_dict(private=False)
    service.keys = [{**short, "n": "A" * 172 + str(short["n"])}]
    with pytest.warns(UserWarning, match="2048"):
        assert keys.find(service.address, "first") is None


def test_an_id_that_two_keys_share_finds_neither(service: CiService, keys: KeySource) -> None:
    service.keys = [_public("first"), {**EC.as_dict(private=False), "kid": "first"}]
    assert keys.find(service.address, "first") is None


@pytest.mark.parametrize("published", [None, {}, "keys", [{}] * 101])
def test_a_set_of_keys_that_is_none_is_an_error_of_the_service(
    service: CiService, keys: KeySource, published: Any
) -> None:
    service.keys = published
    with pytest.raises(ServiceError):
        keys.find(service.address, "first")
