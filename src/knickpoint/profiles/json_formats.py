"""Read profiles that are JSON: speedscope, ``.cpuprofile`` of V8 and Chrome, the Firefox profiler (samply), and DHAT.

DHAT of Valgrind (``dhat.out.*``) writes the bytes and blocks that each stack allocated, exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from knickpoint.model.errors import FormatError
from knickpoint.profiles.profile import TIME_UNITS, Profile, ProfileBuilder, ValueKind, chosen

_MICROSECONDS: Final = 1e-6
_MILLISECONDS: Final = 1e-3
_IDLE: Final = frozenset({"(idle)"})


class Place:
    """A value in a JSON document with its path, which an error names."""

    __slots__ = ("path", "value")

    def __init__(self, value: object, path: str) -> None:
        self.value = value
        self.path = path

    def wrong(self, wanted: str) -> FormatError:
        """Return the error that something else was expected here."""
        kind = {dict: "an object", list: "a list", type(None): "nothing"}.get(type(self.value))
        return FormatError(
            f"expected {wanted}, got {kind or repr(self.value)[:60]}",
            where=self.path,
            remedy="The profile is damaged, or of another version of its format; record it again.",
        )

    def __getitem__(self, key: str | int) -> Place:
        """Return a member of an object (None where it is missing), or an item of a list."""
        if isinstance(key, str):
            return Place(self.object().get(key), f"{self.path}.{key}" if self.path else key)
        return Place(self.list()[key], f"{self.path}[{key}]")

    def object(self) -> Mapping[str, Any]:
        """Return the object that is here."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def list(self) -> Sequence[Any]:
        """Return the list that is here."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return self.value

    def items(self) -> Sequence[Place]:
        """Return the items of the list that is here."""
        return [self[place] for place in range(len(self.list()))]

    def column(self, count: int) -> Sequence[Place]:
        """Return the column of a table of ``count`` rows that is here; of a missing one, each is None."""
        if self.value is None:
            return [Place(None, self.path)] * count
        if len(self.list()) != count:
            raise self.wrong(f"{count} values, one a row")
        return self.items()

    def number(self) -> float:
        """Return the number that is here."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not abs(self.value) < 1e300:
            raise self.wrong("a number")
        return float(self.value)

    def index(self, count: int) -> int:
        """Return the index into a table of ``count`` rows that is here."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not 0 <= self.value < count:
            raise self.wrong(f"an index below {count}")
        return self.value

    def whole(self) -> int:
        """Return the whole number that is here."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.wrong("a whole number")
        return self.value

    def text(self) -> str:
        """Return the text that is here, "" for null."""
        if self.value is not None and not isinstance(self.value, str):
            raise self.wrong("a string")
        return self.value or ""

    def line(self) -> int:
        """Return the number of a line, 0 where there is none."""
        return self.value if isinstance(self.value, int) and not isinstance(self.value, bool) else 0


# Speedscope: frames in one table, and profiles (threads) of sampled stacks or of events that open and close frames.


def is_speedscope(document: object) -> bool:
    """Whether the document is a file of speedscope."""
    return isinstance(document, dict) and "shared" in document and "profiles" in document and "libs" not in document


def read_speedscope(document: object, where: str, value: str) -> Profile:
    """Read a file of speedscope: all profiles of the first one's unit together.

    Raises:
        FormatError: something in it is damaged; ``where`` and the place are named.
    """
    top = Place(document, where)
    builder = ProfileBuilder(where)
    # py-spy has a frame for each line that was running, others one for each function.
    placed = not top["exporter"].text().startswith("py-spy")
    frames = [
        builder.frame(frame["name"].text(), frame["file"].text(), frame["line"].line() if placed else 0)
        for frame in top["shared"]["frames"].items()
    ]
    profiles = top["profiles"].items()
    units = list(dict.fromkeys(profile["unit"].text() or "none" for profile in profiles))
    unit = chosen(units, value, where)
    samples = 0
    for profile in profiles:
        if (profile["unit"].text() or "none") != unit:
            continue
        if profile["type"].text() == "evented":
            _add_events(profile, builder, frames)
        else:
            samples += _add_samples(profile, builder, frames)
    if len(units) > 1:
        builder.note(
            f"only the values in {unit} were read; there are also {', '.join(each for each in units if each != unit)}"
        )
    if unit in TIME_UNITS:
        return builder.build("speedscope", ValueKind.TIME, "s", scale=TIME_UNITS[unit], samples=samples)
    if unit == "bytes":
        return builder.build("speedscope", ValueKind.BYTES, "B")
    return builder.build("speedscope", ValueKind.COUNT, "samples", samples=samples)


