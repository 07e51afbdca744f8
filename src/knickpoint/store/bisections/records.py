"""The records of a bisection: the request, the state, the answer, the probes, and how rows hold them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import numpy as np

from knickpoint.model.bisection import (
    BisectionState,
    Measured,
    ProbeOutcome,
    ProbePurpose,
    ProbeResult,
    ResultsFile,
    Target,
)
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.posterior import Posterior
from knickpoint.store.array_codec import checked, moment, pack, stored_json, unpack

# What the store keeps of a bisection: the request, the state, the answer, the probes.


@dataclass(frozen=True, slots=True)
class BisectionRequest:
    """What is to be searched.

    ``slots`` are those of the places, from the good end to the bad end. ``change_id`` and ``trace_id`` are 0, and
    ``trace_key`` is "", where it is not about one. ``facts`` is what the search knows before it measures, as JSON
    values: the levels, the movement, the budget. ``by_rule`` says that no person asked for it.
    """

    repository_id: int
    line: str
    slots: tuple[int, ...]
    recipe: str
    digest: str
    who: str
    asked: datetime
    change_id: int = 0
    trace_id: int = 0
    trace_key: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    by_rule: bool = False

    @property
    def suspect_range(self) -> SuspectRange:
        """The range that is searched."""
        return SuspectRange(self.line, self.slots[0], self.slots[-1])


@dataclass(frozen=True, slots=True)
class BisectionAnswer:
    """How a bisection ended.

    ``culprits`` are the slots of the commits that made the change, empty where none was found. ``suspect_range`` is
    where the change must lie, None where nothing was found. ``probability`` is that of what is stated.
    """

    state: BisectionState
    reason: str
    culprits: tuple[int, ...] = ()
    suspect_range: SuspectRange | None = None
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredBisection:
    """A bisection in the store.

    ``devices`` are the machines that take its probes. ``seconds_left`` is an estimate, None where there is none.
    ``holder`` is the worker that coordinates it, until ``lease``. ``stopped_by`` is who asked to stop it, "" without.
    ``edition`` grows with each change.
    """

    id: int
    request: BisectionRequest
    state: BisectionState
    answer: BisectionAnswer
    started: datetime | None
    ended: datetime | None
    posterior: Posterior | None
    devices: tuple[str, ...]
    seconds_left: float | None
    holder: str
    lease: datetime
    stopped_by: str
    edition: int

    @property
    def name(self) -> str:
        """The id as people write it, as in ``B12``."""
        return f"B{self.id}"

    @property
    def stopping(self) -> bool:
        """Whether a person stopped it, and its worker has not ended it yet."""
        return bool(self.stopped_by) and not self.state.ended


@dataclass(frozen=True, slots=True)
class JournalProbe:
    """A probe that a bisection asked for: its name and number, its place, and its result, None until it ended.

    ``known`` is what the search knew after the result, None where that was not kept.
    """

    name: str
    number: int
    place: int
    device: str
    purpose: ProbePurpose
    target: Target
    begun: datetime
    result: ProbeResult | None
    waits: bool = False
    known: Posterior | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log of a bisection."""

    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class WaitingResults:
    """Results files of a probe that are not imported yet.

    ``identity`` is that of the run which they become. ``pins`` are the commits of the other repositories, and
    ``bisections`` the names of the bisections that it serves.
    """

    probe_id: int
    repository_id: int
    identity: str
    slot: int
    device: str
    started: datetime
    pins: tuple[tuple[str, str], ...]
    bisections: Sequence[str]
    files: tuple[ResultsFile, ...]


@dataclass(frozen=True, slots=True)
class ProbeValue:
    """What a probe measured of the trace that its bisections follow, in the unit of its results.

    ``run`` is the name of the run that its results become, and ``bisections`` are the ids of those that it served.
    """

    slot: int
    run: str
    device: str
    started: datetime
    value: float
    unit: str
    bisections: tuple[int, ...]


# Turn rows of bisections and probes into records, and back.


_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_LONGEST_REASON: Final = 500
_LONGEST_OUTPUT: Final = 8_000


