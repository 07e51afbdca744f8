"""Instances and results files for the tests of ingestion."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from knickpoint.ingest import ImportSummary, import_files
from knickpoint.ingest.ci import _SERVICES
from knickpoint.instance import CONFIG_FILE, Instance, create_instance, open_instance


@dataclass
class Lab:
    """An instance, and files that go into it."""

    directory: Path
    instance: Instance
    minutes: int = 0

    def begin_as(self, other: Lab) -> None:
        """Begin as a copy of another one, which is closed."""
        self.instance.close()
        shutil.copytree(other.directory, self.directory, dirs_exist_ok=True)
        self.instance, self.minutes = open_instance(self.directory / "instance"), other.minutes

    def configure(self, text: str) -> None:
        """Give the instance another configuration."""
        self.instance.close()
        (self.directory / "instance" / CONFIG_FILE).write_text(text, encoding="utf-8")
        self.instance = open_instance(self.directory / "instance")

    def skia(self, name: str, commit: str, **values: float) -> Path:
        """Write a results file in Skia's format: benchmark → milliseconds; each was measured a minute after the last.

        The format has no place for the time: it stands in a sidecar, unless the commit is a number.
        """
        results = [{"key": {"benchmark": key, "unit": "ms"}, "measurement": value} for key, value in values.items()]
        path = self.write(name, {"version": 1, "git_hash": commit, "results": results})
        sidecar = path.with_name(f"{path.name}.sidecar.json")
        is_number = commit.removeprefix("CP:").isdigit() and len(commit) < 16
        if not is_number and not sidecar.exists():
            self.minutes += 1
            time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=self.minutes)
            self.write(str(sidecar.relative_to(self.directory)), {"time": time.isoformat()})
        return path

    def write(self, name: str, content: object) -> Path:
        """Write a file below the test's directory, as JSON unless it is text or bytes."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = (
            content
            if isinstance(content, bytes)
            else (content if isinstance(content, str) else json.dumps(content)).encode()
        )
        path.write_bytes(data)
        return path

    def take(self, *paths: Path, **options: Any) -> ImportSummary:
        """Import files."""
        return import_files(self.instance, paths, **options)

    def values(self, repository: str = "main", line: str = "") -> dict[str, dict[str, float]]:
        """Return commit → benchmark → value for what is on a line, in its order."""
        store = self.instance.store
        known = store.commits.repository(repository)
        order = store.commits.line(known, line)
        from knickpoint.model.query import Query

        ids = store.traces.select(known, Query())
        frame = store.frames.read(order, ids)
        names = [commit.commit.hash for commit in store.commits.get(known, order.slots)]
        from knickpoint.model.params import decode_key

        keys = [decode_key(trace.key)["benchmark"] for trace in frame.traces]
        columns: Mapping[int, Any] = dict(enumerate(frame.values.T.tolist()))
        return {
            name: {key: value for key, value in zip(keys, columns[place], strict=True) if value == value}  # noqa: PLR0124
            for place, name in enumerate(names)
        }

    def line(self, repository: str = "main", name: str = "") -> list[str]:
        """Return the hashes of a line, oldest first."""
        commits = self.instance.store.commits
        known = commits.repository(repository)
        return [slotted.commit.hash for slotted in commits.get(known, commits.line(known, name).slots)]


NewLab = Callable[[str], Lab]


@pytest.fixture(autouse=True)
def _outside_of_any_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in _SERVICES:
        monkeypatch.delenv(service.sign, raising=False)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Make an instance without repositories."""
    made = Lab(tmp_path, create_instance(tmp_path / "instance"))
    yield made
    made.instance.close()
