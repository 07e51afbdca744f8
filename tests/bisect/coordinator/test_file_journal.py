"""The journal of a search in a file: whatever a kill leaves of it, finished probes are there once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.bisect.coordinator import FileJournal, JournalEntry
from knickpoint.bisect.search.problem import PlannedProbe
from knickpoint.model.bisection import Measured, ProbeOutcome, ProbePurpose, ProbeResult, ResultsFile, Target
from knickpoint.model.errors import InputError

_ABOUT = {"good": "a" * 40, "trace": ",b=ü,"}
_TARGET = Target("c" * 40, (("other", "d" * 40),))


def _result(probe: str, value: float) -> ProbeResult:
    return ProbeResult(
        probe,
        _TARGET,
        "one",
        ProbeOutcome.MEASURED,
        datetime(2026, 1, 2, tzinfo=UTC),
        1.5,
        {",b=ü,": Measured(value, (value, 2.0), "ms")},
        (ResultsFile("out.json", b"\0\xff"),),
        output="line\nline\u2028",
    )


def _written(path: Path) -> tuple[JournalEntry, ...]:
    """Write a journal with three probes: one ended, one dropped, one under way."""
    with FileJournal(path, _ABOUT, resume=False) as journal:
        for number in (1, 2, 3):
            journal.begin(f"S-{number}", PlannedProbe(number, "one", ProbePurpose.END), _TARGET)
        journal.record(_result("S-1", 10.0))
        journal.record(_result("S-1", 99.0))
        journal.drop("S-2")
        journal.log("a line")
        return tuple(journal.load())


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    written = _written(tmp_path / "journal.jsonl")
    with FileJournal(tmp_path / "journal.jsonl", _ABOUT, resume=True) as journal:
        assert tuple(journal.load()) == written
    first, last = written
    assert first.result is not None
    assert first.result.measured[",b=ü,"].value == 10.0
    assert (last.probe, last.result) == ("S-3", None)


@settings(max_examples=25)
@given(cut=st.integers(min_value=0), tail=st.binary(max_size=20))
def test_a_torn_last_line_loses_no_line_before_it(
    tmp_path_factory: pytest.TempPathFactory, cut: int, tail: bytes
) -> None:
    path = tmp_path_factory.mktemp("torn") / "journal.jsonl"
    _written(path)
    data = path.read_bytes()
    kept = data[: cut % (len(data) + 1)]
    path.write_bytes(kept + tail.replace(b"\n", b""))
    with FileJournal(path, _ABOUT, resume=True) as journal:
        results = [entry.probe for entry in journal.load() if entry.result is not None]
        journal.log("goes on")
    assert results == (["S-1"] if b'{"result"' in kept.rpartition(b"\n")[0] else [])
    with FileJournal(path, _ABOUT, resume=True) as journal:
        assert [entry.probe for entry in journal.load() if entry.result is not None] == results


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with (
        FileJournal(path, _ABOUT, resume=False),
        pytest.raises(InputError, match="another process runs this bisection"),
    ):
        FileJournal(path, _ABOUT, resume=True)


def test_the_journal_of_another_search_is_not_resumed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _written(path)
    with pytest.raises(InputError, match="line 1: the journal cannot be resumed: it belongs to another search"):
        FileJournal(path, {**_ABOUT, "trace": ""}, resume=True)


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _written(path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"\x00garbage", *lines[2:]]))
    with pytest.raises(InputError, match=r"journal.jsonl, line 2: the journal cannot be resumed"):
        FileJournal(path, _ABOUT, resume=True)


def test_a_new_search_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _written(path)
    with FileJournal(path, _ABOUT, resume=False) as journal:
        assert journal.load() == ()
