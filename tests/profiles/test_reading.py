"""Profiles of each format: their costs, what is refused with its place, and what is cut with a word."""

from __future__ import annotations

import gzip
import json
import marshal
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles.made import field, folded, own, pprof, total

from knickpoint.model.errors import FormatError
from knickpoint.profiles import (
    Profile,
    ProfileBuilder,
    ValueKind,
    is_library_file,
    pack_profile,
    profile,
    read_profile,
    unpack_profile,
)

_STACKS = st.lists(
    st.tuples(st.lists(st.sampled_from(["main", "parse", "row", "sort"]), min_size=1, max_size=6), st.integers(1, 999)),
    min_size=1,
    max_size=20,
)


def _expected(stacks: list[tuple[list[str], int]]) -> tuple[Counter[str], Counter[str]]:
    """Return own and total costs, counted stack by stack."""
    alone: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for stack, cost in stacks:
        alone[stack[-1]] += cost
        within.update(dict.fromkeys(stack, cost))
    return alone, within


def _check(found: Profile, stacks: list[tuple[list[str], int]]) -> None:
    alone, within = _expected(stacks)
    assert own(found) == {name: alone[name] for name in found.names}
    assert total(found) == dict(within)


@given(_STACKS)
def test_folded_stacks_cost_what_their_lines_say_and_recursion_counts_once(stacks: list[tuple[list[str], int]]) -> None:
    found = read_profile(folded(stacks))
    _check(found, stacks)
    assert (found.kind, found.unit, found.samples) == (ValueKind.COUNT, "samples", sum(cost for _, cost in stacks))


@given(_STACKS)
def test_pprof_has_the_same_costs_as_the_stacks_that_it_was_made_of(stacks: list[tuple[list[str], int]]) -> None:
    found = read_profile(gzip.compress(pprof(stacks)))
    assert (found.kind, found.unit, found.format) == (ValueKind.TIME, "s", "pprof")
    alone, within = _expected(stacks)
    assert own(found) == pytest.approx({name: alone[name] / 1e9 for name in found.names})
    assert total(found) == pytest.approx({name: within[name] / 1e9 for name in found.names})


def test_pprof_that_the_library_of_protobuf_wrote_is_read() -> None:
    """Describe a part of profile.proto, and let its own library write the message."""
    descriptors = pytest.importorskip("google.protobuf.descriptor_pb2")
    pool = pytest.importorskip("google.protobuf.descriptor_pool").DescriptorPool()
    factory = pytest.importorskip("google.protobuf.message_factory")
    fields = {
        "ValueType": [("type", 1, "int64"), ("unit", 2, "int64")],
        "Sample": [("location_id", 1, "*uint64"), ("value", 2, "*int64")],
        "Line": [("function_id", 1, "uint64"), ("line", 2, "int64")],
        "Location": [("id", 1, "uint64"), ("address", 3, "uint64"), ("line", 4, "*Line")],
        "Function": [("id", 1, "uint64"), ("name", 2, "int64"), ("filename", 4, "int64"), ("start_line", 5, "int64")],
        "Profile": [
            ("sample_type", 1, "*ValueType"), ("sample", 2, "*Sample"), ("location", 4, "*Location"),
            ("function", 5, "*Function"), ("string_table", 6, "*string"), ("time_nanos", 9, "int64"),
            ("default_sample_type", 14, "int64"),
        ],
    }  # fmt: skip
    file = descriptors.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for message, parts in fields.items():
        described = file.message_type.add(name=message)
        for name, number, kind in parts:
            plain = kind.lstrip("*")
            code = {"int64": 3, "uint64": 4, "string": 9}.get(plain, 11)
            described.field.add(
                name=name, number=number, type=code, label=3 if kind != plain else 1,
                type_name=f".pprof.{plain}" if code == 11 else None,
            )  # fmt: skip
    pool.Add(file)
    written = factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))(
        string_table=["", "samples", "count", "cpu", "nanoseconds", "main", "a.go", "inlined", "leaf"],
        sample_type=[{"type": 1, "unit": 2}, {"type": 3, "unit": 4}],
        default_sample_type=3,
        time_nanos=1,
        function=[{"id": 7, "name": 5, "filename": 6, "start_line": 3}, {"id": 8, "name": 7}, {"id": 9, "name": 8}],
        location=[
            {"id": 300, "line": [{"function_id": 8}, {"function_id": 7}]},
            {"id": 2, "line": [{"function_id": 9}]},
            {"id": 3, "address": 4096},
        ],
        sample=[
            {"location_id": [2, 300], "value": [2, 20_000_000]},
            {"location_id": [300], "value": [1, 10_000_000]},
            {"location_id": [3, 300], "value": [1, 10_000_000]},
        ],
    )
    found = read_profile(gzip.compress(written.SerializeToString()), "cpu.pb.gz")
    assert own(found) == pytest.approx({"main": 0, "inlined": 0.01, "leaf": 0.02, "0x1000": 0.01})
    assert total(found) == pytest.approx({"main": 0.04, "inlined": 0.04, "leaf": 0.02, "0x1000": 0.01})
    assert (found.samples, found.files[0], int(found.lines[0])) == (4, "a.go", 3)


