"""The JSON of events is a contract: the database keeps it, and NATS publishes it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from knickpoint.store.events import (
    BoundaryMoved,
    EventKind,
    FindingsChanged,
    FindingsDecided,
    Payload,
    TracesChanged,
    pack_ids,
)

NEIGHBOURS = pack_ids(np.arange(3, 6, dtype=np.int64))


@pytest.mark.parametrize(
    ("payload", "kind", "expected"),
    [
        (
            TracesChanged("lib", slots=(4,), runs=(7,), traces=NEIGHBOURS),
            "traces-changed",
            '{"repository": "lib", "slots": [4], "runs": [7], "count": 3, "first": 3}',
        ),
        (
            TracesChanged("lib", slots=(4,), runs=(7,), traces=NEIGHBOURS, truncated=True),
            "traces-changed",
            '{"repository": "lib", "slots": [4], "runs": [7], "truncated": true, "count": 3, "first": 3}',
        ),
        (
            FindingsChanged(
                "lib", 9, (1,), (2, 3), 4, truncated=False, new=5, moved=6, gone=7, returned=8, recovered=0
            ),
            "changes-updated",
            (
                '{"repository": "lib", "run": 9, "new_changes": [1], "updated_changes": [2, 3],'
                ' "history_changes": 4, "truncated": false, "new": 5, "moved": 6, "gone": 7, "returned": 8,'
                ' "recovered": 0}'
            ),
        ),
        (
            BoundaryMoved("lib", (2,), 1, truncated=True),
            "changes-updated",
            '{"repository": "lib", "updated_changes": [2], "history_changes": 1, "truncated": true}',
        ),
        (
            FindingsDecided("lib", 2, (5, 6)),
            "changes-updated",
            '{"repository": "lib", "decided": 2, "changes": [5, 6]}',
        ),
    ],
)
def test_a_payload_is_this_json(payload: Payload, kind: str, expected: str) -> None:
    assert payload.kind is EventKind(kind)
    assert json.dumps(payload.members()) == expected
