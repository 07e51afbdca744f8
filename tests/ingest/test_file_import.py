from __future__ import annotations

import gzip
import io
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab

from knickpoint.ingest import ImportState, ImportSummary
from knickpoint.ingest.settings import CommitOrder
from knickpoint.store import FileState

A, B, C = "1000001", "1000002", "1000003"


def history(*entries: tuple[str, int, float]) -> str:
    """Write a data.js: (commit, minute, value)."""
    import json

    rows = [
        {
            "commit": {"id": commit, "message": f"Change {minute}", "timestamp": f"2026-01-01T00:{minute:02}:00Z"},
            "date": 1_767_225_600_000 + 60_000 * minute,
            "tool": "cargo",
            "benches": [{"name": "sort", "value": value, "unit": "ns/iter"}],
        }
        for commit, minute, value in entries
    ]
    data = {"lastUpdate": 1, "repoUrl": "https://github.com/o/r", "entries": {"suite": rows}}
    return "window.BENCHMARK_DATA = " + json.dumps(data)


def test_a_file_comes_in(lab: Lab) -> None:
    summary = lab.take(lab.skia("a.json", A, sort=1.5, parse=2))
    assert not summary.failed
    assert lab.values() == {A: {"sort": 1.5, "parse": 2}}


def test_the_same_file_again_changes_nothing_and_says_so(lab: Lab) -> None:
    path = lab.skia("a.json", A, sort=1.5)
    lab.take(path)
    summary = lab.take(path)
    assert (summary.changed, summary.files[0].state) == (False, ImportState.UNCHANGED)
    assert "nothing new, its run is already imported" in summary.lines()[0]


def test_a_copy_of_a_file_changes_nothing(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1.5))
    assert not lab.take(lab.skia("copy.json", A, sort=1.5)).changed


def test_a_correction_replaces_its_points_and_says_what_changed(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1.5, parse=2))
    summary = lab.take(lab.skia("a.json", A, sort=1.25, parse=2))
    assert (summary.files[0].corrected, lab.values()) == (1, {A: {"sort": 1.25, "parse": 2}})
    assert summary.lines()[1] == f"  changed: {A[:12]} benchmark=sort unit=ms: 1.5 → 1.25 ms"


def test_a_file_that_goes_back_to_its_former_content_is_corrected_back(lab: Lab) -> None:
    for value in (1.5, 1.25, 1.5):
        lab.take(lab.skia("a.json", A, sort=value))
    assert lab.values() == {A: {"sort": 1.5}}


def test_another_run_of_the_same_commit_joins(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1))
    summary = lab.take(lab.skia("b.json", A, sort=3))
    assert (summary.files[0].rerun, lab.values()) == (1, {A: {"sort": 2}})


def test_the_next_commit_under_the_same_name_is_another_run(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1))
    lab.take(lab.skia("a.json", B, sort=3))
    assert lab.values() == {A: {"sort": 1}, B: {"sort": 3}}


def test_a_packed_file_is_read(lab: Lab) -> None:
    plain = lab.skia("a.json", A, sort=1)
    lab.take(lab.write("folder/a.json.gz", gzip.compress(plain.read_bytes())).parent)
    assert lab.values() == {A: {"sort": 1}}


def test_a_whole_history_comes_in_with_its_order(lab: Lab) -> None:
    summary = lab.take(lab.write("data.js", history((A, 3, 10), (B, 1, 11), (C, 2, 12))))
    assert summary.files[0].new == 3
    assert lab.values("o/r") == {B: {"sort": 11}, C: {"sort": 12}, A: {"sort": 10}}


def test_a_history_that_grew_brings_in_what_is_new(lab: Lab) -> None:
    lab.take(lab.write("data.js", history((A, 1, 10))))
    summary = lab.take(lab.write("data.js", history((A, 1, 10), (B, 2, 11))))
    assert (summary.files[0].new, summary.files[0].same) == (1, 1)


def test_a_history_from_elsewhere_is_the_same_history(lab: Lab) -> None:
    lab.take(lab.write("data.js", history((A, 1, 10))))
    summary = lab.take(lab.write("new/data.js", history((A, 1, 10), (B, 2, 11))))
    assert (summary.files[0].new, summary.files[0].same, summary.files[0].rerun) == (1, 1, 0)