@given(_STACKS)
def test_speedscope_has_the_same_costs_as_the_stacks_that_it_was_made_of(stacks: list[tuple[list[str], int]]) -> None:
    names = sorted({name for stack, _ in stacks for name in stack})
    document = {
        "shared": {"frames": [{"name": name} for name in names]},
        "profiles": [
            {
                "type": "sampled",
                "unit": "none",
                "samples": [[names.index(name) for name in stack] for stack, _ in stacks],
                "weights": [cost for _, cost in stacks],
            }
        ],
    }
    found = read_profile(json.dumps(document).encode())
    alone, within = _expected(stacks)
    assert own(found) == {name: alone[name] for name in names}
    assert total(found) == {name: within[name] for name in names}


@given(_STACKS)
def test_a_stack_stands_before_those_that_begin_with_it(stacks: list[tuple[list[str], int]]) -> None:
    found = read_profile(folded(stacks))
    assert (found.parents < np.arange(len(found.parents))).all()
    depths = [0] * len(found.parents)
    for place, parent in enumerate(found.parents.tolist()):
        depths[place] = depths[parent] + 1 if parent >= 0 else 0
        assert parent == -1 if not place else depths[place] <= depths[place - 1] + 1
    assert found.subtotals[found.parents < 0].sum() == found.total


def test_events_that_open_and_close_frames_cost_the_time_between_them() -> None:
    events = [("O", 0, 0), ("O", 1, 2), ("C", 1, 5), ("C", 0, 6)]
    document = {
        "shared": {"frames": [{"name": "main"}, {"name": "parse"}]},
        "profiles": [
            {
                "type": "evented",
                "unit": "milliseconds",
                "startValue": 0,
                "endValue": 6,
                "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events],
            }
        ],
    }
    found = read_profile(json.dumps(document).encode())
    assert own(found) == pytest.approx({"main": 0.003, "parse": 0.003})


def _cpuprofile(**other: object) -> dict[str, object]:
    def node(id_: int, name: str, children: list[int]) -> dict[str, object]:
        call = {"functionName": name, "url": "file:///a.js", "lineNumber": 4, "columnNumber": 0}
        return {"id": id_, "callFrame": call, "hitCount": 1, "children": children}

    nodes = [node(1, "(root)", [2, 4]), node(2, "main", [3]), node(3, "parse", []), node(4, "(idle)", [])]
    usual = {"nodes": nodes, "startTime": 0, "endTime": 1000, "samples": [2, 3, 4], "timeDeltas": [100, 200, 300]}
    return {**usual, **other}


