"""Compare the profiles before and after each change, once for each set of them, and keep what they say.

The profiles of a benchmark are those of the commits next to the change, inside the stable regions around it. The
function that explains most of the differences of all benchmarks of a change leads.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from knickpoint.formats.toolbox.storable_text import keepable_text
from knickpoint.history import Git, SourceFiles, read_touched_files
from knickpoint.model.change_point import ChangePoint, SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import FormatError, HistoryError, InputError, StoreError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.params import values_in_key
from knickpoint.model.plain_text import counted
from knickpoint.model.settlement import FindingKind
from knickpoint.model.statement import Change
from knickpoint.model.step import Verdict
from knickpoint.model.unit import convert, read_unit
from knickpoint.profiles import Difference, FunctionChange, Measured, Profile, ValueKind, difference, unpack_profile
from knickpoint.store import Store
from knickpoint.store.findings.selection import Selection
from knickpoint.store.profiles import ProfileMark, StoredCause, StoredProfile
from knickpoint.watch.lines import Lines
from knickpoint.watch.suspects.ranking import is_same_file
from knickpoint.watch.suspects.update import GitSource, candidates_of

_RULE: Final = 2
"""The version of what is computed: another one computes all anew."""
_ENOUGH: Final = 5
"""Profiles of a side from which on no commit farther away is asked."""
_WHOLE_SECONDS: Final = 3600.0
"""How often a process looks at all changes: others may have changed some."""
_MOST_PROFILES: Final = 10
_MOST_BENCHMARKS: Final = 5
_MOST_MEMBERS: Final = 50
_MOST_CAUSES: Final = 10
"""Functions that are kept of a benchmark, those that explain most."""
_LIVE: Final = Selection(alert_kinds=None)
_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class ProfilePair:
    """The profiles of one benchmark before and after a change, the nearest first, and the member that they explain."""

    point: ChangePoint
    benchmark: str
    before: tuple[StoredProfile, ...]
    after: tuple[StoredProfile, ...]

    @property
    def basis(self) -> list[object]:
        """All that the difference depends on, as plain values.

        What was measured counts to two digits: it changes a little with each further value, and comparing takes long.
        """
        numbers = self.point.numbers
        sides = [[each.digest for each in side] for side in (self.before, self.after)]
        measured = (numbers.before_level, numbers.size, numbers.low, numbers.high)
        return [*sides, self.point.unit, *(f"{each:.2g}" for each in measured)]


@dataclass(frozen=True, slots=True)
class _Look:
    """The profiles of a repository when they were last compared, and the clock when all changes were looked at."""

    mark: ProfileMark
    whole: float


@dataclass(slots=True)
class SeenProfiles:
    """What a process has compared of the profiles of its store."""

    looks: Mapping[int, _Look] = field(default_factory=dict)

    def take(self) -> Mapping[int, _Look]:
        """Take the looks out: after an error, all changes are looked at."""
        taken, self.looks = self.looks, {}
        return taken


def update_causes(
    store: Store, open_git: GitSource, seen: SeenProfiles | None = None, *, everything: bool = False
) -> set[int]:
    """Compare the profiles of live changes where they, the levels or the suspect range are new; return these changes.

    What was said stays when the rule of retention deletes its profiles. git is read before anything is written. All
    changes are looked at where nothing was ``seen``, each hour, at ``everything`` and after profiles were deleted; else
    those that this process stated anew, and those of benchmarks with new profiles.

    Raises:
        StoreError: the store cannot be read or written.
    """
    found: set[int] = set()
    seen = seen or SeenProfiles()
    before, looks = seen.take(), dict[int, _Look]()
    written = store.findings.statements.take_written()
    for repository in store.commits.repositories():
        mark, last = store.profiles.mark(repository), before.get(repository.id)
        if not mark.count:
            continue
        now = time.monotonic()
        fresh = None
        if last and not everything and mark.count >= last.mark.count and now < last.whole + _WHOLE_SECONDS:
            fresh = written | _with_new_profiles(store, repository, last.mark, mark)
        causes = _stale_causes(store, repository, open_git, fresh) if fresh is None or fresh else {}
        store.profiles.put_causes(causes)
        found |= causes.keys()
        looks[repository.id] = _Look(mark, now if fresh is None or last is None else last.whole)
    seen.looks = looks
    return found


def _with_new_profiles(store: Store, repository: Repository, last: ProfileMark, mark: ProfileMark) -> set[int]:
    """Return the live changes of the benchmarks whose profiles were written since the last look."""
    if mark == last:
        return set()
    fresh = store.profiles.benchmarks_since(repository, last)
    members = store.findings.suspects.all_members(repository)
    return {key for key, keys in members.items() if not fresh.isdisjoint(map(_benchmark, keys))}


def _stale_causes(
    store: Store, repository: Repository, open_git: GitSource, looked_at: Collection[int] | None
) -> dict[int, StoredCause]:
    """Return change → what its profiles say, for those where that is not what the store has; None looks at all."""
    suspects = store.findings.suspects
    members = suspects.all_members(repository) if looked_at is None else suspects.members(looked_at)
    benchmarks = {key: set(map(_benchmark, keys)) for key, keys in members.items()}
    wanted = None if looked_at is None else set().union(*benchmarks.values())
    profiles: dict[str, list[StoredProfile]] = {}
    for profile in store.profiles.all(repository, wanted):
        profiles.setdefault(profile.benchmark, []).append(profile)
    profiled = [key for key, names in benchmarks.items() if names & profiles.keys()]
    known = store.profiles.causes(profiled)
    lines = Lines(store, repository)
    found: dict[int, StoredCause] = {}
    changes = store.findings.changes(repository, selection=_LIVE, members=_MOST_MEMBERS, only=profiled)
    for change in changes if profiled else ():
        line = lines.line(change.suspect_range.line)
        pairs = profile_pairs(change, profiles, line)
        before = known.get(change.id)
        basis = _digest([_RULE, *(pair.basis for pair in pairs)])
        if pairs and (before is None or before.basis != basis):
            source = _Source()
            with suppress(HistoryError):
                git = open_git(repository)
                source = _Source.of(store, repository, line, change.suspect_range, git) if git else source
            sentence, body = _cause(store, pairs, source)
            found[change.id] = StoredCause(change.suspect_range, basis, sentence, body)
    return found


def profile_pairs(change: Change, profiles: Mapping[str, Sequence[StoredProfile]], line: Line) -> list[ProfilePair]:
    """Return the profiles before and after a change, for each of the first benchmarks of its members that has both.

    Where a bisection narrowed the suspect range of the change, its members have the same range.
    """
    found: dict[str, ProfilePair] = {}
    narrowed = change.suspect_range.on(line)
    for point in change.members:
        name = _benchmark(point.key)
        if name in found or name not in profiles or point.kind is not FindingKind.STEP:
            continue
        place = point.suspect_range.on(line)
        if place is None:
            continue
        if narrowed and place.previous <= narrowed.previous and narrowed.position <= place.position:
            place = narrowed
        numbers, positions = point.numbers, line.positions
        first = positions.get(numbers.before.first, 0)
        last = max(positions.get(numbers.after.last, place.position), place.position)
        own = [each for each in profiles[name] if each.belongs_to(point.key) and each.slot in positions]
        before = {each: place.previous - positions[each.slot] for each in own if first <= positions[each.slot]}
        after = {each: positions[each.slot] - place.position for each in own if positions[each.slot] <= last}
        pair = _best_pair(point, before, after)
        if pair is not None:
            found[name] = pair
        if len(found) == _MOST_BENCHMARKS:
            break
    return list(found.values())


def profiles_of_commits(
    profiles: Iterable[StoredProfile], before: int, after: int
) -> dict[str, tuple[list[StoredProfile], list[StoredProfile]]]:
    """Return benchmark → the profiles of two commits, each given by its slot; benchmarks without both are left out."""
    found: dict[str, tuple[list[StoredProfile], list[StoredProfile]]] = {}
    for each in profiles:
        if each.slot in {before, after}:
            found.setdefault(each.benchmark, ([], []))[each.slot == after].append(each)
    best = {name: _of_one_profiler(*sides) for name, sides in sorted(found.items())}
    return {name: sides for name, sides in best.items() if sides is not None}


def _best_pair(
    point: ChangePoint, before: Mapping[StoredProfile, int], after: Mapping[StoredProfile, int]
) -> ProfilePair | None:
    """Return the profiles of one profiler on both sides of a change.

    Each side maps a profile to its distance from the change in commits, which is negative on the other side.
    """
    sides = [[each for each, distance in side.items() if distance >= 0] for side in (before, after)]
    best = _of_one_profiler(sides[0], sides[1], point.unit)
    if best is None:
        return None
    return ProfilePair(point, _benchmark(point.key), _nearest(best[0], before), _nearest(best[1], after))


def _of_one_profiler(
    before: Iterable[StoredProfile], after: Iterable[StoredProfile], unit: str = ""
) -> tuple[list[StoredProfile], list[StoredProfile]] | None:
    """Return the profiles of one profiler, those of the trace's ``unit`` or of exact values rather than others."""
    sides: tuple[dict[Any, list[StoredProfile]], ...] = ({}, {})
    for side, several in zip(sides, (before, after), strict=True):
        for each in several:
            side.setdefault((each.params, each.format, each.kind, each.unit), []).append(each)
    common = sorted(sides[0].keys() & sides[1].keys())
    dimension = read_unit(unit).dimension if unit else None

    def rank(key: tuple[str, str, str, str]) -> tuple[bool, bool, int]:
        same = read_unit(key[3]).dimension == dimension
        return same, ValueKind(key[2]).is_exact, min(len(sides[0][key]), len(sides[1][key]))

    best = max(common, key=rank, default=None)
    return None if best is None else (sides[0][best], sides[1][best])