def test_a_truncated_file_imports_nothing_and_says_where_it_ends(lab: Lab) -> None:
    text = history((A, 1, 10), (B, 2, 11))
    summary = lab.take(lab.write("data.js", text[: len(text) // 2]))
    assert summary.files[0].state is ImportState.REFUSED
    assert "line 1" in summary.lines()[0]
    assert lab.instance.store.commits.repositories() == []


@pytest.mark.parametrize("value", ['"fast"', "NaN", "1e400", "null", "true"])
def test_a_history_with_one_odd_value_comes_in_with_a_failure_there(lab: Lab, value: str) -> None:
    text = history((A, 1, 10), (B, 2, 987654321))
    (file,) = lab.take(lab.write("data.js", text.replace("987654321", value))).files
    assert (file.state, file.new, file.points, file.failed) == (ImportState.IMPORTED, 2, 1, 1)
    assert lab.values(repository="o/r") == {A: {"sort": 10}, B: {}}
    (warning,) = [problem for problem in file.problems if "failed" in problem.message]
    assert warning.message.startswith("1 result failed: benchmark=")
    assert "entries." in warning.message


def test_a_history_with_a_list_in_place_of_a_value_imports_nothing(lab: Lab) -> None:
    text = history((A, 1, 10), (B, 2, 987654321))
    summary = lab.take(lab.write("data.js", text.replace("987654321", "[1]")))
    assert summary.files[0].state is ImportState.REFUSED
    assert lab.instance.store.commits.repositories() == []


def _times(*seconds: float) -> str:
    """Write what hyperfine exported, one document after the other: a time each."""
    import json

    results = [{"command": "sort", "mean": second, "times": [second]} for second in seconds]
    return "\n".join(json.dumps({"results": [result]}, indent=2) for result in results) + "\n"


def test_documents_appended_to_one_file_are_runs_of_their_own(lab: Lab) -> None:
    (file,) = lab.take(lab.write("runs.json", _times(1, 2, 6)), revision=A).files
    assert (file.new, file.rerun) == (1, 2)
    assert lab.values() == {A: {"sort": 2}}


def test_a_document_appended_later_adds_its_run_and_leaves_the_others(lab: Lab) -> None:
    lab.take(lab.write("runs.json", _times(1)), revision=A)
    (file,) = lab.take(lab.write("runs.json", _times(1, 3)), revision=A).files
    assert (file.same, file.rerun, file.corrected) == (1, 1, 0)
    assert lab.values() == {A: {"sort": 2}}


def test_a_table_that_grows_by_a_commit_adds_that_run_and_leaves_the_others(lab: Lab) -> None:
    text = "commit,benchmark,value\n"
    for commit, value, same in ((A, 1.5, 0), (B, 2.5, 1), (C, 3.5, 2)):
        text += f"{commit},sort,{value}\n"
        (file,) = lab.take(lab.write("grows.csv", text)).files
        assert (file.new, file.same, file.rerun, file.corrected) == (1, same, 0, 0)
    assert lab.values() == {A: {"sort": 1.5}, B: {"sort": 2.5}, C: {"sort": 3.5}}


def test_a_correction_of_the_first_run_of_a_table_that_grew_replaces_it(lab: Lab) -> None:
    lab.take(lab.write("grows.csv", f"commit,benchmark,value\n{A},sort,1\n"))
    (file,) = lab.take(lab.write("grows.csv", f"commit,benchmark,value\n{A},sort,2\n{B},sort,3\n")).files
    assert (file.new, file.corrected, file.rerun) == (1, 1, 0)
    assert lab.values() == {A: {"sort": 2}, B: {"sort": 3}}


def test_a_document_that_breaks_off_keeps_the_whole_file_out(lab: Lab) -> None:
    (file,) = lab.take(lab.write("runs.json", _times(1, 2)[:-9]), revision=A).files
    assert file.state is ImportState.REFUSED
    assert "truncated JSON" in file.lines()[0]
    assert lab.instance.store.commits.repositories() == []


def test_a_refused_file_leaves_the_others_alone(lab: Lab) -> None:
    summary = lab.take(lab.write("bad.json", "{"), lab.skia("good.json", A, sort=1))
    assert [file.state for file in summary.files] == [ImportState.REFUSED, ImportState.IMPORTED]
    assert summary.failed


def test_a_refused_file_is_kept_in_quarantine_with_its_reason(lab: Lab) -> None:
    lab.take(lab.write("bad.json", "{"))
    (refused,) = lab.instance.store.ledger.quarantined()
    assert refused.source == str(lab.directory / "bad.json")
    assert refused.problems[0].message


def test_a_refused_file_that_was_repaired_leaves_quarantine(lab: Lab) -> None:
    lab.take(lab.write("a.json", "{"))
    lab.take(lab.skia("a.json", A, sort=1))
    assert lab.instance.store.ledger.quarantined() == []


def test_quarantine_forgets_the_oldest(lab: Lab) -> None:
    lab.configure("[ingest]\nquarantine_files = 2\n")
    for name in ("1", "2", "3"):
        lab.take(lab.write(f"{name}.json", "{" + name))
    assert [Path(held.source).stem for held in lab.instance.store.ledger.quarantined()] == ["2", "3"]


def test_results_without_a_commit_ask_for_one(lab: Lab) -> None:
    path = lab.write("a.csv", "benchmark,value,unit\nsort,1,ms\n")
    summary = lab.take(path)
    assert "--commit" in summary.lines()[0]
    assert not lab.take(path, revision=A).failed
    assert lab.values() == {A: {"sort": 1}}


def test_a_commit_for_a_history_of_several_is_refused(lab: Lab) -> None:
    summary = lab.take(lab.write("data.js", history((A, 1, 10), (B, 2, 11))), revision=C)
    assert "results of 2 commits" in summary.lines()[0]


def test_a_missing_file_is_one_clear_line(lab: Lab) -> None:
    summary = lab.take(lab.directory / "nowhere.json")
    assert summary.failed
    assert summary.lines() == [
        f"{lab.directory}/nowhere.json: not read: there is no such file or folder. Correct the name."
    ]


def test_an_unreadable_folder_is_one_clear_line(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lab.skia("folder/a.json", A, sort=1).parent

    def refuse(path: str | os.PathLike[str]) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    summary = lab.take(folder)
    assert summary.failed
    assert summary.lines()[0] == f"{folder}: not read: permission denied. Grant read access to it."


def test_a_named_file_without_results_is_refused_and_taken_where_it_may_hold_nothing(lab: Lab) -> None:
    path = lab.directory / "empty.csv"
    path.write_text("benchmark,value,unit\n", encoding="utf-8")
    summary = lab.take(path)
    assert summary.failed
    assert summary.lines()[0].startswith(f"{path}: refused: the file holds no results. Check whether")
    taken = lab.take(path, allow_empty=True)
    assert not taken.failed
    assert taken.lines()[0] == f"{path}: nothing imported, it has no run"


def test_a_hash_that_a_spreadsheet_rounded_is_refused_by_name(lab: Lab) -> None:
    path = lab.directory / "sheet.csv"
    path.write_text("commit,time,benchmark,unit,value\n1.23E+10,1700000000,a,ms,1\n", encoding="utf-8")
    summary = lab.take(path)
    assert summary.failed
    assert "the commit '1.23E+10' is a number that a spreadsheet made of a hash" in summary.lines()[0]


def test_a_row_without_a_commit_among_others_is_refused_and_not_taken_for_head(lab: Lab) -> None:
    path = lab.directory / "rows.csv"
    path.write_text(f"commit,time,benchmark,unit,value\n{A},1700000000,a,ms,1\n,1700000000,b,ms,2\n", encoding="utf-8")
    summary = lab.take(path)
    assert summary.failed
    assert "1 run of the file names no commit, and others do" in summary.lines()[0]


def test_a_file_without_results_in_a_folder_is_no_failure(lab: Lab) -> None:
    folder = lab.directory / "folder"
    folder.mkdir()
    (folder / "empty.csv").write_text("benchmark,value,unit\n", encoding="utf-8")
    assert not lab.take(folder).failed


def test_an_empty_file_is_refused(lab: Lab) -> None:
    assert "the file is empty" in lab.take(lab.write("a.json", "")).lines()[0]


def test_a_pipe_is_not_waited_for(lab: Lab) -> None:
    os.mkfifo(lab.directory / "pipe.json")
    assert "neither a file nor a folder" in lab.take(lab.directory / "pipe.json").lines()[0]


def test_what_comes_through_standard_input_is_a_run_of_its_own_and_comes_in_once(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pipe(value: float) -> ImportSummary:
        content = f"benchmark,unit,value\nsort,ms,{value}\n".encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return lab.take(Path("-"), revision=A)

    assert not pipe(1).failed
    assert not pipe(1).changed
    assert (pipe(3).files[0].rerun, lab.values()) == (1, {A: {"sort": 2}})


def test_a_pipe_of_the_shell_is_read(lab: Lab) -> None:
    receiver, sender = os.pipe()
    os.write(sender, b"benchmark,unit,value\nsort,ms,3\n")
    os.close(sender)
    assert not lab.take(Path(f"/dev/fd/{receiver}"), revision=A).failed
    os.close(receiver)
    assert lab.values() == {A: {"sort": 3}}


def test_an_import_says_how_many_rows_of_which_benchmarks_became_samples(lab: Lab) -> None:
    rows = "".join(f"{A},{name},{rep},ms,{rep}\n" for name, most in (("sort", 3), ("parse", 4)) for rep in range(most))
    text = f"commit,benchmark,rep,unit,value\n{rows}{A},once,0,ms,1\n"
    assert (
        "; 7 rows became samples of 2 points (4 of parse, 3 of sort)" in lab.take(lab.write("a.csv", text)).lines()[0]
    )
    assert "rows" not in lab.take(lab.write("b.csv", text.replace(A, B).replace("rep,", "r,"))).lines()[0]


def test_entries_of_one_name_in_a_document_are_named_as_samples(lab: Lab) -> None:
    entries = [
        {"fullname": name, "stats": {"data": [time]}} for name, time in (("t.py::a", 1), ("t.py::b", 2), ("t.py::a", 9))
    ]
    path = lab.write("a.json", {"machine_info": {}, "benchmarks": entries})
    summary = lab.take(path, revision=A, time=datetime(2026, 1, 1, tzinfo=UTC))
    assert "; 2 rows became samples of 1 point (2 of t.py::a)" in summary.lines()[0]


def test_a_file_that_is_too_large_is_refused(lab: Lab) -> None:
    lab.configure("[ingest]\nlargest_megabytes = 1\n")
    summary = lab.take(lab.write("a.json", b" " * 1_000_001))
    assert "more than 1 MB" in summary.lines()[0]


def test_folders_are_searched_for_results_only(lab: Lab) -> None:
    lab.skia("folder/b/two.json", B, sort=2)
    lab.skia("folder/one.json", A, sort=1)
    lab.write("folder/README.md", "Read me")
    lab.write("folder/.hidden/three.json", "{")
    summary = lab.take(lab.directory / "folder")
    assert (len(summary.files), len(summary.ignored)) == (2, 1)
    total = "2 files: 2 imported (2 new runs, 2 points, 1 new trace)"
    assert summary.lines()[-2:] == [total, "1 file of other kinds ignored"]


def test_of_many_files_those_that_are_plain_have_no_line_and_equal_refusals_share_one(lab: Lab) -> None:
    for number in range(9):
        lab.skia(f"folder/{number}.json", A, **{f"sort{number}": 1})
    bad = [lab.write(f"folder/x{number}.csv", "benchmark,value\nparse,1\n") for number in range(4)]
    summary = lab.take(lab.directory / "folder")
    shared, *remarks, total = summary.lines()
    assert shared.startswith(f"4 files ({bad[0]}, {bad[1]}, {bad[2]} …): refused: ")
    assert not any("imported into" in line for line in remarks)
    assert total == "13 files: 9 imported, 4 refused (9 new runs, 9 points, 9 new traces)"
    assert len([line for line in summary.lines(every_file=True) if line.startswith(str(lab.directory))]) == 13


def test_a_dry_run_tells_everything_and_keeps_nothing(lab: Lab) -> None:
    paths = [lab.skia("a.json", A, sort=1), lab.write("bad.json", "{")]
    summary = lab.take(*paths, dry_run=True)
    assert [file.state for file in summary.files] == [ImportState.IMPORTED, ImportState.REFUSED]
    assert summary.lines()[-1] == "dry run: nothing was stored"
    store = lab.instance.store
    assert (store.commits.repositories(), store.ledger.files(), store.ledger.quarantined()) == ([], [], [])


def test_params_from_outside_join_every_result(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1), params={"machine": "m1"})
    (trace,) = lab.instance.store.traces.find(
        lab.instance.store.commits.repository("main"), ",benchmark=sort,machine=m1,unit=ms,"
    )
    assert trace.unit == "ms"


def test_the_same_file_from_two_machines_is_two_runs(lab: Lab) -> None:
    path = lab.skia("a.json", A, sort=1)
    lab.take(path, params={"machine": "m1"})
    assert lab.take(path, params={"machine": "m2"}).files[0].new_traces == 1


def test_volatile_params_are_dropped_with_a_warning(lab: Lab) -> None:
    lab.configure('[ingest]\ndrop_params = ["pid"]\n')
    summary = lab.take(lab.write("a.csv", f"commit,benchmark,pid,value\n{A},sort,17,1\n{B},sort,18,2\n"))
    assert lab.values() == {A: {"sort": 1}, B: {"sort": 2}}
    assert "  the volatile param 'pid' was dropped" in summary.lines()


def test_refused_params_refuse_the_file(lab: Lab) -> None:
    lab.configure('[ingest]\nrefuse_params = ["pid"]\n')
    summary = lab.take(lab.write("a.csv", f"commit,benchmark,pid,value\n{A},sort,17,1\n"))
    assert summary.files[0].state is ImportState.REFUSED


def test_params_that_look_volatile_are_named(lab: Lab) -> None:
    summary = lab.take(lab.write("a.csv", f"commit,benchmark,started,value\n{A},sort,1767225600,1\n"))
    assert any("'started' looks as if it changed with every run" in line for line in summary.lines())


def test_a_column_that_differs_at_each_commit_is_named(lab: Lab) -> None:
    rows = "".join(f"{number:07x}ab,2026-01-0{number},{number}\n" for number in range(1, 6))
    summary = lab.take(lab.write("a.csv", f"commit,when,latency_ms\n{rows}"), order=CommitOrder.GIVEN)
    assert any("'when' looks as if it changed with every run" in line for line in summary.lines())


def test_a_renamed_benchmark_keeps_its_history(lab: Lab) -> None:
    lab.configure('[[ingest.renames]]\nold = { benchmark = "sort" }\nnew = { benchmark = "quicksort" }\n')
    lab.take(lab.skia("a.json", A, sort=1), lab.skia("b.json", B, quicksort=2))
    assert lab.values() == {A: {"quicksort": 1}, B: {"quicksort": 2}}


def test_a_rename_that_is_configured_later_joins_what_is_imported_again(lab: Lab) -> None:
    paths = [lab.skia("a.json", A, sort=1), lab.write("data.js", history((B, 1, 10)))]
    lab.take(*paths)
    lab.configure('[[ingest.renames]]\nold = { benchmark = "sort" }\nnew = { benchmark = "quicksort" }\n')
    summary = lab.take(*paths)
    assert [file.corrected for file in summary.files] == [1, 1]
    assert lab.values() == {A: {"quicksort": 1}}
    assert lab.values("o/r") == {B: {"quicksort": 10}}


def test_every_file_is_noted(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1))
    entry = lab.instance.store.ledger.latest(str(lab.directory / "a.json"))
    assert entry is not None
    assert (entry.state, entry.format, entry.runs) == (FileState.STORED, "skia", 1)


def test_progress_counts_files(lab: Lab) -> None:
    calls: list[tuple[int, int]] = []
    lab.take(
        lab.skia("a.json", A, sort=1),
        lab.skia("b.json", B, sort=1),
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(0, 2), (1, 2), (2, 2)]


def rates(lab: Lab, name: str, *units: str) -> Path:
    """Write a file with a benchmark for each unit."""
    rows = [f"{A},b{number},{unit},1" for number, unit in enumerate(units)]
    return lab.write(name, "\n".join(["commit,benchmark,unit,value", *rows]) + "\n")


def test_new_traces_without_a_direction_are_counted_by_unit_in_one_line_of_the_import(lab: Lab) -> None:
    files = [rates(lab, "a.csv", "widgets/s", "ms", "widgets/s"), rates(lab, "b.csv", "errors/s", "", "", "", "score")]
    summary = lab.take(*files)
    assert [dict(file.without_direction) for file in summary.files] == [{"widgets/s": 2}, {"": 3, "score": 1}]
    (line,) = [line for line in summary.lines() if "direction" in line]
    assert line.startswith("6 new traces have no direction (3 without a unit, 2 in widgets/s, 1 in score)")
    assert "[directions.NAME]" in line


def test_traces_that_were_there_are_not_counted_again(lab: Lab) -> None:
    lab.take(rates(lab, "a.csv", "widgets/s"))
    again = lab.take(rates(lab, "b.csv", "widgets/s", "ms"))
    assert (again.files[0].new_traces, again.remarks) == (1, ())


def test_a_dry_run_counts_traces_without_a_direction(lab: Lab) -> None:
    path = rates(lab, "a.csv", "widgets/s")
    assert dict(lab.take(path, dry_run=True).files[0].without_direction) == {"widgets/s": 1}
    assert dict(lab.take(path).files[0].without_direction) == {"widgets/s": 1}


@pytest.mark.parametrize("better", ["lower", "none"])
def test_a_trace_that_a_section_decides_about_is_not_counted(lab: Lab, better: str) -> None:
    lab.configure(f'[directions.a]\nquery = "benchmark=b0"\nbetter = "{better}"\n')
    assert lab.take(rates(lab, "a.csv", "widgets/s")).remarks == ()
