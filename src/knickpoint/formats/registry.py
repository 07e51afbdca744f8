"""The registry of all formats, without loading any of them."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Format

__all__ = ["FORMATS"]

FORMATS: Final[tuple[Format, ...]] = (
    Format(
        "csv",
        "CSV or TSV, long or wide",
        (".csv", ".tsv", ".txt"),
        "the columns are ours; published tables of 281 histories",
        "long with a column value, wide without; the guide lists what the columns mean",
        "delimited",
    ),
    Format(
        "github-action-benchmark",
        "github-action-benchmark: custom entries, or a whole data.js history",
        (".js", ".json"),
        "histories that the action published from 2020 to 2026",
        "a history brings its commits along; the tool tells the direction",
        "github_action_benchmark",
    ),
    Format(
        "pytest-benchmark",
        "pytest-benchmark JSON",
        (".json",),
        "pytest-benchmark 5.3.1",
        "with --benchmark-save-data the samples, else the median and stat=min, mean, max",
        "pytest_benchmark",
    ),
    Format(
        "skia",
        "Skia Perf, version 1",
        (".json",),
        "",
        "",
        "skia",
    ),
)
