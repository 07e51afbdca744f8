"""Outputs that tools print for people, or tables of theirs that say less than what they also write: what to import instead.

Knickpoint does not read them, because they are rounded, compare two sides, or leave out what was measured. Whoever has
such a file gets the option of the tool that writes one that is read.
"""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, plain

_LOOKED_AT: Final = 400
"""Lines from the start of a file."""
_KNOWN: Final = (
    (
        r"│.*\b(?:sec|B|allocs)/op\b|,(?:sec|B|allocs)/op,CI\b|name\s+old \S+\s+new \S+\s+delta",
        "benchstat, which summarises and compares results. Import what it read: the output of go test -bench, one file a commit",
    ),
    (
        r"Benchmark\s.*\bMode\s+Cnt\s+Score\s",
        "JMH, as it prints it. Write its JSON: -rf json -rff results.json",
    ),
    (
        r"(?:\|\s*)?Method\s*[|,;\t].*\bMean\s*[|,;\t].*\b(?:Error|StdDev)\b",
        "BenchmarkDotNet, as a table. Write its JSON: --exporters json",
    ),
    (
        r"Benchmark\s+Time\s+CPU\s+Iterations\b|\"?name\"?,\"?iterations\"?,\"?real_time\"?,\"?cpu_time\"?,",
        "Google Benchmark, as a table. Write its JSON: --benchmark_out=results.json --benchmark_out_format=json",
    ),
    (
        r"Name \(time in \S+\)\s+Min\s",
        "pytest-benchmark, as it prints it. Write its JSON: --benchmark-json=results.json",
    ),
    (
        r"\"?command\"?,\"?mean\"?,\"?stddev\"?,\"?median\"?,|Benchmark (?:#?\d+|\d+ \S+): |\| Command \| Mean \[",
        "hyperfine, as a table or as it prints it. Write its JSON: --export-json results.json",
    ),
    (
        r"(?:ok|FAIL|\?)\s+\t?\S+\s+(?:[\d.]+s|\(cached\)|\[no test files\])|goos: \S+$",
        "go test, without the result of a benchmark. Run it with -bench=. and look whether the benchmarks failed",
    ),
    (
        r"test result: \S+ \d+ passed; .* 0 measured;",
        "Rust's tests, of which none is a benchmark. Run cargo bench",
    ),
    (r"Performance counter stats for ", "perf stat, as it prints it. Write its JSON: perf stat -j -o results.json"),
    (r"fio-\d+\.\d+$", "fio, as it prints it. Write its JSON: --output-format=json --output=results.json"),
    (r"\[ *ID\] Interval +Transfer +(?:Bitrate|Bandwidth)", "iperf3, as it prints it. Write its JSON: iperf3 -J"),
    (
        r"\w+(?:\{.*\})?\.{2,}: avg=\S+ +min=",
        "k6, as it prints it. Write the summary as JSON: --summary-export=results.json",
    ),
    (
        r"name,(?:param:.*,)?min,max,mean,stddev,",
        "pytest-benchmark, as a table. Write its JSON: --benchmark-json=results.json",
    ),
    (
        r"\[OVERALL\], (?:RunTime|Throughput)\(",
        "YCSB. Write its lines as a table with the columns benchmark, metric, unit and value",
    ),
    (
        r"Requests\s+\[total, rate",
        "vegeta, as it prints it. Write its JSON: vegeta report -type=json",
    ),
    (
        r"#(?:group|datatype),|,result,table,",
        "InfluxDB. Write a table with the columns commit, benchmark, value and unit: pivot its _field, and rename _value",
    ),
    (
        r"# (?:HELP|TYPE) [\w:]+ ",
        "Prometheus, which says what counts now. Write a table with the columns commit, benchmark, value and unit",
    ),
    (r"Success rate:\t", "oha, as it prints it. Write its JSON: --output-format json (-j in earlier versions)"),
    (r"benchmark +avg \(min … max\)", "mitata, as it prints it. Write its JSON: run({ format: 'json' })"),
    (r"(?:\S+: )?Mean \+- std dev: ", "pyperf, as it prints it. Write its JSON: -o results.json"),
    (
        r"Command being timed: |Elapsed \(wall clock\) time|real\s+\d+m[\d.,]+s$",
        "time, which measures once. Measure with hyperfine: --export-json results.json",
    ),
)
_PATTERNS: Final = tuple((re.compile(pattern), what) for pattern, what in _KNOWN)


def better_output(file: FileContent) -> str:
    """Return the likely kind of ``file`` and what to import instead, a sentence or two.

    "" if nothing of it is known.
    """
    lines = [plain(line[:LONGEST_LINE]).strip() for line in file.readable.splitlines()[:_LOOKED_AT]]
    # benchstat repeats lines of go test, so patterns take turns, not lines.
    found = next((what for pattern, what in _PATTERNS if any(map(pattern.match, lines))), "")
    return f"It looks like the output of {found}." if found else ""