def test_a_sample_of_v8_lasts_until_the_next_one_and_idle_time_is_left_out() -> None:
    found = read_profile(json.dumps(_cpuprofile()).encode())
    assert own(found) == pytest.approx({"(root)": 0, "main": 200e-6, "parse": 300e-6, "(idle)": 0})
    assert found.lines.tolist() == [5, 5, 5, 5]
    assert found.notes == ("idle time was left out: 0.0004 s",)
    counted = read_profile(json.dumps(_cpuprofile()).encode(), value="samples")
    assert own(counted) == {"(root)": 0, "main": 1, "parse": 1, "(idle)": 0}
    assert (counted.kind, counted.samples) == (ValueKind.COUNT, 3)


_THREAD: dict[str, object] = {
    "samples": {"stack": [1, None, 0], "weight": None, "weightType": "samples"},
    "stackTable": {"frame": [0, 1], "prefix": [None, 0]},
    "frameTable": {"func": [0, 1]},
    "funcTable": {"name": [0, 1], "fileName": [2, None], "lineNumber": [3, None]},
    "stringArray": ["main", "parse", "a.rs"],
}


def test_the_samples_of_all_threads_of_the_firefox_profiler_count() -> None:
    document = {"meta": {"interval": 2}, "libs": [], "threads": [_THREAD, _THREAD]}
    found = read_profile(json.dumps(document).encode())
    assert own(found) == pytest.approx({"main": 0.004, "parse": 0.004})
    assert (found.files, found.lines.tolist()) == (("a.rs", ""), [3, 0])


def test_threads_of_the_firefox_profiler_may_share_their_tables() -> None:
    shared = {name: table for name, table in _THREAD.items() if name != "samples"}
    shared["funcTable"] = {"name": [0, 1], "source": [0, None], "lineNumber": [3, None]}
    shared["sources"] = {"id": [None], "filename": [2]}
    document = {"meta": {"interval": 2}, "shared": shared, "threads": [{"samples": _THREAD["samples"]}]}
    found = read_profile(json.dumps(document).encode())
    assert own(found) == pytest.approx({"main": 0.002, "parse": 0.002})
    assert (found.files, found.lines.tolist()) == (("a.rs", ""), [3, 0])


_CALLGRIND = """# callgrind format
version: 1
creator: test
positions: line
events: Ir Dr

fl=(1) a.c
fn=(1) main
10 5 1
cfn=(2) fib
calls=1 20
+2 100
fn=(2)
20 60
cfn=(3) fib'2
calls=2 20
* 70
fn=(3)
-1 40 4

totals: 105
"""


def test_callgrind_names_positions_and_calls_are_read_and_recursion_counts_once() -> None:
    found = read_profile(_CALLGRIND.encode())
    assert own(found) == {"main": 5, "fib": 100}
    assert total(found) == {"main": 105, "fib": 100}
    assert (found.kind, found.files) == (ValueKind.INSTRUCTIONS, ("a.c", "a.c"))
    assert own(read_profile(_CALLGRIND.replace("totals: 105", "").encode(), value="Dr")) == {"main": 1, "fib": 4}


def test_functions_that_call_each_other_cost_together_what_comes_into_their_circle() -> None:
    text = "events: Ir\nfn=main\n1 1\ncfn=even\ncalls=1 1\n1 30\nfn=even\n1 10\ncfn=odd\ncalls=5 1\n1 90\nfn=odd\n1 20\ncfn=even\ncalls=4 1\n1 80\n"
    assert total(read_profile(text.encode())) == {"main": 31, "even": 30, "odd": 30}


def test_frames_of_py_spy_have_files_and_no_numbers_of_processes() -> None:
    data = b'# a comment\nprocess 12:"python a.py";thread (0x7F);<module> (/x/a.py:9);parse (/x/a.py:4) 3\n<module> (/x/a.py:8) 1\n 2\n'
    found = read_profile(data)
    assert found.names == ("<module>", "parse", "(no stack)")
    assert found.files == ("/x/a.py", "/x/a.py", "")


def test_one_value_of_several_is_read_and_the_others_are_named() -> None:
    data = pprof([(["main"], 5)], types=(("alloc_objects", "count"), ("alloc_space", "bytes")))
    assert (read_profile(data).kind, read_profile(data).unit) == (ValueKind.BYTES, "B")
    assert read_profile(data, value="alloc_objects").kind is ValueKind.ALLOCATIONS
    assert read_profile(data).notes == ("only the value alloc_space was read, of alloc_objects, alloc_space",)
    with pytest.raises(FormatError, match=r"no value 'cpu' in the profile. Choose one of: alloc_objects, alloc_space"):
        read_profile(data, value="cpu")


