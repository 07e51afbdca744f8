"""Addresses and names of commits from results, sidecars, options and events never reach git, and open no other file."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab
from tests.repositories import GitRepository

from knickpoint.ingest import import_bucket_event
from knickpoint.model.errors import InputError, KnickpointError

NewRepository = Callable[[str], GitRepository]

ADDRESSES = (
    "ext::sh -c touch% PWNED",
    "file:///PWNED/repository",
    "/PWNED/repository",
    "../PWNED",
    "ssh://-oProxyCommand=touch PWNED/x",
    "-oProxyCommand=touch PWNED:x",
    "--upload-pack=touch PWNED",
    "http://127.0.0.1:1/PWNED",
    "http://169.254.169.254/PWNED",
    "git://10.0.0.1/PWNED",
    "git@PWNED.example:x",
)
"""Addresses with a word that no command line of git may have."""

REVISIONS = (
    "--output=PWNED",
    "-PWNED",
    "PWNED:../../etc/passwd",
    "HEAD^{/PWNED}",
    "refs/heads/PWNED",
    ":/PWNED",
    "$(PWNED)",
)
"""Names of commits, likewise."""


@pytest.mark.parametrize("way", ["sidecar", "option"])
@pytest.mark.parametrize("configured", [0, 1, 2])
def test_an_address_of_a_repository_from_outside_is_only_a_name(
    lab: Lab, new_repository: NewRepository, git_commands: Path, way: str, configured: int
) -> None:
    made = [new_repository(name) for name in ("one", "two")[:configured]]
    lab.configure("".join(f'[repositories.{each.directory.name}]\nlocation = "{each.directory}"\n' for each in made))
    commit = made[0].commit() if made else "a" * 40
    for number, address in enumerate(ADDRESSES):
        stated = address if way == "sidecar" else ""
        lab.write(f"{number}.json.sidecar.json", {"repository": stated, "time": "2026-01-01T00:00:00Z"})
        with suppress(KnickpointError):
            lab.take(lab.skia(f"{number}.json", commit, parse=number), repository=address if way == "option" else "")
    assert "PWNED" not in git_commands.read_text()
    assert not list(lab.directory.rglob("*PWNED*"))


@pytest.mark.parametrize("way", ["sidecar", "results", "option"])
def test_a_name_of_a_commit_from_outside_is_on_no_command_line(
    lab: Lab, new_repository: NewRepository, git_commands: Path, way: str
) -> None:
    made = new_repository("made")
    made.commit()
    lab.configure(f'[repositories.made]\nlocation = "{made.directory}"\n')
    for number, revision in enumerate(REVISIONS):
        lab.write(f"{number}.json.sidecar.json", {"commit": revision} if way == "sidecar" else {})
        path = lab.skia(f"{number}.json", revision if way == "results" else "", parse=1.0)
        with suppress(KnickpointError):
            lab.take(path, revision=revision if way == "option" else "")
    assert "cat-file" in git_commands.read_text() or way != "option"
    assert "PWNED" not in git_commands.read_text()
    assert not list(lab.directory.rglob("*PWNED*"))


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "http://169.254.169.254/latest/meta-data/",
        "memory://other/r.json",
        "memory://bucket/../other/r.json",
        "memory://bucket.evil/r.json",
        "memory://bucket@evil/r.json",
        "github://owner:repo@/r.json",
        "simplecache::memory://bucket/r.json",
        "memory://bucket/results/x::file:///etc/passwd",
        "memory://bucket/results::file:///etc/passwd",
    ],
)
def test_an_event_opens_files_of_configured_sources_only(lab: Lab, url: str) -> None:
    pytest.importorskip("fsspec")
    lab.configure('[ingest.sources.bucket]\nlocation = "memory://bucket/results"\n')
    with suppress(InputError):
        assert import_bucket_event(lab.instance, json.dumps({"url": url}).encode()).files == ()
    assert lab.instance.store.commits.repositories() == []
