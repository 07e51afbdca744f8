"""Whoever brings what a tool printed for people is told which output to import instead."""

from __future__ import annotations

import pytest

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError

_OUTPUTS = {
    "benchstat": (
        """goos: linux
         │   old.txt   │              new.txt               │
         │   sec/op    │   sec/op     vs base               │
Foo-8      12.50n ± 1%   13.50n ± 2%  +8.00% (p=0.000 n=10)
""",
        "go test -bench",
    ),
    "benchstat of one side": (
        """goos: linux
      │ old.txt │
      │ sec/op  │
Foo-8   12.50n ± 1%
""",
        "go test -bench",
    ),
    "benchstat as CSV": (
        """,old.txt,,new.txt,,,
,sec/op,CI,sec/op,CI,vs base,P
Foo-8,1.25e-08,1%,1.35e-08,2%,+8%,p=0.0 n=10
""",
        "benchstat",
    ),
    "benchstat of 2020": (
        """name    old time/op  new time/op  delta
Foo-8   12.5ns ± 1%  13.5ns ± 1%  +8.0%
""",
        "benchstat",
    ),
    "go test": ("goos: linux\npkg: x/y\nPASS\nok  \tx/y\t0.002s\n", "-bench=."),
    "YCSB": (
        "[OVERALL], RunTime(ms), 10110\n[READ], AverageLatency(us), 1055.8\n",
        "benchmark, metric, unit and value",
    ),
    "oha": (
        "Summary:\n  Success rate:\t100.00%\n  Requests/sec:\t5021.25\n\nResponse time histogram:\n",
        "--output-format json",
    ),
    "vegeta": ("Requests      [total, rate, throughput]  100, 10.10, 10.09\nDuration  [total]  9.91s\n", "-type=json"),
    "InfluxDB": (
        (
            ",result,table,_start,_stop,_time,_value,_field\n,_result,0,2026-05-01T00:00:00Z,2026-07-01T00:00:00Z,"
            "2026-05-01T00:00:00Z,20.1,ms\n"
        ),
        "rename _value",
    ),
    "InfluxDB with annotations": (
        (
            "#group,false,false,true,false\n#datatype,string,long,dateTime:RFC3339,double\n#default,_result,,,\n"
            ",result,table,_time,_value\n,,0,2026-05-01T00:00:00Z,20.1\n"
        ),
        "rename _value",
    ),
    "Prometheus": ('# HELP b_seconds x\n# TYPE b_seconds gauge\nb_seconds{bench="parse"} 0.02\n', "a table with"),
    "pytest-benchmark as CSV": (
        (
            "name,min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations\n"
            "t.py::a,0.001,0.002,0.0012,0.0001,0.0011,0.0001,1;0,833.3,5,1\n"
        ),
        "--benchmark-json",
    ),
    "JMH": (
        """Benchmark      Mode  Cnt     Score    Error  Units
My.parse      thrpt   25  1234.567 ± 12.34  ops/s
""",
        "-rf json",
    ),
    "BenchmarkDotNet": (
        """| Method | Mean | Error | StdDev |
|---|---:|---:|---:|
| Parse | 1.2 us | 0.1 us | 0.1 us |
""",
        "--exporters",
    ),
    "BenchmarkDotNet as CSV": (
        """Method,Job,N,Mean,Error,StdDev
Parse,DefaultJob,100,1.234 μs,0.01 μs,0.009 μs
""",
        "--exporters",
    ),
    "Google Benchmark": (
        """-----
Benchmark           Time             CPU   Iterations
-----
BM_Parse         1234 ns         1230 ns  567890
""",
        "--benchmark_out=",
    ),
    "Google Benchmark as CSV": (
        """name,iterations,real_time,cpu_time,time_unit,label
"BM_Parse",567890,1234,1230,ns,
""",
        "--benchmark_out=",
    ),
    "pytest-benchmark": (
        """---- benchmark: 1 tests ----
Name (time in us)         Min      Max
test_parse            10.1000  20.2000
""",
        "--benchmark-json",
    ),
    "hyperfine": (
        """Benchmark 1: sleep 0.1
  Time (mean ± σ):     102.1 ms ±   0.4 ms    [User: 1 ms]
""",
        "--export-json",
    ),
    "hyperfine as CSV": (
        """command,mean,stddev,median,user,system,min,max
sleep 0.1,0.10,0.01,0.1,0,0,0.1,0.1
""",
        "--export-json",
    ),
    "Rust's tests": (
        """test a ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
""",
        "cargo bench",
    ),
    "perf stat": (
        """
 Performance counter stats for './a':

          1.234,56 msec task-clock                #    0,998 CPUs utilized
""",
        "perf stat -j",
    ),
    "mitata": (
        (
            "runtime: node 20.20.2\n\nbenchmark                   avg (min … max) p75 / p99\nsort 10      3.29 µs/iter   "
            "1.40 µs\n"
        ),
        "mitata, as it prints it. Write its JSON: run({ format: 'json' })",
    ),
    "fio": (
        "job: (g=0): rw=read\nfio-3.33\nStarting 1 process\n  read: IOPS=100k, BW=391MiB/s\n",
        "--output-format=json",
    ),
    "iperf3": (
        """Connecting to host 127.0.0.1, port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.0 GBytes  8.5 Gbits/sec    0   1.0 MBytes
""",
        "iperf3 -J",
    ),
    "k6": ("     http_req_duration..............: avg=12.3ms min=1ms med=10ms max=50ms\n", "--summary-export"),
    "pyperf": ("sort: Mean +- std dev: 1.23 us +- 0.04 us\n", "-o results.json"),
    "time of the shell": ("\nreal\t0m1.234s\nuser\t0m1.0s\nsys\t0m0.1s\n", "hyperfine"),
    "GNU time": ('\tCommand being timed: "./a"\n\tUser time (seconds): 1.00\n', "hyperfine"),
}