def _nearest(profiles: Sequence[StoredProfile], distances: Mapping[StoredProfile, int]) -> tuple[StoredProfile, ...]:
    """Return the profiles of the nearest commits, as many commits as give enough."""
    ordered = sorted(profiles, key=lambda each: (distances[each], each.id))
    bound = distances[ordered[min(_ENOUGH, len(ordered)) - 1]]
    return tuple(each for each in ordered if distances[each] <= bound)[:_MOST_PROFILES]


def read_pair(store: Store, pair: Iterable[Sequence[str]]) -> tuple[list[Profile], list[Profile]]:
    """Return the profiles before and after a change, by their digests.

    Raises:
        FormatError: one is damaged.
        StoreError: one is gone.
    """
    before, after = ([read_stored(store, each) for each in side] for side in pair)
    return before, after


def read_stored(store: Store, digest: str) -> Profile:
    """Read a profile by its digest; raises as :func:`read_pair`."""
    return unpack_profile(store.profiles.content(digest), digest[:12])


def compare(before: Sequence[Profile], after: Sequence[Profile], point: ChangePoint) -> Difference:
    """Return the difference of the profiles, held against the change that was measured."""
    numbers = point.numbers
    low, high = (
        (numbers.low, numbers.high)
        if math.isfinite(numbers.low) and math.isfinite(numbers.high)
        else sorted((0.5 * numbers.size, 1.5 * numbers.size))
    )
    return compare_measured(before, after, Measured(numbers.size, low, high, point.unit), numbers.before_level)


