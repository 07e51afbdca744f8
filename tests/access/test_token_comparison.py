"""How long a wrong token takes says nothing about the right one: near and far misses take one path through the code."""

from __future__ import annotations

import hmac
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from knickpoint import access, store
from knickpoint.access.tokens import create_token, verify_token
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.model.access import Caller, Permission
from knickpoint.model.errors import NotSignedInError
from knickpoint.server.callers import caller_of_token

_ROOMS: Final = tuple(str(Path(str(room.__file__)).parent) for room in (access, store))


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    directory = tmp_path_factory.mktemp("tokens") / "instance"
    create_instance(directory).close()
    file = directory / "knickpoint.toml"
    file.write_text(f'{file.read_text()}\n[server]\nupload_token = "{"correct horse " * 3}"\n', encoding="utf-8")
    with open_instance(directory) as opened:
        yield opened


@pytest.fixture(scope="module")
def secret(instance: Instance) -> str:
    return create_token(instance.store, "ci", [Permission.UPLOAD], by="test").secret


def near(secret: str) -> str:
    """Return the secret with another last character."""
    return secret[:-1] + ("A" if secret[-1] != "A" else "B")


def far(secret: str) -> str:
    """Return a secret of the same length that differs from the first random character on."""
    return secret[:6] + "".join("A" if character != "A" else "B" for character in secret[6:])


def refused(verify: Callable[[], Caller]) -> None:
    with pytest.raises(NotSignedInError):
        verify()


def _lines_of(verify: Callable[[], Caller]) -> list[tuple[str, int]]:
    """Return the lines that run in the rooms of access and of the store, in their order."""
    lines: list[tuple[str, int]] = []

    def note(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename.startswith(_ROOMS):
            if event == "line":
                lines.append((frame.f_code.co_filename, frame.f_lineno))
            return note
        return None

    before = sys.gettrace()
    sys.settrace(note)
    try:
        refused(verify)
    finally:
        sys.settrace(before)
    return lines


def test_near_and_far_misses_take_the_same_lines(instance: Instance, secret: str) -> None:
    refused(lambda: verify_token(instance.store, far(secret)))  # what is prepared once is prepared
    lines = _lines_of(lambda: verify_token(instance.store, near(secret)))
    assert lines
    assert lines == _lines_of(lambda: verify_token(instance.store, far(secret)))


def test_the_store_is_asked_for_a_digest_of_the_secret_and_has_nothing_else(
    instance: Instance, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    tokens = type(instance.store.tokens)
    find = tokens.find

    def noting(self: Any, digest: str) -> Any:
        asked.append(digest)
        return find(self, digest)

    monkeypatch.setattr(tokens, "find", noting)
    verify_token(instance.store, secret)
    refused(lambda: verify_token(instance.store, near(secret)))
    right, close = asked
    assert {len(right), len(close)} == {64}
    assert not any(piece in right for piece in (secret, secret[6:16]))
    assert right[:8] != close[:8]
    stored = (instance.directory / "knickpoint.db").read_bytes()
    assert secret[6:].encode() not in stored


def test_the_token_of_the_configuration_is_compared_in_constant_time(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bytes] = []
    compare = hmac.compare_digest

    def noting(given: bytes, known: bytes) -> bool:
        compared.append(given)
        return compare(given, known)

    monkeypatch.setattr(hmac, "compare_digest", noting)
    right = instance.config.server.upload_token
    for wrong in (near(right), far(right), right[:5], right + "x"):
        refused(lambda wrong=wrong: caller_of_token(instance, wrong))  # type: ignore[misc]
    assert len(compared) == 4
