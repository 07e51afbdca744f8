"""Find the traces in which an alert would find the same as before: a digest of everything that detection depends on.

Where the digest is the one of the alert's last run, running the method again would give the same result, and the trace
is left out. See ``docs/decisions/runs-of-detection.md``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups, package_of
from knickpoint.model.alert import Alert, judging_settings
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.store.traces.trace_chunks import CHUNK
from knickpoint.version import __version__
from knickpoint.watch.detection.alert_settings import (
    BEFORE_DRIFT,
    GroupKey,
    depends_on_group,
    find_reference,
    group_key,
    known_columns,
    window_columns,
)
from knickpoint.watch.detection.commit_values import block_bytes, read_commit_values, sample_digests
from knickpoint.watch.lines import Lines

_BYTES: Final = 8
_BLOCK_BYTES: Final = 64 * 2**20


def _number(digest: bytes) -> int:
    """Return ``digest`` as a number that is never 0: 0 stands for no digest."""
    return int.from_bytes(digest, "little") or 1


def content_digests(
    traces: Sequence[Trace], slots: NDArray[np.int64], values: NDArray[np.floating[Any]]
) -> NDArray[np.uint64]:
    """Return the digest of what each row of ``values`` (traces x slots) holds, whichever alert looks at it."""
    found = np.empty(len(traces), dtype=np.uint64)
    wide = np.ascontiguousarray(values, dtype=np.float64)
    held = ~np.isnan(wide)
    packed = np.packbits(held, axis=1)
    # Traces of one machine are measured at the same commits: thousands of rows share the digest of these.
    of_commits: dict[bytes, bytes] = {}
    for row, trace in enumerate(traces):
        key = packed[row].tobytes()
        if key not in of_commits:
            of_commits[key] = _commits_digest(slots[held[row]])
        commits, measured = of_commits[key], wide[row][held[row]]
        digest = blake2b(b"".join((trace.better.value.encode(), commits, measured.data)), digest_size=_BYTES)
        found[row] = int.from_bytes(digest.digest(), "little")
    return found


def _commits_digest(slots: NDArray[np.int64]) -> bytes:
    return blake2b(slots.tobytes(), digest_size=_BYTES).digest()


class Digester:
    """Make the digests of traces for one alert on one line, from those of what they hold.

    They depend on the version of the program and of the package that adds the method, those settings of the alert on
    which its judgement depends, the part of the line that it shares with other lines, and on a trace's commits with
    values, in order, its values, which direction is better, the commit with which the alert compares drifts, and the
    change point from which an alert with a window detects.

    Raises ``ConfigError`` where there is no such commit.
    """

    def __init__(self, alert: Alert, line: Line, lines: Lines) -> None:
        seed = blake2b(digest_size=_BYTES)
        versions = [__version__, *filter(None, [package_of(alert.method)])]
        seed.update(json.dumps([*versions, judging_settings(alert), line.name], sort_keys=True).encode())

        # A tag can move, and a date is another commit when older ones come in.
        reference = find_reference(alert, line, lines)
        if reference is not None and reference.position != BEFORE_DRIFT:
            seed.update(f"{line.slots[reference.position]}".encode())

        # A branch shares its beginning with its base: where that changes, change points belong to other lines.
        while line.base:
            base = lines.line(line.base)
            for shared in (line, base):
                seed.update(np.array(shared.slots[: line.merge_base + 1], dtype="<i8").tobytes())
            seed.update(f"{base.name}:{line.merge_base}".encode())
            if base.name == line.name:
                break
            line = base
        self.seed: Final = np.uint64(int.from_bytes(seed.digest(), "little"))

    def digests(
        self, contents: NDArray[np.uint64], slots: NDArray[np.int64], anchors: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """Return the digest of each row, never 0, from the digest of what it holds.

        ``anchors`` are the columns, in ``slots``, of the change points from which an alert with a window detects, -1
        for none.
        """
        found = _mixed(contents ^ self.seed)
        if anchors is not None and (anchored := anchors >= 0).any():
            found[anchored] = _mixed(found[anchored] ^ _mixed(slots[anchors[anchored]].astype(np.uint64) + _ODD))
        found[found == 0] = 1  # 0 stands for no digest
        return found


_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return ``numbers`` with every bit depending on all of theirs; different ones stay different.

    Source: the finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
    """
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def group_digests(
    alert: Alert,
    traces: Sequence[Trace],
    digests: NDArray[np.uint64],
    anchors: Mapping[GroupKey, int] | None = None,
) -> NDArray[np.uint64]:
    """Return for each trace one digest of its whole group, made of the ``digests`` of its traces by ascending id.

    ``anchors`` has, by group, the column of the change point from which an alert with a window detects.
    """
    groups: dict[GroupKey, list[int]] = defaultdict(list)
    for row, trace in enumerate(traces):
        groups[group_key(alert, trace)].append(row)
    ids = np.fromiter((trace.id for trace in traces), np.int64, len(traces))
    found = np.empty(len(traces), dtype=np.uint64)
    for key, rows in groups.items():
        found[rows] = group_digest(ids[rows], digests[rows], anchors.get(key, -1) if anchors else -1)
    return found


