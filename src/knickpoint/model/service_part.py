"""The parts of a running instance, of which each process runs some."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from knickpoint.model.errors import InputError


class ServicePart(Enum):
    """A part of a running instance."""

    API = "api"
    """Serves the dashboard and the API, and takes in uploads."""

    WORKER = "worker"
    """Runs alerts, sends messages, bisects, runs schedules, seals and forgets."""

    INGEST = "ingest"
    """Polls sources, imports the files that NATS announces, follows repositories, and retries files that wait."""


ALL_PARTS = frozenset(ServicePart)
WORKER_PARTS = frozenset({ServicePart.WORKER, ServicePart.INGEST})


def joined_parts(parts: Collection[ServicePart]) -> str:
    """Return the names of ``parts`` in the order of the enum, separated by commas."""
    return ",".join(part.value for part in ServicePart if part in parts)


def parse_parts(text: str) -> frozenset[ServicePart]:
    """Parse names of parts that are separated by commas.

    Raises:
        InputError: a name is none of a part, or there is none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = {part.value: part for part in ServicePart}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        what = f"{unknown[0]!r} is not part" if unknown else "no part is named"
        raise InputError(what, where="--only", remedy=f"Name some of {', '.join(known)}, separated by commas.")
    return frozenset(known[name] for name in names)