def compare_measured(
    before: Sequence[Profile], after: Sequence[Profile], measured: Measured, level: float
) -> Difference:
    """Difference of the profiles, held against a change that was measured from ``level``.

    A profile may be of many values, and of the start of the program besides: its change lies between that of one value
    and the same share of its whole. Samples have no scale: theirs lies between nothing and that share.
    """
    found = difference(before, after)
    unit, own = read_unit(measured.unit).dimension, read_unit(found.unit).dimension
    if unit == own:
        known, least = found.against(measured).measured or measured, 1.0
    elif found.kind is ValueKind.COUNT and unit == read_unit("s").dimension:
        known, least = replace(measured, unit=found.unit), 0.0
    else:
        return found
    share = convert(abs(level), read_unit(measured.unit), read_unit(found.unit)) if unit == own else abs(level)
    scales = sorted([least, found.total.before / share]) if share and found.total.before else [1.0, 1.0]
    bounds = [scale * bound for scale in scales for bound in (known.low, known.high)]
    scaled = Measured(scales[1] * known.difference, min(bounds), max(bounds), found.unit)
    held = found.against(replace(scaled, difference=min(max(found.total.difference, scaled.low), scaled.high)))
    return held if held.shows else found.against(known if unit == own else scaled)


def causes_of_benchmarks(
    profiles: tuple[Iterable[StoredProfile], Iterable[StoredProfile]],
    judged: Iterable[JudgedBenchmark],
    read: Callable[[str], Profile],
    files: SourceFiles,
) -> tuple[str, ...]:
    """State the cause of each benchmark that changed by profiles before and after it, for at most five.

    ``read`` has the content of a digest. ``files`` are those of the later commit.
    """
    sides = [list(side) for side in profiles]
    sentences: dict[str, str] = {}
    for row in judged:
        name = _benchmark(row.trace)
        sizes = (row.before, row.after, row.low, row.high)
        if row.verdict not in _CHANGED or name in sentences or not all(map(math.isfinite, sizes)):
            continue
        before, after = ([each for each in side if each.belongs_to(row.trace)] for side in sides)
        found = _of_one_profiler(before, after, row.unit)
        level = abs(row.before)
        measured = Measured(row.after - row.before, row.low * level, row.high * level, row.unit)
        if found is None:
            continue
        with suppress(FormatError, InputError, StoreError):
            pair = [[read(each.digest) for each in side[-_MOST_PROFILES:]] for side in found]
            stated = compare_measured(pair[0], pair[1], measured, level).with_files(files.path)
            sentences[name] = keepable_text(f"{name}: {stated.sentence}")
        if len(sentences) == _MOST_BENCHMARKS:
            break
    return tuple(sentences.values())


