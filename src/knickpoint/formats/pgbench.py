"""Read what pgbench prints."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.printed_reports import PrintedReport, has_line, printed_reports
from knickpoint.formats.toolbox.result_rows import RequestCounts, Rows
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "pgbench"
_BEGIN: Final = re.compile(r"transaction type: (?P<value>.+)")
_BUILTIN: Final = re.compile(r"<builtin: (?P<value>.+)>")
_TPS: Final = re.compile(r"tps =\s*(?P<value>.*?) \((?P<how>(?:without|excluding|including) [a-z ]+)\)")
_PROCESSED: Final = re.compile(r"number of transactions actually processed: (?P<value>\d+)(?:/\d+)?")
_FAILED: Final = re.compile(r"(?: - )?number of failed transactions: (?P<value>.*?) \(.*\)")
_LATENCY: Final = re.compile(r"(?: - )?latency average =\s*(?P<value>.*?) ms")
_STDDEV: Final = re.compile(r"(?: - )?latency stddev = (?P<value>\S+) ms")
_CONNECTION: Final = re.compile(r"(?:initial|average) connection time =\s*(?P<value>.*?) ms")
_ABORTED: Final = re.compile(r".*Run was aborted.*")
_SCRIPT: Final = re.compile(r"SQL script [^:]*: (?P<value>.+)")
_WEIGHT: Final = re.compile(r" - weight: (?P<value>\d+).*")
_SCRIPT_TPS: Final = re.compile(r" - (?P<count>\d+) transactions \(\S+ of total, tps = (?P<value>\S+)\)")
_PARAMS: Final = {
    "scale": re.compile(r"scaling factor: (?P<value>\S+)"),
    "mode": re.compile(r"query mode: (?P<value>\S+)"),
    "clients": re.compile(r"number of clients: (?P<value>\d+)"),
    "threads": re.compile(r"number of threads: (?P<value>\d+)"),
}


def fits(file: FileContent) -> bool:
    """Return True if a line says which transactions ran, and another how they were sent."""
    return has_line(file, "transaction type:", _BEGIN) and has_line(file, "query mode:", _PARAMS["mode"])


def read(file: FileContent) -> Parsed:
    """Read one run: transactions per second, latency and connection time, by script, scale, mode, clients and threads.

    pgbench has no median, so the mean is the value of the latency. With several scripts there is a series for each,
    too. Progress lines and latencies of statements stay out. Several reports in one file are samples.
    """
    rows = Rows()
    problems: list[Problem] = []
    for report in printed_reports(file, _BEGIN):
        rates = {hit["how"].partition(" ")[0]: hit for hit in report.every(_TPS)}
        params = {name: report.text(pattern, "value") for name, pattern in _PARAMS.items()}
        params["benchmark"] = _script(report.text(_BEGIN, "value"))
        if rates.keys() == {"including"}:
            params["connect"] = "each transaction"
        counts = _counts(report, report.need(_PROCESSED, "the number of transactions").count())
        aborted = "the run was aborted" if report.find(_ABORTED) else ""
        if counts.useless or aborted:
            for metric in ("transactions", "latency"):
                rows.fail({**params, "metric": metric}, aborted or counts.message)
            continue
        problems += counts.warnings(report.place)
        rate = rates.get("without") or rates.get("excluding") or report.need(_TPS, "the line with tps")
        transactions = {**params, "metric": "transactions"}
        with rows.failing(transactions):
            rows.add(
                transactions,
                (rate.number(),),
                "transactions/s",
                Better.HIGHER,
                summary=counts.summary,
                message=counts.message,
            )
        _add_latency(rows, params, PrintedReport(tuple(line for line in report.lines if not line[1].startswith(" - "))))
        for script in report.parts(_SCRIPT):
            _add_script(rows, params, script)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)


def _script(text: str) -> str:
    builtin = _BUILTIN.fullmatch(text)
    return builtin["value"] if builtin else text


def _counts(report: PrintedReport, processed: int) -> RequestCounts:
    failed = report.find(_FAILED)
    count = failed.number() if failed else 0
    return RequestCounts(processed + count, count, "transaction")


def _add_latency(rows: Rows, params: dict[str, str], report: PrintedReport) -> None:
    named = {**params, "metric": "latency"}
    latency, deviation, connection = report.find(_LATENCY), report.find(_STDDEV), report.find(_CONNECTION)
    if latency:
        with rows.failing(named):
            summary = {"stddev": deviation.number()} if deviation else {}
            rows.add(named, (latency.number(),), "ms", Better.LOWER, summary=summary)
    if connection:
        named = {**params, "metric": "connection_time"}
        with rows.failing(named):
            rows.add(named, (connection.number(),), "ms", Better.LOWER)


def _add_script(rows: Rows, params: dict[str, str], script: PrintedReport) -> None:
    named = {**params, "script": _script(script.text(_SCRIPT, "value")), "weight": script.text(_WEIGHT, "value")}
    rate = script.need(_SCRIPT_TPS, "the transactions of the script")
    counts = _counts(script, rate.count("count"))
    transactions = {**named, "metric": "transactions"}
    if counts.useless:
        rows.fail(transactions, counts.message)
        return
    with rows.failing(transactions):
        rows.add(transactions, (rate.number(),), "transactions/s", Better.HIGHER, summary=counts.summary)
    _add_latency(rows, named, script)
