"""The lists of commands as JSON: the objects that the API answers with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server.client import Client

from knickpoint.instance import open_instance
from knickpoint.server import create_app

from .conftest import Knick

_LISTS = {
    "tokens list": ("tokens", ""),
    "audit": ("audit", ""),
}
"""Command → the address that answers with the same list, and the field that is it."""


@pytest.fixture
def busy(judged: Path, knick: Knick) -> Path:
    """Give an instance that has something for each list."""
    for name in ("ci", "old"):
        assert knick("tokens", "create", name, "--scope", "upload", "--expires", "90d").code == 0
    assert knick("tokens", "revoke", "old").code == 0
    return judged


@pytest.mark.parametrize("command", _LISTS)
def test_a_list_has_the_objects_of_the_api(busy: Path, knick: Knick, command: str) -> None:
    address, field = _LISTS[command]
    ran = knick(*command.split(), "--format", "json")
    with open_instance(busy) as opened:
        answer = Client(create_app(opened)).get(f"/api/v1/{address}").json()
    assert json.loads(ran.output) == (answer[field] if field else answer) != []