# What is refused, and where.


def _nested(levels: int) -> bytes:
    inner: object = 1
    for _ in range(levels):
        inner = (inner, inner)
    return marshal.dumps({("f", 1, "f"): inner})


_CYCLE = [
    {"id": 1, "callFrame": {"functionName": "a"}, "children": [2]},
    {"id": 2, "callFrame": {"functionName": "b"}, "children": [1]},
]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a profile in a known format. These are read: folded stacks"),
        (b"hello\n", "not a profile in a known format"),
        (b"a;b 1\na;c x\na 2\n", "not a profile in a known format"),
        (b"a;b 1\n" * 60 + b"a;c x\n", "p, line 61: expected frames and a number, got 'a;c x'"),
        (b"a;b 0\n", "p: no cost is recorded"),
        (b"a;b 1e999\n", "p, line 1: expected a cost of 0 or more, got inf"),
        (b'{"a": 1}', "not a profile in a known format"),
        (b"[" * 100_000, "not a profile in a known format"),
        (b'{"nodes":' + b"[" * 100_000, "p: the JSON is nested too deeply"),
        (json.dumps(_cpuprofile(samples=[2, 9, 4])).encode(), r"p.samples[1]: expected the id of a node, got 9"),
        (json.dumps(_cpuprofile(timeDeltas=[1])).encode(), "p.timeDeltas: expected 3 times, one a sample"),
        (json.dumps(_cpuprofile(nodes=_CYCLE)).encode(), "p.nodes[0]: expected a tree; this node is in a cycle"),
        (json.dumps(_cpuprofile(nodes=[{"id": [1]}])).encode(), "p.nodes[0].id: expected a whole number, got a list"),
        (json.dumps({"shared": {"frames": []}, "profiles": [{"samples": [[0]], "weights": [1]}]}).encode(), "expected an index below 0, got 0"),
        (_CALLGRIND.replace("+2 100", "x 100").encode(), "p, line 12: line not understood"),
        (_CALLGRIND.replace("totals: 105", "totals: 205").encode(), "p: truncated: the costs are 105, and the file says 205"),
        (pprof([(["main"], 5)])[:-3], "p: truncated or damaged pprof data"),
        (pprof([(["main"], -5)]), "p, sample 1: expected a cost of 0 or more, got -5"),
        (field(1, field(1, 1) + field(2, 2)) + b"\x12\xff\xff\xff\xff\x7f", "p: truncated or damaged pprof data"),
        (marshal.dumps({("f", 1, "f"): (1, 1, 0.5, 0.5, {})})[:-4], "p: truncated or damaged"),
        (marshal.dumps({("f", 1, "f"): (1, 1, 0.5, 0.5, {})}) + b"x", "p: extra content after the statistics"),
        (marshal.dumps({("f", 1, "f"): (lambda: 1).__code__}), "p: there is an object of type 'c', which no profile has"),
        (marshal.dumps({("f", 1, "f"): (1, 1, None, 0.5, {})}), "p: there is an object of type 'N'"),
        (marshal.dumps({("f", 1, "f"): (1, 1)}), "p: this is marshalled data, and not statistics of cProfile"),
        (_nested(40), "p: nested too deeply"),
        (b"{(\xff\xff\xff\x7f", "p: truncated data"),
        (gzip.compress(b"a;b 1\n", mtime=0)[:-6], "p: truncated gzip data"),
    ],
)  # fmt: skip
def test_what_is_broken_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        read_profile(data, "p")


def test_a_profile_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from knickpoint.formats.toolbox.file_content import ReadingLimits
    from knickpoint.profiles import reading

    monkeypatch.setattr(reading, "_LIMITS", ReadingLimits(unpacked=1000))
    with pytest.raises(FormatError, match="unpacks to more than 1,000 bytes"):
        read_profile(gzip.compress(b"a;b 1\n" * 1000))


