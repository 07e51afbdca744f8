"""Throw broken files at every format: anything but a report or a ``FormatError`` is a bug.

    python tests/formats/fuzz.py [SECONDS] [SEED]      mutate the golden files for so long, 60 by default
    python tests/formats/fuzz.py atheris [OPTION]…     let atheris steer, where it is installed

What breaks is written to ``build/fuzz/`` with the name of its format, and printed with the way to repeat it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from knickpoint.formats import FORMATS, read_report
from knickpoint.model.errors import FormatError

_HERE = Path(__file__).resolve().parent
_BUILD = _HERE.parent.parent / "build" / "fuzz"
_SEEDS = tuple(path.read_bytes() for folder in ("golden", "made") for path in sorted((_HERE / folder).iterdir()))
_TOKENS = (
    b"null",
    b"NaN",
    b"-1",
    b"1e400",
    b'""',
    b"[]",
    b"{}",
    b"true",
    b'"x"',
    b"\xff",
    b"\x00",
    b",",
    b"\n",
    b"<a>",
    b"&#0;",
)


def one(data: bytes, name: str) -> None:
    """Read ``data`` as the format ``name``, or as whatever fits where it is empty."""
    try:
        report, _ = read_report(data, name="fuzz/criterion/a/new/sample.json", format=name)
    except FormatError:
        return
    for run in report.runs:
        for result in run.results:
            if not all(sample - sample == 0 for sample in result.samples):
                raise AssertionError(f"a sample that is not finite: {result}")


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


def json_mutated(data: bytes, draw: random.Random) -> bytes:
    """Return the JSON ``data`` with one value, somewhere in it, replaced by another kind of value."""
    try:
        document = json.loads(data)
    except ValueError:
        return bytes_mutated(data, draw)
    replacements: tuple[object, ...] = (
        None,
        True,
        -1,
        1.5,
        "",
        "x",
        [],
        {},
        [None],
        {"a": 1},
        float("nan"),
        10**400,
        "1",
        [[]],
    )
    node = document
    while isinstance(node, dict | list) and node:
        place = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        inner = node[place]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.2:
            if draw.random() < 0.3:
                del node[place]
            else:
                node[place] = draw.choice(replacements)
            break
        node = inner
    return json.dumps(document).encode()


def fuzz(seconds: float, seed: int) -> int:
    """Mutate for ``seconds`` and return how many inputs broke a format."""
    draw = random.Random(seed)
    names = ["", *(known.name for known in FORMATS)]
    mutators: tuple[Callable[[bytes, random.Random], bytes], ...] = (bytes_mutated, json_mutated)
    broken: dict[str, str] = {}
    count = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = draw.choice(mutators)(draw.choice(_SEEDS), draw)
        for name in names if draw.random() < 0.02 else draw.sample(names, 4):
            count += 1
            try:
                one(data, name)
            except Exception as error:  # noqa: BLE001 - that is what we look for
                trace = error.__traceback__
                while trace is not None and trace.tb_next is not None:
                    trace = trace.tb_next
                place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
                kind = f"{type(error).__name__} {place}"
                if kind not in broken:
                    _BUILD.mkdir(parents=True, exist_ok=True)
                    file = _BUILD / f"{len(broken)}-{name or 'any'}"
                    file.write_bytes(data)
                    broken[kind] = f"{file}: {error!r}"[:300]
                    print(kind, broken[kind], sep="\n  ")  # noqa: T201
    print(f"{count} readings with seed {seed}, {len(broken)} ways to break")  # noqa: T201
    return len(broken)


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
    sys.exit(1 if fuzz(seconds, seed) else 0)


if __name__ == "__main__":
    main()