def newest_profiles(store: Store, line: Line, last: int, benchmarks: Collection[str]) -> list[StoredProfile]:
    """Profiles of each benchmark at the newest commit of a line that has some, up to the slot ``last``."""
    positions, end = line.positions, line.positions[last]
    found: dict[str, list[StoredProfile]] = {}
    for each in store.profiles.all(line.repository, benchmarks):
        if positions.get(each.slot, end + 1) <= end:
            known = found.setdefault(each.benchmark, [])
            if known and positions[known[0].slot] < positions[each.slot]:
                known.clear()
            if not known or known[0].slot == each.slot:
                known.append(each)
    return [each for name in sorted(found) for each in found[name]]


@dataclass(frozen=True, slots=True)
class _Source:
    """What git says of a suspect range: the files at its end, and the paths that each of its commits touches."""

    files: SourceFiles = field(default_factory=lambda: SourceFiles(()))
    touched: Mapping[str, Collection[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, repository: Repository, line: Line, place: SuspectRange, git: Git) -> _Source:
        within = candidates_of(line, place, (), 0)
        found = store.commits.get(repository, [each.slot for each in within])
        files = read_touched_files(git, [each.commit.hash for each in found])
        touched = {name: [file.path for file in touched.files] for name, touched in files.items()}
        return cls(source_files(store, repository, place.slot, git), touched)


def source_files(store: Store, repository: Repository, slot: int, git: Git) -> SourceFiles:
    """Files of a commit, to name those of its profiles by. Raises ``HistoryError`` where git lacks it."""
    (commit,) = store.commits.get(repository, [slot])
    return SourceFiles.read(git, commit.commit.hash)


def _cause(store: Store, pairs: Sequence[ProfilePair], source: _Source) -> tuple[str, dict[str, Any]]:
    """Compare each pair, and state the cause in a sentence and in plain values."""
    compared: list[tuple[ProfilePair, Difference]] = []
    for pair in pairs:
        digests = [[each.digest for each in side] for side in (pair.before, pair.after)]
        with suppress(FormatError, InputError, StoreError):  # what is damaged or of two units says nothing
            compared.append((pair, compare(*read_pair(store, digests), pair.point).with_files(source.files.path)))
    if not compared:
        return "", {}
    shares: dict[tuple[str, str], float] = {}
    for _, found in compared:
        for cause in found.causes:
            whole = abs(found.total.difference) or 1.0
            shares[cause.name, cause.file] = shares.get((cause.name, cause.file), 0.0) + abs(
                cause.explained.difference / whole
            )
    lead = max(shares, key=lambda key: shares[key], default=None)
    leading = [each for each in compared if each[1].causes and _key(each[1].causes[0]) == lead]
    speaking = (leading or compared)[0]
    sentence, commits = speaking[1].sentence, []
    if leading:
        file = lead[1] if lead else ""
        touched = source.touched.items()
        commits = sorted(name for name, paths in touched if any(is_same_file(path, file) for path in paths))
        sentence += _touch(commits, file)
        if len(compared) > 1:
            sentence += f" It leads in {len(leading)} of {counted(len(compared), 'profiled benchmark')}."
    body = {
        "benchmark": speaking[0].benchmark,
        "touched": commits,
        "benchmarks": [
            _benchmark_body(pair, found) for pair, found in [speaking, *(c for c in compared if c is not speaking)]
        ],
    }
    return keepable_text(sentence), body


def _touch(commits: Sequence[str], file: str) -> str:
    if not commits:
        return ""
    more = f" and {counted(len(commits) - 1, 'other commit')} of the range" if len(commits) > 1 else ""
    return f" {commits[0][:10]}{more} touched {file.replace(chr(92), '/').rpartition('/')[2]}."


def _benchmark_body(pair: ProfilePair, found: Difference) -> dict[str, Any]:
    return {
        "benchmark": pair.benchmark,
        "trace": pair.point.trace_id,
        "point": pair.point.id,
        "before": [each.digest for each in pair.before],
        "after": [each.digest for each in pair.after],
        "format": pair.before[0].format,
        "kind": found.kind.value,
        "unit": found.unit,
        "sentence": keepable_text(found.sentence),
        "shows": found.shows,
        "total": [found.total.before, found.total.after, found.total.low, found.total.high],
        "causes": [_function_body(each) for each in found.causes[:_MOST_CAUSES]],
    }


def _function_body(each: FunctionChange) -> dict[str, Any]:
    explained = each.explained
    return {
        "name": keepable_text(each.name)[:_LONGEST_NAME],
        "file": keepable_text(each.file)[:_LONGEST_NAME],
        "line": each.line,
        "former": keepable_text(each.former)[:_LONGEST_NAME],
        "before": explained.before,
        "after": explained.after,
        "low": explained.low,
        "high": explained.high,
    }


def _key(cause: FunctionChange) -> tuple[str, str]:
    return cause.name, cause.file


def _benchmark(key: str) -> str:
    return str(values_in_key(key, ["benchmark"])[0])


def _digest(basis: object) -> str:
    return hashlib.sha256(json.dumps(basis).encode()).hexdigest()
