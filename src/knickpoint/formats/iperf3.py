"""Read what iperf3 writes with ``--json``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "iperf3"
_SIDES: Final = {"": "", "_bidir_reverse": "reverse"}
"""How members of the other direction of ``--bidir`` end."""


def fits(file: FileContent) -> bool:
    """Return True if this is an object with the start, the intervals and the end of a test."""
    document = file.document
    return (
        isinstance(document, dict)
        and {"start", "intervals", "end"} <= document.keys()
        and isinstance(document["start"], dict)
        and str(document["start"].get("version", "")).startswith("iperf")
    )


def read(file: FileContent) -> Parsed:
    """Read one run: what arrived in bits per second, retransmits, and over UDP jitter and loss.

    The intervals of a test stay out: they are what happened within it. A test that ended with an error failed.
    """
    root = Node(file.json)
    start, end = root["start"], root["end"]
    rows = Rows()
    params = _params(root, start)
    if root.words("error"):
        rows.fail({**params, "metric": "throughput"}, root.words("error"))
    else:
        udp = params.get("protocol") == "UDP"
        for ending, direction in _SIDES.items():
            received = end.maybe(f"sum_received{ending}")
            # Older versions write one sum over UDP.
            arrived = received if received is not None else end.maybe(f"sum{ending}")
            if arrived is not None or not ending:
                named = {**params, **({"direction": direction} if direction else {})}
                _add(rows, named, arrived or end[f"sum_received{ending}"], end.maybe(f"sum_sent{ending}"), udp=udp)
    stamp = start.maybe("timestamp")
    time = read_moment(stamp.finite({"timesecs": "time"}).get("time")) if stamp is not None else None
    facts = {"tool": start.words("version"), "system": start.words("system_info")}
    return Report(_NAME, (RunReport(rows.table(), time=time, environment={k: v for k, v in facts.items() if v}),)), ()


def _params(root: Node, start: Node) -> dict[str, str]:
    """Return the params of the test: its title, the other end, and the way that data were sent."""
    test, other = start.maybe("test_start") or Node({}), start.maybe("connecting_to") or Node({})
    params = {
        "benchmark": root.words("title") or start.words("title") or _NAME,
        "host": other.words("host"),
        "protocol": test.words("protocol"),
        "streams": test.words("num_streams"),
        "block_size": test.words("blksize"),
        "bitrate": test.words("target_bitrate"),
        "reverse": test.words("reverse"),
    }
    return {name: value for name, value in params.items() if value not in ("", "0")}


def _add(rows: Rows, params: dict[str, str], arrived: Node, sent: Node | None, *, udp: bool) -> None:
    name = params["benchmark"]
    measured = {"throughput": (arrived, "bits_per_second", "bit/s", Better.HIGHER)}
    if udp:
        measured["jitter"] = (arrived, "jitter_ms", "ms", Better.LOWER)
        measured["lost_packets"] = (arrived, "lost_percent", "%", Better.LOWER)
    elif sent is not None and sent.has("retransmits"):
        measured["retransmits"] = (sent, "retransmits", "", Better.LOWER)
    for metric, (node, member, unit, better) in measured.items():
        named = {**params, "metric": metric}
        with rows.failing(named):
            rows.add(named, (node[member].number(name),), unit, better)
