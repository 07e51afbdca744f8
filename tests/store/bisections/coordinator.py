"""Work off a bisection until killed; run as a process of its own by the tests beside it.

``coordinator.py LOCATION NAME PROBES`` claims B1 as soon as it can, goes on from the journal, and ends it after so many
probes. It prints the name of each probe after its result was acknowledged.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from knickpoint.model.bisection import (
    BisectionState,
    Measured,
    ProbeOutcome,
    ProbePurpose,
    ProbeResult,
    ResultsFile,
    Target,
)
from knickpoint.store import open_store
from knickpoint.store.bisections import BisectionAnswer

_LEASE = 0.2


def main(location: str, name: str, probes: int) -> None:
    with open_store(location) as store:
        while (found := store.bisections.claim(name, datetime.now(UTC), _LEASE)) is None:
            if store.bisections.get(1).state.ended:
                return
        journal = store.bisections.journal(found.id, name)
        known = {each.name: each for each in journal.probes()}
        for number in range(probes):
            probe = f"B1-{number + 1}"
            store.bisections.renew(found.id, name, datetime.now(UTC) + timedelta(seconds=_LEASE))
            if probe in known and known[probe].result is not None:
                continue
            place = number % len(found.request.slots)
            target = Target(f"{found.request.slots[place]:040x}")
            journal.begin(probe, place=place, device="", purpose=ProbePurpose.SEARCH, target=target)
            value = Measured(float(number), (float(number),), "ms")
            files = (ResultsFile("out.json", name.encode() * 1000),)
            now = datetime.now(UTC)
            outcome = ProbeOutcome.MEASURED
            journal.record(ProbeResult(probe, target, name, outcome, now, 1.0, {",name=a,": value}, files))
            print(probe, flush=True)  # noqa: T201 - the test reads it
        store.bisections.finish(1, name, BisectionAnswer(BisectionState.GAVE_UP, "all measured"), datetime.now(UTC))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
