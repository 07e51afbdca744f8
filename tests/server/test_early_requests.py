"""What the server names with a page, so that browsers ask for it early."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.server.client import Client

from knickpoint.model.errors import StoreError
from knickpoint.server.dashboard import early_requests, link_header, read_view_files
from knickpoint.store.commits import Commits

EVERYWHERE = ["/api/v1/me", "/api/v1/me/settings", "/api/v1/repositories"]


def names(client: Client, path: str) -> list[str]:
    return [name for name in re.findall(r"<(.*?)>", client.get(path).headers["link"]) if name.startswith("/api/")]


def test_a_page_names_what_every_page_asks_for_and_what_its_address_determines(reader: Client) -> None:
    assert names(reader, "/settings") == EVERYWHERE
    assert names(reader, "/trace/1") == [
        *EVERYWHERE,
        "/api/v1/traces/1/change-points",
        "/api/v1/values?traces=1&points=2400&compact=false",
    ]


@pytest.mark.parametrize(
    "path", ["/triage", "/trace/1", "/explore?plot=*", "/compare", "/missing", "/quality", "/status", "/"]
)
def test_what_a_page_names_is_answered(reader: Client, path: str) -> None:
    found = names(reader, path)
    assert len(found) > len(EVERYWHERE)
    assert [reader.get(name).status_code for name in found] == [200] * len(found)


@pytest.mark.parametrize(
    "path",
    ["/triage?tab=history", "/?days=7", "/explore?traces=1,2", "/compare?flat=1", "/trace/1?of=p99", "/alerts?name=a"],
)
def test_addresses_with_more_than_the_server_knows_name_only_what_every_page_asks_for(
    reader: Client, path: str
) -> None:
    assert names(reader, path) == EVERYWHERE


def test_an_address_that_names_too_much_for_a_header_names_nothing() -> None:
    assert early_requests("/explore", {"query": "a" * 500}, ["engine"])
    assert early_requests("/explore", {"query": "a" * 1500}, ["engine"]) == []


def test_no_address_can_end_its_part_of_the_header() -> None:
    found = early_requests("/commit/a>; rel=preload, <b", {}, ["engine"])
    assert found == ["commits/a%3E%3B%20rel%3Dpreload%2C%20%3Cb/report"]
    assert early_requests("/trace/1>", {}, ["engine"]) == []


def test_a_page_comes_where_the_store_cannot_be_read(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise StoreError("the store is gone")

    monkeypatch.setattr(Commits, "repositories", refuse)
    assert names(reader, "/explore") == EVERYWHERE


def test_the_files_of_a_view_are_named_before_its_answers(tmp_path: Path) -> None:
    (tmp_path / "views.json").write_text('{"status": ["assets/app-1.js", "assets/app-2.css"]}')
    header = link_header(read_view_files(tmp_path)["status"], ["status"])
    assert re.findall(r"<(.*?)>; rel=(\w+)", header) == [
        ("/assets/app-1.js", "modulepreload"),
        ("/assets/app-2.css", "preload"),
        *((name, "preload") for name in [*EVERYWHERE, "/api/v1/status"]),
    ]


def test_a_dashboard_that_was_built_without_names_of_files_has_none(tmp_path: Path) -> None:
    assert read_view_files(tmp_path) == {}
