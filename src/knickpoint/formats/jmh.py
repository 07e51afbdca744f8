"""Read what JMH writes with ``-rf json``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "jmh"
_FACTS: Final = ("jmhVersion", "jdkVersion", "jvm", "vmName", "vmVersion")
_PERCENTILES: Final = {"0.0": "min", "100.0": "max"}
_MODES: Final = {"thrpt": Better.HIGHER, "avgt": Better.LOWER, "sample": Better.LOWER, "ss": Better.LOWER}
_COSTS: Final = ("gc.", "class.", "compiler.", "mempool.")
"""How the metrics of profilers begin that say what a benchmark costs, in whatever unit: ``gc.alloc.rate`` in MB/sec."""


def fits(file: FileContent) -> bool:
    """Return True if this is a list of benchmarks with a primary metric each."""
    document = file.document
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(entry, dict) and "primaryMetric" in entry and "benchmark" in entry for entry in document)
        and measures([entry["primaryMetric"] for entry in document], ("score", "rawData"))
    )


def read(file: FileContent) -> Parsed:
    """Read one run: the score in its unit, and the secondary metrics under their names.

    The iterations of all forks are the samples. Of sampled times, which come as histograms, the median is the value,
    and mean and percentiles are series with ``stat``. The unit of the score says its direction, or else the mode; of
    what profilers count, less is better.
    """
    rows = Rows()
    environment: dict[str, str] = {}
    for entry in Node(file.json).elements():
        name, mode = entry["benchmark"].text(), entry.words("mode")
        given = entry.maybe("params")
        params = {**(given.facts() if given is not None else {}), "benchmark": name}
        if mode:
            params["mode"] = mode
        if entry.words("threads") not in {"", "1"}:
            params["threads"] = entry.words("threads")
        primary = entry["primaryMetric"]
        main = "throughput" if primary.words("scoreUnit").startswith("ops/") else "time"
        better = _direction(primary.words("scoreUnit"))
        better = _MODES.get(mode, Better.UNKNOWN) if better is Better.UNKNOWN else better
        _add(rows, {**params, "metric": main}, primary, name, better, forks=entry)
        secondary = entry.maybe("secondaryMetrics")
        for metric, node in secondary.members() if secondary is not None else ():
            plain = metric.lstrip("·+")
            if _has_number(node.maybe("score")):
                better = Better.LOWER if plain.startswith(_COSTS) else _direction(node.words("scoreUnit"))
                _add(rows, {**params, "metric": plain}, node, name, better)
        environment.update({fact: text for fact in _FACTS if (text := entry.words(fact))})
    return Report(_NAME, (RunReport(rows.table(), environment=environment),)), ()


def _direction(unit: str) -> Better:
    """Return the direction of a score in ``unit``, unknown where that is neither a throughput nor per operation."""
    return Better.HIGHER if unit.startswith("ops/") else Better.LOWER if unit.endswith("/op") else Better.UNKNOWN


def _add(
    rows: Rows, params: dict[str, str], metric: Node, name: str, better: Better, *, forks: Node | None = None
) -> None:
    unit = metric.words("scoreUnit")
    if not _has_number(metric.maybe("score")):
        rows.fail(params, "JMH has no score: NaN" if "score" in metric else "JMH has no score")
        return
    summary = metric.finite({"scoreError": "score_error"})
    if forks is not None:
        summary |= forks.finite({"forks": "forks"})
    percentiles = metric.maybe("scorePercentiles")
    if "rawDataHistogram" in metric and percentiles is not None and percentiles.has("50.0"):
        with rows.failing(params):
            rows.add(params, (percentiles["50.0"].number(name),), unit, better, summary=summary)
        others = {"mean": metric["score"]}
        for percent, node in percentiles.members():
            if percent != "50.0" and _has_number(node):
                others[_PERCENTILES.get(percent) or f"p{percent.removesuffix('.0')}"] = node
        for stat, node in others.items():
            with rows.failing({**params, "stat": stat}):
                rows.add({**params, "stat": stat}, (node.number(name),), unit, better)
        return
    raw = metric.maybe("rawData")
    forked = list(raw.elements()) if raw is not None else []
    samples = [sample for fork in forked for sample in fork.elements()]
    with rows.failing(params):
        rows.add(
            params, [sample.number(name) for sample in samples or [metric["score"]]], unit, better, summary=summary
        )


def _has_number(node: Node | None) -> bool:
    return node is not None and node.value != "NaN"
