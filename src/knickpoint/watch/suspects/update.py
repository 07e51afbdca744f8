"""Rank the suspects of the changes that are new or were updated, and keep them in the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from knickpoint.history import Git, read_touched_files
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.errors import HistoryError
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.query import parse_query
from knickpoint.model.suspects import CommitFiles, Suspect, SuspectFacts, Suspects
from knickpoint.store import Store
from knickpoint.store.bisections import StoredBisection
from knickpoint.store.findings.statements import RankedChange
from knickpoint.store.profiles import StoredCause
from knickpoint.store.traces.traces import Traces
from knickpoint.watch.lines import Lines
from knickpoint.watch.suspects.commit_facts import CommitFacts, KeyWords, contrast, count_words
from knickpoint.watch.suspects.machine import chance_of_machine, find_machine_change
from knickpoint.watch.suspects.ranking import NONE, rank_suspects

# Which commits may be the place of a change: those of its suspect range, and of its interval of location around it.


MOST_CANDIDATES: Final = 1_000
"""Commits of the longest list of suspects."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit of a line that may have caused a change, ``distance`` measured commits from the suspect range."""

    slot: int
    position: int
    distance: int


def candidates_of(line: Line, suspect_range: SuspectRange, measured: Collection[int], interval: int) -> list[Candidate]:
    """Return the commits of a suspect range, and those up to ``interval`` measured commits around it, by position.

    ``measured`` are the slots of commits with results. The list is empty where the range is no longer on the line, or
    longer than :data:`MOST_CANDIDATES`; the commits around it are left out, the farthest first, where the list would
    be.
    """
    within = suspect_range.on(line)
    if within is None:
        return []
    begin, end = within.previous + 1, within.position
    found = [Candidate(line.slots[position], position, 0) for position in range(begin, end + 1)]
    if len(found) > MOST_CANDIDATES:
        return []
    before = _around(line, range(begin - 1, -1, -1), measured, interval, -1)
    after = _around(line, range(end + 1, len(line.slots)), measured, interval, 1)
    around = sorted([*before, *after], key=lambda each: (abs(each.distance), each.position))
    return sorted([*found, *around[: MOST_CANDIDATES - len(found)]], key=lambda each: each.position)


def _around(line: Line, positions: range, measured: Collection[int], interval: int, direction: int) -> list[Candidate]:
    """Return the commits on one side of a suspect range, nearest first, as far as the interval reaches.

    A change between two measured commits lies at the later one. Before the range, a measured commit therefore begins
    the next distance; after it, a measured commit ends one.
    """
    found: list[Candidate] = []
    distance = 0 if direction < 0 else 1
    for position in positions:
        slot = line.slots[position]
        if direction < 0 and slot in measured:
            distance += 1
        if distance > interval or len(found) >= MOST_CANDIDATES:
            break
        if distance:
            found.append(Candidate(slot, position, direction * distance))
        if direction > 0 and slot in measured:
            distance += 1
    return found if direction < 0 else _whole(found, measured)


def _whole(found: list[Candidate], measured: Collection[int]) -> list[Candidate]:
    """Leave out commits after the last measured one: no value is at or after them."""
    while found and found[-1].slot not in measured:
        found.pop()
    return found


# Let the answer of a bisection replace a ranking: what was measured counts more than what commits touch.


_LEAST: Final = 0.001
"""Probability below which a commit that a bisection excluded is not a suspect any more."""


def measured_suspects(ranked: Suspects, bisection: StoredBisection) -> Suspects:
    """Return the commits with the probabilities that ``bisection`` found, the culprit first.

    Reasons stay behind its name.
    """
    known = bisection.posterior
    if known is None:
        return ranked
    reasons = {each.slot: each.reasons for each in ranked.suspects}
    slots = bisection.request.slots[1:]
    # Of several culprits, none made the change alone.
    likely = known.marginal if len(bisection.answer.culprits) > 1 else known.single
    shares = dict(zip(slots, (float(share) for share in likely), strict=True))
    culprits = set(bisection.answer.culprits)
    suspects = [
        Suspect(slot, share, (_reason(bisection, found=slot in culprits), *reasons.get(slot, ())))
        for slot, share in shares.items()
        if share >= _LEAST or slot in culprits
    ]
    order = {slot: place for place, slot in enumerate(slots)}
    suspects.sort(key=lambda each: (each.slot not in culprits, -each.probability, order[each.slot]))
    left = max(0.0, 1.0 - sum(each.probability for each in suspects))
    return replace(ranked, none=left, suspects=tuple(suspects), note="", bisection=bisection.id, machine="")


def _reason(bisection: StoredBisection, *, found: bool) -> str:
    return f"bisection {bisection.name} found it" if found else f"bisection {bisection.name} does not exclude it"


GitSource = Callable[[Repository], Git | None]
"""Returns the git repository of a repository; None where its commits come from the results.

It may raise HistoryError.
"""

_BATCH: Final = 500
"""Changes that are ranked and written together."""

_MOST_TRACES: Final = 20_000
"""Traces of a repository whose keys are read; of more, so many at equal distances."""

