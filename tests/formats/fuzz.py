"""Throw broken files at every format: anything but a report or a ``FormatError`` is a bug.

    python tests/formats/fuzz.py [SECONDS] [SEED]      mutate the golden files for so long, 60 by default
    python tests/formats/fuzz.py atheris [OPTION]…     let atheris steer, where it is installed

What breaks is written to ``build/fuzz/`` with the name of its format, and printed with the way to repeat it.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from knickpoint.formats import FORMATS, companion_of, read_found, read_report
from knickpoint.model.errors import FormatError

_HERE: Final = Path(__file__).resolve().parent
_BUILD: Final = _HERE.parent.parent / "build" / "fuzz"
_NAME: Final = "fuzz/criterion/a/new/sample.json"
_SEEDS: Final = tuple(path.read_bytes() for folder in ("golden", "made") for path in sorted((_HERE / folder).iterdir()))
_TOKENS: Final = (
    *(b"null", b"NaN", b"-1", b"1e400", b'""', b"[]", b"{}", b"true", b'"x"', b"\xff", b"\x00", b",", b"\n", b"\r"),
    *(b"<a>", b"&#0;", b"&#xD800;", b'"', b"'", b"\\ud800", b"\\u0000", b";", b"\t", b"#", b"=", b"%", b"\x1b[31m"),
    *(text.encode() for text in ("\u00b2", "\u0663", "\u2028", "\u0085", "\ufeff", "\u202e", "\U0001f600", "e\u0301")),
)
_NUMERALS: Final = (
    *(
        b"0",
        b"-0",
        b"-1",
        b"1e400",
        b"-1e400",
        b"1e-400",
        b"5e-324",
        b"1.7976931348623157e308",
        b"9" * 400,
        b"9" * 5000,
    ),
    *(b"9007199254740993", b"-9223372036854775809", b"253402300800", b"1e19", b"0x10", b"1_000", b"NaN", b"Infinity"),
    *(b"1e999999999", b"00012", b".5", b"5.", b"+7", "\u00b2".encode(), "\u0661\u0662".encode()),
)
_NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_VALUES: Final[tuple[object, ...]] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 5e-324, 10**400, 10**4299, 2**63, -(2**63) - 1, float("nan"), float("inf")),
    *(
        "",
        " ",
        "x",
        "1",
        "-1",
        "NaN",
        "9" * 400,
        "\ud800",
        "\x00",
        "\r",
        "a=b,c%",
        "\u00b2",
        "0001-01-01T00:00:00+23:59",
    ),
    *("9999-12-31T23:59:59-23:59", [], {}, [None], {"a": 1}, [[]], [0.0], {"": ""}),
)
_DEPTHS: Final = (3, 30, 150, 400, 990, 3000)

Mutator = Callable[[bytes, random.Random], bytes]


def one(data: bytes, name: str) -> None:
    """Read ``data`` as the format ``name``, or as whatever fits where it is empty."""
    try:
        report, problems = read_report(data, name=_NAME, format=name)
    except FormatError as error:
        _check_texts(str(error))
        return
    for run in report.runs:
        for result in run.results:
            if not all(sample - sample == 0 for sample in (*result.samples, *result.summary.values())):
                raise AssertionError(f"a number that is not finite: {result}")
            _check_texts(result.unit, result.message, *result.links, *result.links.values(), *result.summary)
        _check_texts(run.entry, run.revision, run.branch, run.identity)
        for texts in (run.environment, run.links, run.revisions):
            _check_texts(*texts, *texts.values())
    for commit in report.commits:
        _check_texts(commit.hash, commit.author, commit.email, commit.subject, commit.url)
    _check_texts(report.repository, *(problem.message for problem in problems))


def _check_texts(*texts: str) -> None:
    for text in texts:
        if "\x00" in text or not isinstance(text, str):
            raise AssertionError(f"a text that no database keeps: {text!r}")
        text.encode()


def bytes_mutated(data: bytes, draw: random.Random) -> bytes:
    """Return ``data`` with a few places overwritten, cut out, doubled or cut off."""
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((0, 1, 1, 2, 8, 64)))
        choice = draw.randrange(4)
        if choice == 0:
            data = data[:start] + draw.choice(_TOKENS) + data[end:]
        elif choice == 1:
            data = data[:start] + data[end:]
        elif choice == 2:
            data = data[:end] + data[start:]
        else:
            data = data[:start] + bytes([draw.randrange(256)]) + data[end:]
    return data


def numbers_mutated(data: bytes, draw: random.Random) -> bytes:
    """Return ``data`` with one or several of its numbers replaced by huge, tiny and odd ones."""
    places = list(_NUMBER.finditer(data))
    for place in sorted(draw.sample(places, min(len(places), draw.choice((1, 1, 2, 8)))), key=lambda one: -one.start()):
        data = data[: place.start()] + draw.choice(_NUMERALS) + data[place.end() :]
    return data


def lines_mutated(data: bytes, draw: random.Random) -> bytes:
    """Return ``data`` with other line ends, or lines swapped, repeated, joined or made long."""
    choice = draw.randrange(6)
    if choice == 0:
        return data.replace(b"\n", b"\r\n")
    if choice == 1:
        return data.replace(b"\n", b"\r")
    lines = data.split(b"\n")
    place, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    if choice == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif choice == 3:
        lines.insert(place, lines[other])
    elif choice == 4:
        lines[place] = lines[place].replace(b" ", draw.choice((b"\r", b"\t", b" " * 400, b"")))
    else:
        lines[place : place + 2] = [b"".join(lines[place : place + 2])]
    return b"\n".join(lines)


def spliced(data: bytes, draw: random.Random) -> bytes:
    """Return the beginning of ``data`` and the end of another file, put together at whole lines or anywhere."""
    other = draw.choice(_SEEDS)
    if draw.random() < 0.5:
        return data[: draw.randrange(len(data) + 1)] + other[draw.randrange(len(other) + 1) :]
    lines, others = data.split(b"\n"), other.split(b"\n")
    return b"\n".join(lines[: draw.randrange(len(lines) + 1)] + others[draw.randrange(len(others) + 1) :])


def json_mutated(data: bytes, draw: random.Random) -> bytes:
    """Return the JSON ``data`` with values, somewhere in it, taken out or replaced by another kind of value."""
    return _with_replaced(data, draw, lambda: draw.choice(_VALUES))


def json_spliced(data: bytes, draw: random.Random) -> bytes:
    """Return the JSON ``data`` with a part of another JSON document in place of one of its own."""
    other = _parsed(draw.choice(_SEEDS))
    return _with_replaced(data, draw, lambda: draw.choice(list(itertools.islice(_parts(other), 500))))


def nested(data: bytes, draw: random.Random) -> bytes:
    """Return ``data`` with something in it nested deeply."""
    depth = draw.choice(_DEPTHS)
    if data.lstrip()[:1] == b"<":
        place = data.find(b">", draw.randrange(len(data))) + 1
        return data[:place] + b"<testsuite>" * depth + data[place:] + b"</testsuite>" * draw.choice((0, depth))
    start, end = draw.choice(((b"[", b"]"), (b'{"a":', b"}")))
    deep = start * depth + b"1" + end * depth
    mark = "a place to nest in"
    return _with_replaced(data, draw, lambda: mark).replace(json.dumps(mark).encode(), deep)


def _with_replaced(data: bytes, draw: random.Random, replacement: Callable[[], object]) -> bytes:
    document = _parsed(data)
    if not isinstance(document, dict | list):
        return bytes_mutated(data, draw)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        node = document
        while isinstance(node, dict | list) and node:
            place = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
            inner = node[place]
            if not isinstance(inner, dict | list) or not inner or draw.random() < 0.2:
                if draw.random() < 0.2:
                    del node[place]
                elif isinstance(node, dict) and draw.random() < 0.1:
                    node[str(draw.choice(_VALUES))] = node.pop(place)
                else:
                    node[place] = copy.deepcopy(replacement())
                break
            node = inner
    try:
        return json.dumps(document).encode()
    except RecursionError:
        return data


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _parts(document: object) -> Iterator[object]:
    yield document
    for inner in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from _parts(inner)


_MUTATORS: Final[tuple[Mutator, ...]] = (
    bytes_mutated,
    numbers_mutated,
    lines_mutated,
    spliced,
    json_mutated,
    json_mutated,
    json_spliced,
    nested,
)


def broken_files(draw: random.Random) -> Iterator[bytes]:
    """Yield broken files without end, some of them broken twice."""
    while True:
        data = draw.choice(_SEEDS)
        for _ in range(draw.choice((1, 1, 2))):
            data = draw.choice(_MUTATORS)(data, draw)
        yield data


def fuzz(seed: int, *, files: int | None = None, seconds: float | None = None) -> int:
    """Read so many broken ``files``, or as many as ``seconds`` allow, and return how many ways broke a format."""
    draw = random.Random(seed)
    names = ["", *(known.name for known in FORMATS)]
    broken: dict[str, str] = {}
    count = 0
    end = time.monotonic() + seconds if seconds is not None else None
    for data in itertools.islice(broken_files(draw), files):
        if end is not None and time.monotonic() >= end:
            break
        readings: list[tuple[str, Callable[[], object]]] = [
            (name, lambda data=data, name=name: one(data, name))  # type: ignore[misc]
            for name in (names if draw.random() < 0.02 else draw.sample(names, 4))
        ]
        readings.append(("found", lambda data=data: _found(data)))  # type: ignore[misc]
        for name, reading in readings:
            count += 1
            try:
                reading()
            except Exception as error:  # noqa: BLE001 - that is what we look for
                trace = error.__traceback__
                while trace is not None and trace.tb_next is not None:
                    trace = trace.tb_next
                place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
                kind = f"{type(error).__name__} {place}"
                if kind not in broken:
                    _BUILD.mkdir(parents=True, exist_ok=True)
                    file = _BUILD / f"{seed}-{len(broken)}-{name or 'any'}"
                    file.write_bytes(data)
                    broken[kind] = f"{file}: {error!r}"[:300]
                    print(kind, broken[kind], sep="\n  ")  # noqa: T201
    print(f"{count} readings with seed {seed}, {len(broken)} ways to break")  # noqa: T201
    return len(broken)


def _found(data: bytes) -> None:
    companion_of(data)
    try:
        read_found(data, name=_NAME)
    except FormatError:
        return


def main() -> None:
    """Fuzz as the command line says."""
    if sys.argv[1:2] == ["atheris"]:
        import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

        def target(data: bytes) -> None:
            names = ("", *(known.name for known in FORMATS))
            one(data[1:], names[data[0] % len(names)] if data else "")

        atheris.instrument_all()
        atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
        atheris.Fuzz()
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    sys.exit(1 if fuzz(seed, seconds=seconds) else 0)


if __name__ == "__main__":
    main()