def test_more_stacks_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "MOST_STACKS", 10)
    with pytest.raises(FormatError, match="more than 10 different stacks"):
        read_profile(b"".join(b"main;f%d 1\n" % place for place in range(20)))


def test_a_short_file_that_stands_for_many_frames_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "MOST_FRAMES", 10)
    with pytest.raises(FormatError, match="more than 10 frames in all samples"):
        read_profile(pprof([(["main", "parse"] * 10, 1)]))


def test_a_deep_stack_is_cut_with_a_word_and_keeps_its_innermost_frame() -> None:
    found = read_profile((";".join(f"f{place}" for place in range(5_000)) + " 7\n").encode())
    assert own(found)["f4999"] == 7
    assert found.notes == ("stacks deeper than 1,000 frames were cut; each keeps its innermost frame",)


def test_a_name_of_a_megabyte_is_cut_and_stays_different_from_others() -> None:
    found = read_profile(b"main;%sb 1\nmain;%sc 2\n" % (b"a" * 1_000_000, b"a" * 1_000_000))
    assert sorted(map(len, found.names)) == [4, 1000, 1000]
    assert sorted(found.cost.own.tolist()) == [0, 1, 2]
    assert found.notes == ("names longer than 1,000 characters were cut",)


@settings(max_examples=200)
@given(st.data())
def test_damage_anywhere_is_an_error_of_ours_or_a_profile(data: st.DataObject) -> None:
    whole = data.draw(
        st.sampled_from(
            [
                pprof([(["main", "parse"], 5), (["main"], 3)]),
                marshal.dumps({("f", 1, "f"): (1, 1, 0.5, 0.5, {("g", 2, "g"): (1, 1, 0.1, 0.2)})}),
                _CALLGRIND.encode(),
                json.dumps(_cpuprofile()).encode(),
                pack_profile(read_profile(_CALLGRIND.encode())),
            ]
        )
    )
    place = data.draw(st.integers(0, len(whole) - 1))
    put = data.draw(st.binary(max_size=3))
    cut = data.draw(st.integers(0, 3))
    try:
        found = read_profile(whole[:place] + put + whole[place + cut :])
    except FormatError:
        return
    assert np.isfinite(found.values).all()
    assert (found.values >= 0).all()


_DOCUMENTS: tuple[object, ...] = (
    _cpuprofile(),
    {"meta": {"interval": 2}, "threads": [_THREAD]},
    {
        "shared": {"frames": [{"name": "main"}, {"name": "parse"}]},
        "profiles": [
            {"type": "sampled", "unit": "none", "samples": [[0, 1], [0]], "weights": [1, 2]},
            {
                "type": "evented",
                "unit": "none",
                "startValue": 0,
                "endValue": 2,
                "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "C", "frame": 0, "at": 1}],
            },
        ],
    },
)


def _replaced(value: object, data: st.DataObject) -> object:
    """Return the document with something else in one place."""
    inside = value if isinstance(value, dict | list) and value and data.draw(st.integers(0, 4)) else None
    if inside is None:
        return data.draw(st.sampled_from([None, True, -1, 0, 1, 7, 1e300, 2**70, "x", [], [9], {}, {"a": 1}]))
    if isinstance(inside, dict):
        key = data.draw(st.sampled_from(sorted(inside)))
        return {**inside, key: _replaced(inside[key], data)}
    place = data.draw(st.integers(0, len(inside) - 1))
    return [_replaced(each, data) if at == place else each for at, each in enumerate(inside)]


@settings(max_examples=300)
@given(st.data())
def test_anything_anywhere_in_a_json_profile_is_an_error_of_ours_or_a_profile(data: st.DataObject) -> None:
    document = _replaced(data.draw(st.sampled_from(_DOCUMENTS)), data)
    try:
        found = read_profile(json.dumps(document).encode())
    except FormatError:
        return
    assert np.isfinite(found.values).all()