_MOST_MEMBERS: Final = 2_000
"""Members of a change whose keys are read."""

_MOST_CONFIRMED: Final = 200
"""Earlier confirmed changes whose causes are read."""

_MOST_MERGES: Final = 500
"""Suspects of one ranking that are asked whether they are merges."""

_MOST_MERGED: Final = 200
"""Commits of one merge that are counted."""

_NAMED_MERGED: Final = 5
"""Commits of one merge that are named."""

_LONGEST_SUBJECT: Final = 60

_COUNTED: Final[WeakKeyDictionary[Traces, tuple[tuple[int, bytes], KeyWords]]] = WeakKeyDictionary()
"""The words that were counted last in each open store; at 20,000 keys that takes longer than a ranking."""


def update_suspects(store: Store, open_git: GitSource, *, everything: bool = False, also: Collection[int] = ()) -> int:
    """Rank the suspects of all live changes that are new, or have another range, members or certainty.

    ``everything`` ranks those of all live changes, ``also`` names further changes. Return how many were ranked. git is
    read before anything is written, so that no writer waits for it; where it cannot be read, places alone decide, and
    the note names the reason.

    Raises:
        StoreError: the store cannot be read or written.
    """
    count = 0
    for ranked in rank_stale(store, open_git, everything=everything, also=also):
        store.findings.suspects.put(ranked)
        count += len(ranked)
    return count


def rank_stale(
    store: Store, open_git: GitSource, *, everything: bool = False, also: Collection[int] = ()
) -> Iterator[dict[RankedChange, Suspects]]:
    """Yield the rankings of :func:`update_suspects` in batches, and write nothing.

    Raises:
        StoreError: the store cannot be read.
    """
    for repository in store.commits.repositories():
        stale = store.findings.suspects.stale(repository, everything=everything, also=also)
        if not stale:
            continue
        evidence = _RepositoryEvidence(store, repository, open_git)
        for batch in _batches(stale):
            yield _rank(store, evidence, batch)


def _batches(changes: Iterable[RankedChange]) -> Iterator[list[RankedChange]]:
    remaining = iter(changes)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


@dataclass
class _RepositoryEvidence:
    """What the rankings of one repository share, read once."""

    store: Store
    repository: Repository
    open_git: GitSource
    failure: str = ""

    def __post_init__(self) -> None:
        self.lines = Lines(self.store, self.repository)
        self._files: dict[str, CommitFiles] = {}
        self._asked: set[str] = set()
        self._merged: dict[str, Sequence[Commit]] = {}
        self._asked_merges: set[str] = set()

    @cached_property
    def measured(self) -> Collection[int]:
        """The slots of commits with results."""
        return self.store.runs.slots(self.repository)

    @cached_property
    def words(self) -> KeyWords:
        """The words of the keys of all traces, or of some at equal distances: counted anew for other traces."""
        ids = self.store.traces.select(self.repository, parse_query(""))
        if len(ids) > _MOST_TRACES:
            ids = ids[np.linspace(0, len(ids) - 1, _MOST_TRACES).astype(np.int64)]
        counted_keys = (self.repository.id, ids.tobytes())  # a trace never changes its key
        known = _COUNTED.get(self.store.traces)
        if known is None or known[0] != counted_keys:
            known = counted_keys, count_words(trace.key for trace in self.store.traces.get(ids))
            _COUNTED[self.store.traces] = known
        return known[1]

    @cached_property
    def git(self) -> Git | None:
        """The git repository, None where there is none or it cannot be opened."""
        try:
            return self.open_git(self.repository)
        except HistoryError as error:
            self.failure = error.message
            return None

    @cached_property
    def causes(self) -> Mapping[int, str]:
        """Change → hash of its cause: the confirmed ones with a single commit in their range."""
        single: dict[int, int] = {}
        for key, suspect_range in self.store.findings.suspects.confirmed(self.repository, _MOST_CONFIRMED).items():
            within = candidates_of(self.lines.line(suspect_range.line), suspect_range, (), 0)
            if len(within) == 1:
                single[key] = within[0].slot
        hashes = {
            found.slot: found.commit.hash for found in self.store.commits.get(self.repository, list(single.values()))
        }
        return {key: hashes[slot] for key, slot in single.items() if slot in hashes}

    def files(self, hashes: Collection[str]) -> Mapping[str, CommitFiles]:
        """Return hash → the files that the commit touches; each commit is read once."""
        missing = [name for name in hashes if name not in self._asked]
        if missing and self.git is not None:
            self._asked.update(missing)
            try:
                self._files |= read_touched_files(self.git, missing)
            except HistoryError as error:
                self.failure = error.message
        return self._files

    def merged(self, hashes: Collection[str]) -> Mapping[str, Sequence[Commit]]:
        """Return merge → the commits that it brings, for those of some commits that are merges; each is read once."""
        missing = [name for name in hashes if name not in self._asked_merges][:_MOST_MERGES]
        if missing and self.git is not None:
            self._asked_merges.update(missing)
            try:
                self._merged |= self.git.merged(missing, most=_MOST_MERGED)
            except HistoryError as error:
                self.failure = error.message
        return self._merged

    @cached_property
    def cause_paths(self) -> Mapping[int, frozenset[str]]:
        """Confirmed change → the paths of sources that its cause touches."""
        files = self.files(list(self.causes.values()))
        return {key: CommitFacts(0, 0, "", files[name]).paths for key, name in self.causes.items() if name in files}

    def earlier(self, change: int) -> frozenset[str]:
        """Return the paths of sources that the causes of the other confirmed changes touch."""
        return frozenset[str]().union(*(paths for key, paths in self.cause_paths.items() if key != change))


