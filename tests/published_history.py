"""Histories as github-action-benchmark publishes them, generated, so that everything in them is known."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

_START = 1_700_000_000


def commit_hash(number: int) -> str:
    """Return the hash of the commit with a number."""
    return hashlib.sha1(f"commit {number}".encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class PublishedHistory:
    """A history of one suite: every benchmark at every commit, and again in the re-runs of some commits.

    ``rerun_every`` is the distance of commits that were run twice, 0 for none. The value of a benchmark in an entry
    is 1000 + 10 * its number + the number of the entry.
    """

    commits: int = 40
    benchmarks: int = 5
    rerun_every: int = 10
    tool: str = "customSmallerIsBetter"
    repository: str = "org/project"

    @property
    def entries(self) -> list[int]:
        """The number of the commit of each entry, in their order."""
        numbers = range(self.commits)
        return [
            number for number in numbers for _ in range(2 if self.rerun_every and number % self.rerun_every == 0 else 1)
        ]

    @property
    def points(self) -> int:
        """The number of values."""
        return len(self.entries) * self.benchmarks

    def _entry(self, place: int, number: int) -> dict[str, object]:
        url = f"https://github.com/{self.repository}/commit/{commit_hash(number)}"
        stamp = f"2024-01-{1 + number // 24:02}T{number % 24:02}:00:00Z"
        return {
            "commit": {
                "id": commit_hash(number),
                "message": f"Change {number}\n\nA longer text.",
                "timestamp": stamp,
                "url": url,
                "author": {"name": f"Author {number % 3}", "email": "author@example.org", "username": "author"},
            },
            "date": (_START + 3600 * place) * 1000,
            "tool": self.tool,
            "benches": [
                {
                    "name": f"benchmark {which}",
                    "value": 1000.5 + 10 * which + place,
                    "unit": "ns/iter",
                    "range": f"± {which + 1}",
                }
                for which in range(self.benchmarks)
            ],
        }

    def text(self) -> str:
        """Return the text of ``data.js``."""
        document = {
            "lastUpdate": (_START + 3600 * len(self.entries)) * 1000,
            "repoUrl": f"https://github.com/{self.repository}",
            "entries": {"Suite": [self._entry(place, number) for place, number in enumerate(self.entries)]},
        }
        return f"window.BENCHMARK_DATA = {json.dumps(document, indent=2)}"
