"""Measure what profiles cost an instance: their import, the bytes that are kept, and reading a change that has some."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from knickpoint.answers.change_pages import read_change_page
from knickpoint.answers.flame_graphs import read_flame_graph
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.ingest import import_files
from knickpoint.instance import Instance, create_instance, rank_new_suspects
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.model.commit import Repository
from knickpoint.profiles import ProfileBuilder, ValueKind, pack_profile
from knickpoint.store.profiles import ProfileWrite
from knickpoint.watch.causes import update_causes
from table import Reach, Row

_COMMITS: Final = 40
_STEP: Final = 20
_FUNCTIONS: Final = 800
_MEGABYTE: Final = 1_000_000
_KEPT_OF_5: Final = 200.0
_READ_MS: Final = 200.0
_LONG: Final = 400
_BENCHMARKS: Final = 1_000
_ROUND_PROFILES: Final = 1_000


def _paths(rng: random.Random, size: int) -> list[tuple[str, int]]:
    """Draw folded stacks of about ``size`` bytes: walks through a program whose functions call some others each."""
    names = [f"package_{rng.randrange(40)}.module.function_{place}" for place in range(_FUNCTIONS)]
    calls = {name: rng.sample(names, rng.randrange(1, 6)) for name in names}
    found: dict[str, int] = {}
    length = 0
    while length < size:
        path = [names[rng.randrange(3)]]
        for _ in range(rng.randrange(3, 24)):
            path.append(rng.choice(calls[path[-1]]))
        stack = ";".join(["main", *path])
        if stack not in found:
            length += len(stack) + 4
        found[stack] = found.get(stack, 0) + rng.randrange(1, 40)
    return list(found.items())


def _write(path: Path, stacks: list[tuple[str, int]], rng: random.Random, commit: str, *, slower: bool) -> None:
    """Write another run of the program: each count scatters; the first function costs more where it is ``slower``."""
    extra = sum(count for _, count in stacks) // 4 if slower else 0
    lines = [f"{stack} {max(1, count + rng.randrange(-2, 3))}" for stack, count in stacks]
    path.write_text("\n".join([*lines, f"main;package_0.module.slow {1000 + extra}"]) + "\n")
    path.with_name(f"{path.name}.sidecar.json").write_text(
        f'{{"commit": "{commit}", "params": {{"benchmark": "work"}}}}'
    )


def _commit(place: int) -> str:
    return f"{place + 1:040x}"


def store_rows(count: int) -> Iterator[Row]:
    """Import ``count`` profiles of 1 MB, five of them at each side of a change, and one of 5 MB; read the change."""
    rng = random.Random(43)
    with TemporaryDirectory() as made, create_instance(Path(made) / "instance", as_work=True) as instance:
        folder = Path(made) / "files"
        folder.mkdir()
        rows = [
            f"{_commit(place)},2026-01-{1 + place // 2:02d}T{12 * (place % 2):02d}:00:00Z,work,s,"
            f"{(1.0 if place < _STEP else 1.25) + 0.002 * (place % 3)}"
            for place in range(_COMMITS)
        ]
        results = Path(made) / "results.csv"
        results.write_text("\n".join(["commit,time,benchmark,unit,value", *rows]) + "\n")
        import_files(instance, [results])
        repository = instance.store.commits.repositories()[0]

        stacks = _paths(rng, _MEGABYTE)
        for number in range(count):
            side = (_STEP - 1 if number % 2 else _STEP) if number < 10 else rng.randrange(_COMMITS)
            _write(folder / f"work.{number}.folded", stacks, rng, _commit(side), slower=side >= _STEP)
        before, started = _memory(), time.perf_counter()
        summary = import_files(instance, [folder])
        seconds = time.perf_counter() - started
        assert not summary.failed, summary.lines()[:5]
        number, came, kept = instance.store.profiles.sizes()
        yield Row(f"import of {number:,} profiles of {came / number / 1e6:.1f} MB", "s", seconds)
        yield Row("import, each", "ms", 1000 * seconds / number)
        yield Row("memory beyond that of the program", "MB", (_memory() - before) / 1000)
        yield Row("bytes kept of each profile of 1 MB", "kB", kept / number / 1000)
        yield from _large(instance, rng, Path(made))
        yield from _reading(instance, repository)


def round_rows() -> Iterator[Row]:
    """Look for new profiles after a round of alerts, in an instance with many changes that have some."""
    rng = random.Random(44)
    with TemporaryDirectory() as made, create_instance(Path(made) / "instance", as_work=True) as instance:
        results = Path(made) / "results.csv"
        places = {f"work{number}": 20 + number % (_LONG - 40) for number in range(_BENCHMARKS)}
        rows = [
            f"{_commit(place)},2026-01-01T{place // 60:02d}:{place % 60:02d}:00Z,{name},s,"
            f"{(1.0 if place < step else 1.25) + 0.002 * rng.randrange(3)}"
            for place in range(_LONG)
            for name, step in places.items()
        ]
        results.write_text("\n".join(["commit,time,benchmark,unit,value", *rows]) + "\n")
        import_files(instance, [results])
        repository = instance.store.commits.repositories()[0]
        for number, (name, step) in enumerate(list(places.items())[: _ROUND_PROFILES // 2]):
            for slot in (step - 1, step):
                _keep(instance, repository, name, slot, 1.0 if slot < step else 1.25, number=number)
        run_alert_round(instance)
        changes = len(instance.store.findings.groups.suspect_ranges(repository))
        instance.store.profiles.forget_causes([""])
        yield Row(f"first look at the profiles of {changes:,} changes", "ms", _milliseconds(lambda: _look(instance)))
        look = min(_milliseconds(lambda: _look(instance)) for _ in range(5))
        yield Row(f"a look without news, {changes:,} changes and {_ROUND_PROFILES:,} profiles", "ms", look)
        _keep(instance, repository, "work0", places["work0"], 1.25, number=_BENCHMARKS)
        yield Row("a look with one new profile", "ms", _milliseconds(lambda: _look(instance)))


def _look(instance: Instance) -> None:
    update_causes(instance.store, lambda _: None, instance.seen_profiles)


def _keep(instance: Instance, repository: Repository, benchmark: str, slot: int, cost: float, *, number: int) -> None:
    builder = ProfileBuilder()
    main, own = builder.frame("main", "main.py", 1), builder.frame(f"{benchmark}_row", "row.py", 12)
    builder.add_path([main], 0.4)
    builder.add_path([main, own], cost - 0.4 + 1e-4 * (number % 7))
    content = pack_profile(builder.build("made", ValueKind.TIME, "s"))
    name = f"{benchmark}:{slot}:{number}"
    write = ProfileWrite(slot, name, benchmark, "", content, "made", "time", "s", name, len(content))
    instance.store.profiles.write(repository, write)


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _large(instance: Instance, rng: random.Random, directory: Path) -> Iterator[Row]:
    _, _, before = instance.store.profiles.sizes()
    path = directory / "large.1.folded"
    _write(path, _paths(rng, 5 * _MEGABYTE), rng, _commit(0), slower=False)
    import_files(instance, [path])
    kept = instance.store.profiles.sizes()[2] - before
    yield Row("bytes kept of a profile of 5 MB", "kB", kept / 1000, reach=Reach.AT_MOST, bound=_KEPT_OF_5)


def _reading(instance: Instance, repository: Repository) -> Iterator[Row]:
    run_alert_round(instance)
    visible = VisibleRepositories.to_local_user(instance.store)
    (key,) = instance.store.findings.groups.suspect_ranges(repository)
    instance.store.profiles.forget_causes([""])
    yield Row("comparing the profiles of a change, once", "ms", _milliseconds(lambda: rank_new_suspects(instance)))
    page = read_change_page(visible, key)
    assert page.cause is not None
    print(page.cause.sentence)
    yield Row(
        "reading a change with profiles of both sides",
        "ms",
        min(_milliseconds(lambda: read_change_page(visible, key)) for _ in range(5)),
        reach=Reach.AT_MOST,
        bound=_READ_MS,
    )
    yield Row(
        "its flame graph, when it is not cached", "ms", _milliseconds(lambda: read_flame_graph(visible, instance, key))
    )


def _milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)