def _add_samples(profile: Place, builder: ProfileBuilder, frames: Sequence[int]) -> int:
    stacks, weights = profile["samples"].items(), profile["weights"].items()
    if len(stacks) != len(weights):
        raise profile["weights"].wrong(f"{len(stacks)} weights, one a sample")
    for stack, weight in zip(stacks, weights, strict=True):
        path = [frames[frame.index(len(frames))] for frame in stack.items()]
        if path:
            builder.add_path(path, weight.number(), weight.path)
    return len(stacks)


def _add_events(profile: Place, builder: ProfileBuilder, frames: Sequence[int]) -> None:
    at = profile["startValue"].number()
    opened: list[tuple[int, int]] = []
    for event in profile["events"].items():
        now = event["at"].number()
        if opened:
            builder.add(opened[-1][1], now - at, event.path)
        at = now
        frame = frames[event["frame"].index(len(frames))]
        if event["type"].text() == "O":
            opened.append((frame, builder.stack(opened[-1][1] if opened else -1, frame)))
        elif not opened or opened.pop()[0] != frame:
            raise event.wrong("the end of the frame that began last")
    if opened:
        builder.add(opened[-1][1], max(profile["endValue"].number() - at, 0.0))


# V8: a tree of nodes, and the node of each sample with the microseconds since the one before it.


def is_cpuprofile(document: object) -> bool:
    """Whether the document is a ``.cpuprofile``."""
    return isinstance(document, dict) and "nodes" in document and ("timeDeltas" in document or "endTime" in document)


def read_cpuprofile(document: object, where: str, value: str) -> Profile:
    """Read a ``.cpuprofile``: a sample lasts until the next one; idle time is left out.

    The value ``samples`` counts them instead: on a busy machine a sample lasts while other programs run.

    Raises:
        FormatError: something in it is damaged, or it has no such value.
    """
    top = Place(document, where)
    builder = ProfileBuilder(where)
    nodes = top["nodes"].items()
    by_id = {node["id"].whole(): node for node in nodes}
    if len(by_id) != len(nodes):
        raise top["nodes"].wrong("nodes with different ids")
    stacks = _node_stacks(by_id, builder)
    counts = _node_counts(top, by_id)
    timed = top["samples"].value is not None and top["timeDeltas"].value is not None
    kind, unit = ValueKind.COUNT, "samples"
    costs: Mapping[int, float] = counts
    if chosen(["time", "samples"] if timed else ["samples"], value, where) == "time":
        kind, unit = ValueKind.TIME, "s"
        costs = _node_seconds(top, by_id)
    idle = 0.0
    for number, cost in costs.items():
        if by_id[number]["callFrame"]["functionName"].value in _IDLE:
            idle += cost
        elif cost:
            builder.add(stacks[number], cost, by_id[number].path)
    if idle:
        builder.note(f"idle time was left out: {idle:.3g} {unit}")
    return builder.build("cpuprofile", kind, unit, samples=sum(counts.values()))


def _node_counts(top: Place, nodes: Mapping[int, Place]) -> Mapping[int, float]:
    """Return the number of samples of each node by its id."""
    if top["samples"].value is None:
        return {number: node["hitCount"].number() for number, node in nodes.items()}
    counts = dict.fromkeys(nodes, 0.0)
    for sample in top["samples"].items():
        number = sample.whole()
        if number not in nodes:
            raise sample.wrong("the id of a node")
        counts[number] += 1
    return counts


