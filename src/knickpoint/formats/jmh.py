"""Read what JMH writes with ``-rf json``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.node import Node
from knickpoint.formats.rows import Rows
from knickpoint.formats.source import Source
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "jmh"
_FACTS: Final = ("jmhVersion", "jdkVersion", "jvm", "vmName", "vmVersion")
_PERCENTILES: Final = {"0.0": "min", "100.0": "max"}


def fits(source: Source) -> bool:
    """Tell whether this is a list of benchmarks with a primary metric each."""
    document = source.document
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(entry, dict) and "primaryMetric" in entry and "benchmark" in entry for entry in document)
    )


def read(source: Source) -> Parsed:
    """Read one run: the score in its unit, and the secondary metrics under their names.

    The iterations of all forks are the samples. Of sampled times, which come as histograms, the median is the value,
    and mean and percentiles are series with ``stat``. The unit, not the mode, tells the direction.
    """
    rows = Rows()
    environment: dict[str, str] = {}
    for entry in Node(source.json).elements():
        name, mode = entry["benchmark"].text(), entry.words("mode")
        given = entry.maybe("params")
        params = {**(given.facts() if given is not None else {}), "benchmark": name}
        if mode:
            params["mode"] = mode
        if entry.words("threads") not in {"", "1"}:
            params["threads"] = entry.words("threads")
        primary = entry["primaryMetric"]
        main = "throughput" if primary.words("scoreUnit").startswith("ops/") else "time"
        _add(rows, {**params, "metric": main}, primary, name, forks=entry)
        secondary = entry.maybe("secondaryMetrics")
        for metric, node in secondary.members() if secondary is not None else ():
            if _told(node["score"]):
                _add(rows, {**params, "metric": metric.lstrip("·+")}, node, name)
        environment.update({fact: text for fact in _FACTS if (text := entry.words(fact))})
    return Report(_NAME, (RunReport(rows.table(), environment=environment),)), ()


def _add(rows: Rows, params: dict[str, str], metric: Node, name: str, *, forks: Node | None = None) -> None:
    unit = metric.words("scoreUnit")
    better = Better.HIGHER if unit.startswith("ops/") else Better.LOWER if unit.endswith("/op") else Better.UNKNOWN
    if metric["score"].value == "NaN":
        rows.fail(params, "JMH has no score: NaN")
        return
    score = metric["score"].number(name)
    summary = {"score_error": metric["scoreError"].number(name)} if _told(metric.maybe("scoreError")) else {}
    if forks is not None and "forks" in forks:
        summary["forks"] = forks["forks"].number(name)
    percentiles = metric.maybe("scorePercentiles")
    if "rawDataHistogram" in metric and percentiles is not None and _told(percentiles.maybe("50.0")):
        rows.add(params, (percentiles["50.0"].number(name),), unit, better, summary=summary)
        rows.add({**params, "stat": "mean"}, (score,), unit, better)
        for percent, node in percentiles.members():
            if percent != "50.0" and _told(node):
                stat = _PERCENTILES.get(percent) or f"p{percent.removesuffix('.0')}"
                rows.add({**params, "stat": stat}, (node.number(name),), unit, better)
        return
    raw = metric.maybe("rawData")
    forked = list(raw.elements()) if raw is not None else []
    samples = [sample for fork in forked for sample in fork.elements()]
    if not samples or any(sample.value == "NaN" for sample in samples):
        rows.add(params, (score,), unit, better, summary=summary)
        return
    rows.add(params, [sample.number(name) for sample in samples], unit, better, summary=summary)


def _told(node: Node | None) -> bool:
    return node is not None and node.value != "NaN"