@given(st.binary(max_size=200))
def test_any_bytes_are_an_error_of_ours_or_a_profile(data: bytes) -> None:
    for start in (b"", b"{(", b"{)\x03", b"\x0a\x04\x08\x01\x10\x02", b"events: Ir\n", b"fn=a\nevents: Ir\n"):
        try:
            read_profile(start + data)
        except FormatError:
            continue


def test_many_stacks_cost_what_was_added() -> None:
    builder = ProfileBuilder()
    root = builder.stack(-1, builder.frame("main"))
    for place in range(100_000):
        builder.add(builder.stack(root, builder.frame(f"f{place}")), 1.0)
    found = builder.build("made", ValueKind.COUNT, "samples")
    assert (found.total, total(found)["main"], int(found.outermost.sum())) == (100_000, 100_000, 100_001)


@given(_STACKS)
def test_a_packed_profile_is_the_same_one(stacks: list[tuple[list[str], int]]) -> None:
    found = read_profile(folded(stacks))
    content = pack_profile(found)
    again = read_profile(gzip.compress(content))
    assert pack_profile(again) == content
    assert again.names == found.names
    assert again.parents.tolist() == found.parents.tolist()
    assert again.cost.own.tolist() == found.cost.own.tolist()


def test_a_packed_call_graph_keeps_what_it_states() -> None:
    found = read_profile(_CALLGRIND.encode())
    again = unpack_profile(pack_profile(found), "")
    assert again.stated is not None
    assert again.cost.total.tolist() == found.cost.total.tolist()
    assert again.lines.tolist() == found.lines.tolist()


PERF = """bench
\t    5594 parse_row+0x1f (/usr/local/bin/bench)
\t    11aa main+0x3 (/usr/local/bin/bench)

bench  1234 [001] 5678.123456:     250000 cpu-clock:
\t    5594 operator() (const char*)+0x22 (/usr/local/bin/bench)
\t    11aa main+0x3 (/usr/local/bin/bench)

bench
\t    7f11 [unknown] (/usr/lib/libc.so.6)
"""


def test_what_perf_script_prints_is_read() -> None:
    profile = read_profile(PERF.encode(), "perf.txt")
    assert (profile.format, profile.kind, profile.total) == ("perf script", ValueKind.COUNT, 3.0)
    assert dict(zip(profile.names, profile.cost.own.tolist(), strict=True)) == {
        "parse_row": 1.0, "main": 0.0, "operator() (const char*)": 1.0, "[/usr/lib/libc.so.6]": 1.0
    }  # fmt: skip
    assert set(profile.files) == {"", "/usr/lib/libc.so.6"}
    with pytest.raises(FormatError, match="perf script -F comm,ip,sym,dso") as refused:
        read_profile(PERF.replace("11aa main", "main").encode(), "perf.txt")
    assert refused.value.where == "perf.txt, line 3"


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/usr/local/go/src/runtime/proc.go", True),
        ("/opt/hostedtoolcache/go/1.27.3/x64/src/sort/sort.go", True),
        ("/usr/lib/go-1.27/src/strconv/quote.go", True),
        ("runtime/preempt_amd64.s", True),  # built with -trimpath
        ("/home/ci/go/src/github.com/owner/project/parse.go", False),
        ("/home/ci/go/pkg/mod/example.org/parse@v1.0.0/parse.go", False),
        ("/home/ci/google/src/app/parse.go", False),
    ],
)
def test_the_library_of_go_is_no_part_of_the_program(file: str, library: bool) -> None:  # noqa: FBT001
    assert is_library_file(file) is library


def test_built_in_methods_of_cprofile_are_one_wherever_their_objects_were() -> None:
    names = [f"<built-in method __new__ of type object at 0x7f{run}>" for run in (1, 2)]
    found = read_profile(marshal.dumps({("~", 0, name): (1, 1, 0.5, 0.75, {}) for name in names}))
    assert found.names == ("<built-in method __new__ of type object>",)
    assert (found.cost.own.tolist(), found.cost.total.tolist()) == ([1.0], [1.5])