def _node_stacks(nodes: Mapping[int, Place], builder: ProfileBuilder) -> Mapping[int, int]:
    """Return the stack of each node by its id. Raises ``FormatError`` where the nodes are not a tree."""
    parents: dict[int, int] = {}
    for number, node in nodes.items():
        if "parent" in node.object():
            parents[number] = node["parent"].whole()
        for child in node["children"].items() if node["children"].value is not None else ():
            inner = child.whole()
            if inner not in nodes or parents.get(inner, number) != number:
                raise child.wrong("the id of a node without another parent")
            parents[inner] = number
    children: dict[int, list[int]] = {}
    for number, parent in parents.items():
        if parent not in nodes:
            raise nodes[number]["parent"].wrong("the id of a node")
        children.setdefault(parent, []).append(number)
    stacks: dict[int, int] = {}
    waiting = [(number, -1) for number in nodes if number not in parents]
    while waiting:
        number, above = waiting.pop()
        call = nodes[number]["callFrame"]
        frame = builder.frame(
            call["functionName"].text(), _plain_path(call["url"].text()), call["lineNumber"].line() + 1
        )
        is_root = above < 0 and call["functionName"].value == "(root)"
        stacks[number] = -1 if is_root and number in children else builder.stack(above, frame)
        waiting += ((child, stacks[number]) for child in children.get(number, ()))
        if stacks[number] < 0:
            stacks[number] = builder.stack(-1, frame) if nodes[number]["hitCount"].value else -1
    if len(stacks) != len(nodes):
        lost = next(number for number in nodes if number not in stacks)
        raise nodes[lost].wrong("a tree; this node is in a cycle")
    return stacks


def _plain_path(url: str) -> str:
    return url.removeprefix("file://")


def _node_seconds(top: Place, nodes: Mapping[int, Place]) -> Mapping[int, float]:
    """Return the seconds of each node by its id."""
    now, times = top["startTime"].number(), []
    for delta in top["timeDeltas"].items():
        now += delta.number()
        times.append(now)
    samples = top["samples"].items()
    if len(samples) != len(times):
        raise top["timeDeltas"].wrong(f"{len(samples)} times, one a sample")
    order = sorted(range(len(times)), key=times.__getitem__)  # V8 writes some samples out of order
    ends = [*(times[place] for place in order[1:]), max(top["endTime"].number(), now)] if order else []
    seconds = dict.fromkeys(nodes, 0.0)
    for place, end in zip(order, ends, strict=True):
        number = samples[place].whole()
        seconds[number] += max(end - times[place], 0.0) * _MICROSECONDS
    return seconds


# The Firefox profiler: tables a thread, or shared by all threads in newer versions.


def is_firefox(document: object) -> bool:
    """Whether the document is a profile of the Firefox profiler."""
    return isinstance(document, dict) and "threads" in document and "meta" in document


def read_firefox(document: object, where: str) -> Profile:
    """Read a processed profile of the Firefox profiler, as samply writes it: the samples of all threads together.

    Raises:
        FormatError: something in it is damaged, or it is one that Firefox has not processed.
    """
    top = Place(document, where)
    builder = ProfileBuilder(where)
    interval = top["meta"]["interval"].number()
    kinds: set[str] = set()
    samples = 0
    for thread in top["threads"].items():
        if "schema" in thread["samples"].object():
            raise FormatError(
                "this is a raw profile of Firefox",
                where=where,
                remedy="Save it from profiler.firefox.com, which processes it.",
            )
        stacks = _firefox_stacks(thread, top["shared"], builder)
        taken = thread["samples"]
        kinds.add(taken["weightType"].text() or "samples")
        at = taken["stack"].items()
        for stack, weight in zip(at, taken["weight"].column(len(at)), strict=True):
            if stack.value is not None:
                cost = 1.0 if weight.value is None else weight.number()
                builder.add(stacks[stack.index(len(stacks))], cost, stack.path)
                samples += 1
    if len(kinds) > 1:
        raise top["threads"].wrong(f"threads with one kind of weight, not {', '.join(sorted(kinds))}")
    if kinds == {"bytes"}:
        return builder.build("firefox", ValueKind.BYTES, "B", samples=samples)
    scale = _MILLISECONDS * (1.0 if kinds == {"tracing-ms"} else interval)
    return builder.build("firefox", ValueKind.TIME, "s", scale=scale, samples=samples)