def _rank(store: Store, evidence: _RepositoryEvidence, batch: Sequence[RankedChange]) -> dict[RankedChange, Suspects]:
    """Rank the suspects of some changes; their commits and files are read together."""
    candidates = {
        each.id: candidates_of(
            evidence.lines.line(each.suspect_range.line), each.suspect_range, evidence.measured, each.interval
        )
        for each in batch
    }
    slots = sorted({candidate.slot for several in candidates.values() for candidate in several})
    commits = {found.slot: found.commit for found in store.commits.get(evidence.repository, slots)}
    files = evidence.files([commit.hash for commit in commits.values()])
    merged = evidence.merged([commit.hash for commit in commits.values()])
    members = store.findings.suspects.members([each.id for each in batch])
    traces = store.findings.suspects.member_traces([each.id for each in batch])

    def facts_of(candidate: Candidate) -> CommitFacts:
        commit = commits[candidate.slot]
        return CommitFacts(
            candidate.slot, candidate.position, commit.subject, files.get(commit.hash), candidate.distance
        )

    causes = store.profiles.causes([each.id for each in batch])
    bisections = store.bisections.in_force([each.id for each in batch if each.bisection])
    ranked: dict[RankedChange, Suspects] = {}
    for each in batch:
        known = [facts_of(candidate) for candidate in candidates[each.id] if candidate.slot in commits]
        source = SuspectFacts.GIT if any(commit.files for commit in known) else SuspectFacts.RESULTS
        moved = count_words(_spread(members.get(each.id, [])))
        line = evidence.lines.line(each.suspect_range.line)
        machine = find_machine_change(store, line, each.suspect_range, traces.get(each.id, ()))
        none = NONE[each.certainty] if machine is None else chance_of_machine(machine, NONE[each.certainty])
        ranked[each] = Suspects(
            each.suspect_range,
            none if known else 1.0,
            source,
            tuple(
                _with_merged(suspect, merged.get(commits[suspect.slot].hash, ()))
                for suspect in rank_suspects(
                    known,
                    contrast(moved, evidence.words),
                    none=none,
                    interval=each.interval,
                    earlier=evidence.earlier(each.id),
                    slower=slower_files(causes[each.id]) if each.id in causes else {},
                )
            ),
            " ".join(
                filter(None, [str(machine) if machine and machine.excluded else "", _note(evidence, source, known)])
            ),
            machine="" if machine is None or machine.excluded else str(machine),
        )
        if each.id in bisections:
            ranked[each] = measured_suspects(ranked[each], bisections[each.id])
    return ranked


def slower_files(cause: StoredCause) -> dict[str, str]:
    """Return file → function for the causes that profiles name, those of the lead first."""
    found: dict[str, str] = {}
    for benchmark in cause.body.get("benchmarks", ()):
        for each in benchmark["causes"]:
            if each["file"]:
                found.setdefault(each["file"], each["name"])
    return found


def _with_merged(suspect: Suspect, found: Sequence[Commit]) -> Suspect:
    """Return ``suspect`` with the commits ``found`` that it merges, one of which is the cause."""
    if not found:
        return suspect
    named = "; ".join(f"{each.short} {plain_line(each.subject, _LONGEST_SUBJECT)}" for each in found[:_NAMED_MERGED])
    count = "commits" if len(found) == _MOST_MERGED else counted(len(found), "commit")
    rest = "; …" if len(found) > _NAMED_MERGED else ""
    return replace(suspect, reasons=(*suspect.reasons, f"merges {count}: {named}{rest}"))


def _spread(keys: Sequence[str]) -> Sequence[str]:
    """Return the keys, or some at equal distances where there are many."""
    return keys[:: -(-len(keys) // _MOST_MEMBERS)] if keys else keys


def _note(evidence: _RepositoryEvidence, source: SuspectFacts, commits: Sequence[CommitFacts]) -> str:
    """Return the limits of a ranking, in words."""
    if not commits:
        return f"The suspect range is no longer on its line, or has more than {MOST_CANDIDATES:,} commits."
    if source is SuspectFacts.GIT:
        unknown = sum(commit.files is None for commit in commits)
        return f"The files of {counted(unknown, 'commit')} are unknown." if unknown else ""
    reason = f": {evidence.failure}" if evidence.failure else ""
    if evidence.git is None and not reason:
        return "The repository has no location, so the files of its commits are unknown. All commits weigh the same."
    return f"git does not have the files of these commits{reason}. All commits weigh the same."
