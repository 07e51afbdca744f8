"""Read the statistics that Locust prints with ``--json``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.unit_names import Better

_MEMBERS: Final = {"name", "method", "num_requests", "num_failures", "response_times", "start_time"}
_PERCENTILES: Final = ("90", "95", "99", "99.9")


def is_statistics(document: object) -> bool:
    """Return True if this is a list of requests, each with its counts and a histogram of response times."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(entry, dict) and entry.keys() >= _MEMBERS for entry in document)
    )


def add_statistics(rows: Rows, root: Node) -> None:
    """Add the same series as the table of requests has, but for the row of all requests together.

    Response times come from the histogram, which Locust rounds to two digits; the table has the same numbers.

    Raises:
        FormatError: a list or an object stands in the place of a number.
    """
    entries = list(root.elements())
    if not entries:
        return
    try:
        seconds = max(entry["last_request_timestamp"].number() for entry in entries) - min(
            entry["start_time"].number() for entry in entries
        )
    except NoNumberError as error:
        # Rates are over the whole test, which needs the times of all requests.
        seconds, reason = 0.0, error.reason
    else:
        reason = "the test took no time"
    for entry in entries:
        _add(rows, entry, seconds, reason)


def _add(rows: Rows, entry: Node, seconds: float, reason: str) -> None:
    params = {"benchmark": entry["name"].text(), "method": entry.words("method")}
    timed, name = {**params, "metric": "response_time"}, params["benchmark"]
    with rows.failing(timed):
        count, failures = entry["num_requests"].number(name), entry["num_failures"].number(name)
        if count <= 0:
            rows.skip(timed, "no request was made")
            return
        times = _histogram(entry["response_times"], name)
        summary = {"requests": count, "failures": failures}
        rows.add(timed, (_percentile(times, 50),), "ms", Better.LOWER, summary=summary)
        for percent in _PERCENTILES:
            rows.add({**timed, "stat": f"p{percent}"}, (_percentile(times, float(percent)),), "ms", Better.LOWER)
        mean = entry["total_response_time"].number(name) / count
        for stat, value in (("mean", mean), *((stat, _extreme(entry, stat, name)) for stat in ("min", "max"))):
            rows.add({**timed, "stat": stat}, (value,), "ms", Better.LOWER)
        rates = {"requests": (count, "requests/s", Better.HIGHER), "failures": (failures, "failures/s", Better.LOWER)}
        for metric, (number, unit, better) in rates.items():
            named = {**params, "metric": metric}
            if seconds > 0:
                rows.add(named, (number / seconds,), unit, better)
            else:
                rows.fail(named, reason)


def _extreme(entry: Node, stat: str, name: str) -> float:
    return entry[f"{stat}_response_time"].number(name)


def _histogram(node: Node, name: str) -> list[tuple[float, float]]:
    """Return response times and how often each was, in their order."""
    found = []
    for text, times in node.members():
        value = numeral(text)
        if value is None:
            raise NoNumberError(f"{text[:40]!r} is no response time", where=node.path, of=name)
        found.append((value, times.number(name)))
    if not any(count > 0 for _, count in found):
        raise NoNumberError("there are no response times", where=node.path, of=name)
    return sorted(found)


def _percentile(times: list[tuple[float, float]], percent: float) -> float:
    """Return the smallest response time that at least ``percent`` of the requests did not exceed."""
    wanted = sum(count for _, count in times) * percent / 100
    passed = 0.0
    for value, count in times:
        passed += count
        if passed >= wanted:
            return value
    return times[-1][0]