def _firefox_stacks(thread: Place, shared: Place, builder: ProfileBuilder) -> Sequence[int]:
    """Return the stacks of the builder for those of a thread."""

    def table(name: str) -> Place:
        inside = shared.value is not None and name in shared.object()
        return shared[name] if inside else thread[name]

    texts = table("stringArray" if thread["stringTable"].value is None else "stringTable").items()
    functions, frames, rows = table("funcTable"), table("frameTable"), table("stackTable")
    names = functions["name"].items()
    # Newer versions have the files in a table of sources.
    files, sources = functions["fileName"], table("sources")["filename"] if functions["source"].value else None
    of_file = files.column(len(names)) if sources is None else functions["source"].column(len(names))
    lines = functions["lineNumber"].column(len(names))
    known = []
    for name, file, line in zip(names, of_file, lines, strict=True):
        text = file if sources is None or file.value is None else sources[file.index(len(sources.list()))]
        path = "" if text.value is None or text.value == -1 else texts[text.index(len(texts))].text()
        known.append(builder.frame(texts[name.index(len(texts))].text(), path, line.line()))
    of_frames = [known[function.index(len(known))] for function in frames["func"].items()]
    stacks: list[int] = []
    inner = rows["frame"].items()
    for place, (frame, prefix) in enumerate(zip(inner, rows["prefix"].column(len(inner)), strict=True)):
        above = -1 if prefix.value is None else stacks[prefix.index(place)]
        stacks.append(builder.stack(above, of_frames[frame.index(len(of_frames))]))
    return stacks


_FIELDS: Final = {
    "total_bytes": ("tb", ValueKind.BYTES, "B"),
    "total_blocks": ("tbk", ValueKind.ALLOCATIONS, "allocations"),
    "gmax_bytes": ("gb", ValueKind.BYTES, "B"),
    "gmax_blocks": ("gbk", ValueKind.ALLOCATIONS, "allocations"),
    "end_bytes": ("eb", ValueKind.BYTES, "B"),
    "end_blocks": ("ebk", ValueKind.ALLOCATIONS, "allocations"),
    "read_bytes": ("rb", ValueKind.BYTES, "B"),
    "written_bytes": ("wb", ValueKind.BYTES, "B"),
}
"""Value → its key in the file, kind and unit: in all, when most was allocated, at the end, and accesses."""
_FRAME: Final = re.compile(r"(?:0x[0-9A-Fa-f]+: )?(?P<name>.*?)(?: \((?:in )?(?P<file>[^()]*?)(?::\d+)?\))?")
"""A frame: the address, the function, and the line of the call or the object."""


def is_dhat(document: object) -> bool:
    """Whether the document is a file of DHAT."""
    return isinstance(document, dict) and "dhatFileVersion" in document


def read_dhat(document: object, where: str, value: str) -> Profile:
    """Read a file of DHAT: the total of bytes, unless another value is asked for.

    Raises:
        FormatError: something in it is damaged, or it has no such value.
    """
    top = Place(document, where)
    if (version := top["dhatFileVersion"]).value != 2 or (mode := top["mode"]).value != "heap":
        raise (version if version.value != 2 else mode).wrong("version 2 of DHAT, of the heap")
    builder = ProfileBuilder(where)
    table = [_FRAME.fullmatch(text.text().replace("\n", " ")) for text in top["ftbl"].items()]
    frames = [builder.frame(found["name"], found["file"] or "") if found else builder.frame("") for found in table]
    points = top["pps"].items()
    known = [name for name, (key, _, _) in _FIELDS.items() if points and key in points[0].object()]
    name = chosen(known or ["total_bytes"], value, where)
    key, kind, unit = _FIELDS[name]
    for point in points:
        stack = point["fs"].items()
        builder.count(len(stack))
        path = [frames[frame.index(len(frames))] for frame in reversed(stack)]
        builder.add_path(path, point[key].number(), point.path)
    if len(known) > 1:
        builder.note(f"only the value {name} was read, of {', '.join(known)}")
    return builder.build("DHAT", kind, unit)