def group_digest(ids: NDArray[np.int64], digests: NDArray[np.uint64], anchor: int = -1) -> int:
    """Return the digest, never 0, of a group of the traces ``ids``, made of their ``digests``.

    ``anchor`` is the column of the change point from which an alert with a window detects, -1 for none.
    """
    order = np.argsort(ids)
    members = np.stack([ids[order].astype(np.uint64), digests[order]], axis=1)
    digest = blake2b(members.tobytes(), digest_size=_BYTES)
    if anchor >= 0:
        digest.update(f"from {anchor}".encode())
    return _number(digest.digest())


class _GroupWindows:
    """Gather, block by block, where groups are measured, and where the window of each begins."""

    def __init__(self, alert: Alert) -> None:
        self._alert = alert
        self._held: dict[GroupKey, NDArray[np.bool_]] = {}
        self._known: dict[GroupKey, set[int]] = defaultdict(set)

    def add(self, frame: Frame, known: Mapping[int, Sequence[int]]) -> None:
        held = ~np.isnan(frame.values)
        for row, trace in enumerate(frame.traces):
            key = group_key(self._alert, trace)
            self._held[key] = held[row] | self._held.get(key, False)
            self._known[key].update(known.get(trace.id, ()))

    def anchors(self) -> dict[GroupKey, int]:
        return {
            key: int(window_columns(held[None, :], self._alert.window, [sorted(self._known[key])]).anchor[0])
            for key, held in self._held.items()
        }


def changed_traces(
    store: Store, alert: Alert, line: Line, *, ids: NDArray[np.int64], known: NDArray[np.uint64], lines: Lines
) -> NDArray[np.int64]:
    """Return those of ``ids`` whose digest is not the one in ``known``."""
    if not known.any():
        return ids
    digester = Digester(alert, line, lines)
    windows = _GroupWindows(alert) if judges_groups(alert.method) and alert.window else None

    # Each trace by itself, block by block.
    blocks: list[NDArray[np.uint64]] = []
    traces: list[Trace] = []
    for frame in store.frames.blocks(line, ids, memory=block_bytes(alert, _BLOCK_BYTES)):
        columns = known_columns(store, alert, line, [trace.id for trace in frame.traces], first=frame.first)
        anchors = None
        if windows:
            windows.add(frame, columns)
        elif alert.window:
            rows = [columns.get(trace.id, ()) for trace in frame.traces]
            anchors = window_columns(~np.isnan(frame.values), alert.window, rows).anchor
        commits = read_commit_values(store, alert, frame)
        contents = sample_digests(content_digests(frame.traces, frame.slots, frame.values), commits)
        blocks.append(digester.digests(contents, frame.slots, anchors))
        if depends_on_group(alert):
            traces += frame.traces
    digests = np.concatenate(blocks)

    # Where the group counts, any change in it concerns all of its traces.
    if depends_on_group(alert):
        digests = group_digests(alert, traces, digests, windows.anchors() if windows else None)
    changed: NDArray[np.int64] = ids[digests != known]
    return changed


