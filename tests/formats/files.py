"""The files that the tests read: written by the tools themselves, or made by hand after their descriptions."""

from __future__ import annotations

from pathlib import Path

from knickpoint.formats import read_report
from knickpoint.model.report import Report, Result

HERE = Path(__file__).parent
COMPANIONS = {
    "benchmarks.json": (HERE / "golden" / "asv-0.6.6-benchmarks.json").read_bytes(),
    "benchmark.json": (HERE / "golden" / "criterion-0.3.6-benchmark.json").read_bytes(),
}
_BESIDE = ("asv-0.6.6-benchmarks.json", "criterion-0.3.6-benchmark.json")

_FORMATS = {
    "criterion-0.3.6-bencher.txt": "libtest",
    "cargo-criterion.json": "criterion",
    "skia-legacy.json": "skia-legacy",
    "github-action-benchmark.js": "github-action-benchmark",
    "github-action-benchmark-custom.json": "github-action-benchmark",
    "benchfmt.txt": "go",
    "long.csv": "csv",
    "wide.csv": "csv",
    "long.tsv": "csv",
    "rows.json": "json",
    "decimal-comma.csv": "csv",
    "catapult-chart.json": "catapult-chart",
    "catapult-histograms.json": "catapult-histograms",
}
_BEGINNINGS = (
    "apache-bench",
    "benchmark-ips",
    "google-benchmark",
    "jetpack-benchmark",
    "perf-stat",
    "pytest-benchmark",
    "redis-benchmark",
)

FILES = tuple(
    path for folder in ("golden", "made") for path in sorted((HERE / folder).iterdir()) if path.name not in _BESIDE
)


def format_of(path: Path) -> str:
    """Return the name of the format that ``path`` is in."""
    known = _FORMATS.get(path.name)
    if known is not None:
        return known
    beginning = next((name for name in _BEGINNINGS if path.name.startswith(name)), "")
    return beginning or path.name.partition("-")[0].partition(".")[0]


def read(path: Path) -> Report:
    """Read a file under its own name, with what stands beside it."""
    return read_report(path.read_bytes(), name=path.name, companions=COMPANIONS)[0]


def golden(beginning: str) -> Report:
    """Read the one golden file whose name begins so."""
    (path,) = (HERE / "golden").glob(f"{beginning}")
    return read(path)


def made(name: str) -> Report:
    """Read a file that was made by hand."""
    return read(HERE / "made" / name)


def only(report: Report) -> dict[str, Result]:
    """Return trace key → result of a report of one run."""
    (run,) = report.runs
    return dict(zip(run.results.keys, run.results, strict=True))


def by(report: Report, **params: str) -> Result:
    """Return the one result of a report of one run that has exactly ``params``."""
    (run,) = report.runs
    (found,) = (result for result in run.results if result.params == params)
    return found
