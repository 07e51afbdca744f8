"""Leave out the traces of whole chunks in which nothing changed, without reading their values.

A run over everything compares the digest of each trace with that of the last run (:mod:`knickpoint.watch.detection.digests`),
for which it reads all values. Where the digest of a whole chunk is that of the last run over everything, there is nothing to
compare. See ``docs/decisions/runs-of-detection.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.store.traces.trace_chunks import CHUNK
from knickpoint.watch.detection.alert_groups import depends_on_group
from knickpoint.watch.detection.digests import Digester
from knickpoint.watch.lines import Lines

__all__ = ["WholeChunks", "unchanged_traces"]

_BYTES: Final = 8
_ALL: Final = parse_query("")


class WholeChunks:
    """Make the digests of the chunks of one repository for its alerts, from one look at the store for each line.

    ``renames`` are the traces that others continue, old → new. What an old trace holds belongs to its successor, in another
    chunk; so chunks with successors depend on the chunks of all old traces.
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
    """Return which of ``ids`` need no look: their chunk is as ``before``, and a digest of them is ``known``.

    An alert that judges traces together needs a look at all of them where one may have changed.
    """
    same = np.array(sorted(chunk for chunk, digest in now.items() if before.get(chunk) == digest), dtype=np.int64)
    found: NDArray[np.bool_] = np.isin(ids // CHUNK, same) & (known != 0)
    return np.zeros_like(found) if depends_on_group(alert) and not found.all() else found