def bounded(text: str, longest: int = _LONGEST_REASON) -> str:
    """Return the end of a text that a program printed, without what a database refuses: NUL, halves of characters."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text[-longest:])


def request_values(request: BisectionRequest) -> dict[str, Any]:
    """Return the columns of a bisection that waits."""
    return {
        "repository_id": request.repository_id,
        "line": request.line,
        "slots": checked(pack(np.array(request.slots, dtype=np.int64))),
        "change_id": request.change_id,
        "trace_id": request.trace_id,
        "trace_key": request.trace_key,
        "recipe": request.recipe,
        "digest": request.digest,
        "request": json.dumps(dict(request.facts), ensure_ascii=False, sort_keys=True, separators=(",", ":")),
        "who": request.who,
        "by_rule": int(request.by_rule),
        "asked": request.asked.timestamp(),
        "state": BisectionState.WAITING.value,
        "reason": "",
        "previous": -1,
        "slot": -1,
        "culprits": "[]",
        "probability": 0.0,
        "posterior": b"",
        "devices": "[]",
        "holder": "",
        "lease": 0.0,
        "stopped_by": "",
        "edition": 1,
    }


def packed_posterior(posterior: Posterior) -> bytes:
    """Return the bytes of a posterior; float32 where that loses nothing."""
    return checked(pack(posterior.single, np.array([posterior.none, posterior.several]), posterior.marginal))


def _posterior_of(packed: bytes | None) -> Posterior | None:
    if not packed:
        return None
    single, (none, several), marginal = unpack(packed, 3)
    return Posterior(single, float(none), float(several), marginal)


def stored_of(row: Mapping[Any, Any]) -> StoredBisection:
    """Return the bisection of a row."""
    (slots,) = unpack(row["slots"], 1)
    request = BisectionRequest(
        repository_id=row["repository_id"],
        line=row["line"],
        slots=tuple(int(slot) for slot in slots),
        recipe=row["recipe"],
        digest=row["digest"],
        who=row["who"],
        asked=moment(row["asked"]),
        change_id=row["change_id"],
        trace_id=row["trace_id"],
        trace_key=row["trace_key"],
        facts=stored_json(row["request"]),
        by_rule=bool(row["by_rule"]),
    )
    state = BisectionState(row["state"])
    found = SuspectRange(row["line"], row["previous"], row["slot"]) if row["slot"] >= 0 else None
    culprits = tuple(stored_json(row["culprits"]))
    return StoredBisection(
        id=row["id"],
        request=request,
        state=state,
        answer=BisectionAnswer(state, row["reason"], culprits, found, row["probability"]),
        started=None if row["started"] is None else moment(row["started"]),
        ended=None if row["ended"] is None else moment(row["ended"]),
        posterior=_posterior_of(row["posterior"]),
        devices=tuple(stored_json(row["devices"])),
        seconds_left=row["left_seconds"],
        holder=row["holder"],
        lease=moment(row["lease"]),
        stopped_by=row["stopped_by"],
        edition=row["edition"],
    )


def target_text(target: Target) -> str:
    """Return the text of a target in the database."""
    return json.dumps([target.commit, list(target.pins)], ensure_ascii=False, separators=(",", ":"))


def target_of(text: str) -> Target:
    """Return the target that :func:`target_text` wrote."""
    commit, pins = stored_json(text)
    return Target(commit, tuple((repository, pinned) for repository, pinned in pins))


def measured_text(measured: Mapping[str, Measured]) -> str:
    """Return the values of a probe as JSON, sorted by trace key; what is not finite is null."""
    body = {
        key: [_number(each.value), [_number(sample) for sample in each.samples], each.unit]
        for key, each in measured.items()
    }
    return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _measured_of(text: str) -> dict[str, Measured]:
    return {
        key: Measured(_value(value), tuple(_value(sample) for sample in samples), unit)
        for key, (value, samples, unit) in stored_json(text).items()
    }


def _value(number: float | None) -> float:
    return math.nan if number is None else float(number)


def probe_values(result: ProbeResult, repository_id: int, slot: int, key: str, identity: str) -> dict[str, Any]:
    """Return the columns of a probe that ended."""
    return {
        "repository_id": repository_id,
        "identity": identity,
        "key": key,
        "slot": slot,
        "device": bounded(result.device),
        "outcome": result.outcome.value,
        "started": result.started.timestamp(),
        "seconds": result.seconds,
        "measured": measured_text(result.measured),
        "reason": bounded(result.reason),
        "output": bounded(result.output, _LONGEST_OUTPUT),
        "built": int(result.built),
        "waits": int(bool(result.files)),
    }


def probe_of(row: Mapping[Any, Any]) -> JournalProbe:
    """Return a probe of a bisection from the joined row of ``planned_probe`` and ``probe``."""
    target = target_of(row["target"])
    result = None
    if row["probe_id"]:
        result = ProbeResult(
            probe=row["name"],
            target=target,
            device=row["measured_on"],
            outcome=ProbeOutcome(row["outcome"]),
            started=moment(row["started"]),
            seconds=row["seconds"],
            measured=_measured_of(row["measured"]),
            reason=row["reason"],
            output=row["output"],
            built=bool(row["built"]),
        )
    return JournalProbe(
        name=row["name"],
        number=row["number"],
        place=row["place"],
        device=row["device"],
        purpose=ProbePurpose(row["purpose"]),
        target=target,
        begun=moment(row["begun"]),
        result=result,
        waits=bool(row["waits"]),
        known=_posterior_of(row["known"]),
    )