# Leave out the traces of whole chunks in which nothing changed, without reading their values.
#
# A run over everything compares the digest of each trace with that of the last run
# (:mod:`knickpoint.watch.detection.digests`), for which it reads all values. Where the digest of a whole chunk is that
# of the last run over everything, there is nothing to compare. See ``docs/decisions/runs-of-detection.md``.


_ALL: Final = parse_query("")


class WholeChunks:
    """Make the digests of the chunks of one repository for its alerts, from one look at the store for each line.

    ``renames`` are the traces that others continue, old → new. What an old trace holds belongs to its successor, in
    another chunk; so chunks with successors depend on the chunks of all old traces.
    """

    def __init__(self, store: Store, lines: Lines, renames: Mapping[int, int]) -> None:
        self.renames = renames
        self._store = store
        self._lines = lines
        self._of_line: dict[tuple[str, bool], dict[int, int]] = {}
        self._outside: bytes | None = None

    def digests(self, alert: Alert, line: Line, ids: NDArray[np.int64]) -> dict[int, int]:
        """Return, by chunk of ``ids``, a digest of all that ``alert`` depends on there.

        An alert with a window has none: it depends on the change points that it knows.
        """
        if alert.window:
            return {}
        looked_at = (line.name, alert.reads_samples)
        if looked_at not in self._of_line:
            everything = self._store.traces.select(self._lines.repository, _ALL)
            self._of_line[looked_at] = self._store.frames.chunk_digests(line, everything, samples=alert.reads_samples)
        seed = Digester(alert, line, self._lines).seed.tobytes() + self._settings()
        stored = self._of_line[looked_at]
        continued = self._of_old_traces(stored)
        successors = {new // CHUNK for new in self.renames.values()}
        return {
            chunk: int.from_bytes(
                blake2b(
                    seed + stored[chunk].to_bytes(_BYTES, "little", signed=True) + continued * (chunk in successors),
                    digest_size=_BYTES,
                ).digest(),
                "little",
                signed=True,
            )
            for chunk in np.unique(ids // CHUNK).tolist()
            if chunk in stored
        }

    def _of_old_traces(self, stored: Mapping[int, int]) -> bytes:
        chunks = {old // CHUNK for old in self.renames}
        return repr((sorted(self.renames.items()), [stored.get(chunk) for chunk in sorted(chunks)])).encode()

    def _settings(self) -> bytes:
        """Return a digest of what changes values or directions, and stands in no row of a chunk."""
        if self._outside is None:
            traces = self._store.traces
            digest = blake2b(repr((traces.directions, traces.kept_directions)).encode(), digest_size=_BYTES)
            for each in self._store.quarantines.stored(self._lines.repository):
                if each.quarantine.state.withholds:
                    digest.update(f"{each.quarantine.run_id} {each.quarantine.slot} {each.evidence}".encode())
            self._outside = digest.digest()
        return self._outside


def unchanged_traces(
    alert: Alert, ids: NDArray[np.int64], known: NDArray[np.uint64], before: Mapping[int, int], now: Mapping[int, int]
) -> NDArray[np.bool_]:
    """Return the ``ids`` that need no look: their chunk is as ``before``, and a digest of them is ``known``.

    An alert that judges traces together needs a look at all of them where one may have changed.
    """
    same = np.array(sorted(chunk for chunk, digest in now.items() if before.get(chunk) == digest), dtype=np.int64)
    found: NDArray[np.bool_] = np.isin(ids // CHUNK, same) & (known != 0)
    return np.zeros_like(found) if depends_on_group(alert) and not found.all() else found