@pytest.mark.parametrize("tool", list(_OUTPUTS))
def test_what_a_tool_prints_for_people_is_refused_with_the_option_for_its_results(tool: str) -> None:
    text, option = _OUTPUTS[tool]
    with pytest.raises(FormatError, match="no format fits") as raised:
        read_report(text.encode())
    assert raised.value.remedy.startswith("It looks like the output of ")
    assert option in raised.value.remedy


@pytest.mark.parametrize(
    "text", ['[{"benchmark": "a", "value": 1.5, "unit": "ms"}]', '{"benchmark": "a", "value": 1.5}']
)
def test_rows_of_json_without_commit_and_time_ask_for_their_format(text: str) -> None:
    with pytest.raises(FormatError, match="no format fits") as raised:
        read_report(text.encode())
    assert "--as json" in raised.value.remedy
    assert len(read_report(text.encode(), format="json")[0].runs[0].results) == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"columns":["commit","ms"],"index":[0],"data":[["a",1.5]]}',
        '{"schema":{"fields":[]},"data":[{"index":0,"commit":"a","ms":1.5}]}',
        '{"commit":{"0":"a","1":"b"},"ms":{"0":1.5,"1":1.6}}',
        '{"0":{"commit":"a","ms":1.5},"1":{"commit":"b","ms":1.6}}',
        '[{"commit":"a","ms":1.5}]',
    ],
    ids=["split", "table", "columns", "index", "records without a value"],
)
def test_what_pandas_writes_is_told_how_it_is_read(text: str) -> None:
    with pytest.raises(FormatError, match="no format fits") as raised:
        read_report(text.encode())
    assert "as df.to_json(orient='records')" in raised.value.remedy
    assert "as df.to_csv(index=False)" in raised.value.remedy


@pytest.mark.parametrize("text", ["[]", "{}"])
def test_an_empty_document_is_called_empty(text: str) -> None:
    with pytest.raises(FormatError) as raised:
        read_report(text.encode())
    assert raised.value.remedy.startswith("It holds nothing.")


def test_a_table_of_numbers_with_units_says_where_the_unit_belongs() -> None:
    with pytest.raises(FormatError) as raised:
        read_report(b"name,time\na,1.2ms\nb,900us\n")
    assert "numbers with units, such as '1.2ms'" in raised.value.remedy


def test_what_is_sent_to_codespeed_says_what_to_rename() -> None:
    text = b'[{"commitid": "14a", "branch": "default", "benchmark": "float", "result_value": 4000.5, "std_dev": 1}]'
    with pytest.raises(FormatError) as raised:
        read_report(text)
    assert "Rename commitid to commit" in raised.value.remedy
    renamed = b'[{"commit": "14a", "branch": "default", "benchmark": "float", "value": 4000.5}]'
    assert read_report(renamed)[0].runs[0].results[0].samples == (4000.5,)
