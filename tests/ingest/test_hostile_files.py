"""Files of some bytes that stand for very much, and files that the memory does not suffice for."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab

from knickpoint.formats.toolbox.file_content import ReadingLimits, check_memory, parsing_bytes
from knickpoint.ingest import ImportState, ImportSummary, import_data
from knickpoint.ingest.results_file import memory_left, reading_limits, within_memory
from knickpoint.ingest.settings import IngestSettings
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.model.errors import FormatError

A = "1000001"
TIGHT = "[ingest]\nlargest_megabytes = 2\nparsing_megabytes = 10\n"


def with_another(lab: Lab, path: Path) -> ImportSummary:
    """Import a file and one that is well, and check that only the second goes in."""
    well = lab.skia("well.json", A, sort=1.5)
    summary = lab.take(path, well)
    assert [each.state for each in summary.files] == [ImportState.REFUSED, ImportState.IMPORTED]
    assert lab.values() == {A: {"sort": 1.5}}
    assert path.name in summary.files[0].problems[0].where
    assert summary.files[0].problems[0].remedy
    return summary


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lists.json", "[" + "{}," * 200_000 + "{}]"),
        ("names.json", '{"version": 1, "a": [' + '"",' * 300_000 + "0]}"),
        ("lines.txt", "BenchmarkA 1 1 ns/op\n" + "\n" * 300_000),
        ("wide.csv", "commit," + ",".join(f"b{number}" for number in range(100_000)) + "\n"),
        ("deep.xml", "<testsuites>" + "<a/>" * 60_000 + "</testsuites>"),
    ],
)
def test_a_file_that_would_take_too_much_memory_is_refused_before_it_is_parsed(
    lab: Lab, name: str, content: str
) -> None:
    lab.configure(TIGHT)
    summary = with_another(lab, lab.write(name, content))
    assert "MB of memory" in summary.files[0].problems[0].message


def test_a_compressed_file_that_unpacks_to_too_much_is_refused(lab: Lab) -> None:
    lab.configure(TIGHT)
    summary = with_another(lab, lab.write("zeros.json.gz", gzip.compress(b"0" * 2_000_001)))
    assert "unpacks to more than 2,000,000 bytes" in summary.files[0].problems[0].message


def test_a_file_that_is_compressed_twice_is_no_results_file(lab: Lab) -> None:
    inner = gzip.compress(json.dumps({"version": 1, "git_hash": A}).encode())
    with_another(lab, lab.write("twice.json.gz", gzip.compress(inner)))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_that_is_nested_too_deeply_is_refused(lab: Lab, opening: str) -> None:
    summary = with_another(lab, lab.write("deep.json", opening * 200_000))
    assert "nested too deeply" in summary.files[0].problems[0].message


def test_a_parquet_file_of_a_million_equal_rows_is_refused_before_they_are_read(lab: Lab) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lab.configure(TIGHT)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int8()), pa.array(["a" * 7]))
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"commit": column, "benchmark": column, "value": column}), buffer)
    assert len(buffer.getvalue()) < 100_000
    summary = with_another(lab, lab.write("rows.parquet", buffer.getvalue()))
    assert "MB of memory" in summary.files[0].problems[0].message


def test_a_long_text_that_repeats_in_parquet_is_in_memory_once(lab: Lab) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lab.configure(TIGHT)
    rows = 5000
    note = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), pa.array(["x" * 100_000]))
    table = {
        "commit": [A] * rows,
        "benchmark": [f"b{row}" for row in range(rows)],
        "value": [1.0] * rows,
        "message": note,
    }
    buffer = io.BytesIO()
    parquet.write_table(pa.table(table), buffer)
    path = lab.write("notes.parquet", buffer.getvalue())
    assert lab.take(path, order="given").files[0].state is ImportState.IMPORTED


def test_what_is_read_of_xml_is_linear_in_its_texts(lab: Lab) -> None:
    text = "&lt;" * 400_000
    lab.write(
        "junit.xml", f'<testsuite name="s"><testcase name="a" time="1"/><system-out>{text}</system-out></testsuite>'
    )
    assert lab.take(lab.directory / "junit.xml", revision=A).files[0].points == 1


@pytest.mark.parametrize(
    ("content", "least"),
    [
        (b"[" + b"{}," * 1000 + b"0]", 64_000),
        (b'{"a": "' + b"a" * 1000 + b'"}', 2000),
        ("[" + '"é",' * 1000 + "0]", 60_000),
        (b"a,b\n" + b"1,2\n" * 1000, 100_000),
        (b"<a>" + b"<b/>" * 1000 + b"</a>", 400_000),
        (b"", 0),
    ],
)
def test_the_estimate_counts_what_a_content_becomes(content: bytes | str, least: int) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    assert least <= parsing_bytes(data) <= 8 * least + 1000


@pytest.mark.long
def test_work_that_takes_too_much_memory_is_an_error_of_its_file() -> None:
    with pytest.raises(FormatError, match="more memory") as caught:
        within_memory(lambda: bytearray(1 << 62), "a.json")
    assert caught.value.where == "a.json"
    assert caught.value.__context__ is None


def test_small_files_are_read_within_the_settings_whatever_is_left() -> None:
    settings = IngestSettings(parsing_megabytes=10**9)
    assert reading_limits(settings, b"{}").memory == 10**15
    left = reading_limits(settings, b"\x1f\x8b").memory
    assert left is not None
    assert left < 10**15


def test_this_machine_says_how_much_memory_is_left() -> None:
    left = memory_left()
    assert left is None or left > 0


def test_what_is_within_the_limits_is_not_refused() -> None:
    check_memory(10, ReadingLimits(memory=10), "a.json")
    check_memory(10**15, ReadingLimits(), "a.json")
    with pytest.raises(FormatError):
        check_memory(11, ReadingLimits(memory=10), "a.json")


LIMITED = """
import pathlib, resource, sys
from knickpoint.cli import main
from knickpoint.cli.commands import import_results
from knickpoint import ingest, instance, formats
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv.pop(1)) * 1_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
main()
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("megabytes", [60])
def test_with_little_memory_a_large_file_is_refused_by_name_and_the_others_go_in(lab: Lab, megabytes: int) -> None:
    results = [{"key": {"benchmark": f"b{number}", "unit": "ms"}, "measurement": 1.5} for number in range(100_000)]
    lab.write("large.json", {"version": 1, "git_hash": A, "results": results})
    lab.skia("small.json", A, sort=1.5)
    directory = lab.directory / "instance"
    arguments = [
        "import",
        "--instance",
        str(directory),
        str(lab.directory / "large.json"),
        str(lab.directory / "small.json"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes), *arguments], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert done.returncode == 2, said
    assert "large.json" in said
    assert "memory" in said
    assert lab.values() == {A: {"sort": 1.5}}


def test_an_execution_with_a_long_id_is_known_again_by_a_short_one(lab: Lab) -> None:
    path = lab.skia("one.json", A, sort=1.5)
    for execution in ("e" * 5000, "e" * 5001):
        stated = Sidecar(run=execution, time=datetime(2026, 1, 1, tzinfo=UTC))
        import_data(lab.instance, path.read_bytes(), source="upload:one", stated=stated)
    store = lab.instance.store
    runs = store.runs.at(store.commits.repository("main"), [0])
    assert len({run.identity for run in runs}) == 2
    assert all(len(run.identity) < 100 for run in runs)


def test_a_file_of_very_many_branches_is_refused(lab: Lab) -> None:
    """Each makes a line, while no other file can be written."""
    lines = [f"a{number:039x},2026-01-01,branch-{number},sort,1" for number in range(501)]
    path = lab.write("many.csv", "\n".join(["commit,commit_time,branch,benchmark,value", *lines, ""]))
    outcome = lab.take(path).files[0]
    assert outcome.state is ImportState.REFUSED
    assert "501 branches" in outcome.problems[0].message
