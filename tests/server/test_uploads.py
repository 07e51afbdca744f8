"""Uploads of results."""

from __future__ import annotations

import json

import pytest
from tests.server.client import Client
from tests.server.story import TOKEN, commit_hash, history

URL = "/api/v1/results"
RIGHT = {"authorization": f"Bearer {TOKEN}"}


def custom(value: float) -> bytes:
    return json.dumps([{"name": "parse", "value": value, "unit": "ns/iter"}]).encode()


def test_results_come_in_once(client: Client) -> None:
    parameters = {"name": "ci-1", "commit": commit_hash(59), "run": "ci-1"}
    first = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    again = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert (first.status_code, first.json()["outcome"], first.json()["points"]) == (200, "imported", 1)
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")


def test_a_trial_keeps_nothing(client: Client) -> None:
    parameters = {"name": "ci-2", "commit": commit_hash(59), "run": "ci-2"}
    for _ in range(2):
        answer = client.post(URL, params={**parameters, "dry_run": True}, content=custom(1.0), headers=RIGHT)
        assert answer.json()["outcome"] == "imported"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}])
def test_an_upload_without_the_token_is_refused(client: Client, headers: dict[str, str]) -> None:
    answer = client.post(URL, params={"name": "x"}, content=b"[]", headers=headers)
    assert answer.status_code == 401
    assert "upload_token" in answer.json()["remedy"]


def test_a_truncated_file_is_refused_with_its_place(client: Client) -> None:
    answer = client.post(URL, params={"name": "half"}, content=history()[:5000], headers=RIGHT)
    assert answer.status_code == 400
    assert "5000" in answer.text or "line" in answer.text


def test_a_file_that_no_format_reads_is_refused(client: Client) -> None:
    answer = client.post(URL, params={"name": "strange"}, content=b"\x00\x01", headers=RIGHT)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_commit_of_an_unknown_time_is_refused_and_comes_in_with_one(client: Client) -> None:
    parameters = {"name": "ci-3", "commit": "fedcba9876543210"}
    refused = client.post(URL, params=parameters, content=custom(1.0), headers=RIGHT)
    taken = client.post(URL, params={**parameters, "time": "2026-01-31T12:00:00Z"}, content=custom(1.0), headers=RIGHT)
    assert (refused.status_code, taken.status_code) == (400, 200)
    assert "--order given" in refused.json()["remedy"]
