"""Read the older format of Skia Perf, which nanobench writes."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit import read_unit

_NAME: Final = "skia-legacy"
_ENDING: Final = re.compile(r".*_(?P<unit>[a-z]+)")
_UNITS: Final = {"mb": "MB", "kb": "kB", "bytes": "bytes"}
_NO_METRICS: Final = ("options", "samples")
_SAMPLED: Final = "min_ms"
"""The metric that ``samples`` belong to."""


def fits(file: FileContent) -> bool:
    """Return True if this is an object with a commit and results by test and configuration."""
    document = file.document
    if not isinstance(document, dict) or "gitHash" not in document or not isinstance(document.get("results"), dict):
        return False
    configurations = [each for test in inner(document["results"]) for each in inner(test) if isinstance(each, dict)]
    return any(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for each in configurations
        for value in each.values()
    )


def read(file: FileContent) -> Parsed:
    """Read one run: a trace per test, configuration and metric; the metric is the param ``sub_result``.

    Where nanobench kept samples, they are those of ``min_ms``.
    """
    root = Node(file.strict_json)
    common: dict[str, str] = {}
    for group in ("key", "options"):
        given = root.maybe(group)
        if given is not None:
            common.update({name: node.text() for name, node in given.members()})
    rows = Rows()
    problems: list[Problem] = []
    for test, configs in root["results"].members():
        for config, metrics in configs.members():
            problems.extend(_add(rows, {**common, "test": test, "config": config}, metrics))
    issue = root.words("issue")
    if issue:
        message = f"these are results of patch {issue}, not of the commit alone"
        problems.append(
            Problem(message, "issue", "Tell them apart by a param, as in --param patch=NAME.", Severity.WARNING)
        )
    environment = {name: text for name in ("issue", "patchset", "source") if (text := root.words(name))}
    run = RunReport(rows.table(), revision=root.words("gitHash"), environment=environment)
    return Report(_NAME, (run,)), tuple(problems)


def _add(rows: Rows, params: dict[str, str], metrics: Node) -> list[Problem]:
    """Add the metrics of a test and configuration; samples that are not numbers are left out, with a warning."""
    problems: list[Problem] = []
    options = metrics.maybe("options")
    if options is not None:
        params |= {
            name: node.value
            for name, node in options.members()
            if isinstance(node.value, str) and not name.startswith("GL_")
        }
    samples = metrics.maybe("samples")
    for metric, found in metrics.value.items() if isinstance(metrics.value, dict) else ():
        other = found is not None and (not isinstance(found, int | float) or isinstance(found, bool))
        if other or metric in _NO_METRICS:
            continue
        named = {**params, "sub_result": metric}
        with rows.failing(named):
            value = (
                found
                if isinstance(found, float) and math.isfinite(found)
                else metrics[metric].number(f"{params['test']} {params['config']}")
            )
            sampled = samples if metric == _SAMPLED and samples is not None and samples.value else None
            problems.extend(_add_metric(rows, named, value, sampled))
    return problems


def _add_metric(rows: Rows, params: dict[str, str], value: float, samples: Node | None) -> list[Problem]:
    """Add one metric, and return a warning where some of its samples are not numbers."""
    if samples is None:
        rows.add(params, (value,), _unit(params["sub_result"]))
        return []
    elements = list(samples.elements())
    numbers = [sample.number() for sample in elements if sample.is_number()]
    rows.add(params, numbers or (value,), "ms", summary={"value": value})
    if len(numbers) == len(elements):
        return []
    message = f"{len(elements) - len(numbers)} of {len(elements)} samples are not numbers and were left out"
    return [Problem(message, samples.path, "Check the run that wrote them.", Severity.WARNING)]


@lru_cache(maxsize=4096)
def _unit(metric: str) -> str:
    found = _ENDING.fullmatch(metric)
    ending = found["unit"] if found else metric
    known = _UNITS.get(ending, ending)
    return "" if read_unit(known).dimension.startswith("?") else known
