"""How jobs, results, offers of agents and requests to a scheduler travel between processes: as JSON, never as code."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import re
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeVar, cast

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import Measured, ProbeOutcome, ProbeResult, ResultsFile, Target
from knickpoint.model.errors import InputError

# Turn dataclasses into documents of JSON and back, strictly: unknown, missing and mistyped fields are errors.


_Dataclass = TypeVar("_Dataclass")


def document_of(value: Any) -> Any:
    """Return a dataclass as dicts, lists and plain values.

    Its fields may hold texts, numbers, enums, tuples and mappings.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: document_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: document_of(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [document_of(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def read_document(kind: type[_Dataclass], document: object, place: str = "") -> _Dataclass:
    """Return a document as the dataclass ``kind``; its types of fields are the schema.

    Raises:
        ValueError: a field is unknown, missing or of another type; it names the field, below ``place``.
    """
    hints = typing.get_type_hints(kind)
    if not isinstance(document, dict):
        raise ValueError(f"{place or 'it'} is not an object")  # noqa: TRY004 - bad input, as the others
    if unknown := [name for name in document if name not in hints]:
        raise ValueError(f"the field {_below(place, unknown[0])} is not known")
    if missing := [name for name in _required(kind) if name not in document]:
        raise ValueError(f"the field {_below(place, missing[0])} is missing")
    return kind(**{name: _read(hints[name], value, _below(place, name)) for name, value in document.items()})


def _read(hint: Any, value: object, place: str) -> Any:
    """Return a value of JSON as the type ``hint``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and isinstance(value, list | tuple):  # msgpack reads lists as tuples
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise ValueError(f"{place} has {len(value)} items, not {len(kinds)}")
        return tuple(
            _read(kind, item, f"{place}[{index}]") for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
        )
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict):
        return {name: _read(arguments[1], item, _below(place, name)) for name, item in value.items()}
    if dataclasses.is_dataclass(hint):
        return read_document(cast("type[Any]", hint), value, place)
    if isinstance(hint, type) and issubclass(hint, Enum):
        if value not in [member.value for member in hint]:
            raise ValueError(f"{place} is none of {', '.join(str(member.value) for member in hint)}")
        return hint(value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{place} is not a valid {getattr(origin or hint, '__name__', hint)}")
    return value


def _required(kind: type[Any]) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]


def _below(place: str, name: object) -> str:
    return f"{place}.{name}" if place else str(name)


MOST_RESULT_BYTES: Final = 32_000_000
"""What the results files of one probe may have together."""

_KEPT_OUTPUT: Final = 20_000
_KEPT_REASON: Final = 2_000


def text_of_job(job: ProbeJob) -> str:
    """Return a job as one line of JSON, without the file sources of the instance."""
    return json.dumps(document_of(replace(job, ingest=replace(job.ingest, sources={}))), ensure_ascii=False)


def job_from_text(text: str | bytes) -> ProbeJob:
    """Read a job.

    Raises:
        InputError: the text is none of a job.
    """
    try:
        return read_document(ProbeJob, json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"it is not readable: {error}", where="job of a probe", remedy="Run the same version of knick everywhere."
        ) from error


def bounded(result: ProbeResult, most: int = MOST_RESULT_BYTES) -> ProbeResult:
    """Return a result that may travel: with the end of its output, and skipped where its files have too many bytes."""
    size = sum(len(file.content) for file in result.files)
    output, reason = result.output[-_KEPT_OUTPUT:], result.reason[:_KEPT_REASON]
    if size <= most:
        return replace(result, output=output, reason=reason)
    return replace(
        result,
        outcome=ProbeOutcome.SKIPPED,
        measured={},
        files=(),
        output=output,
        reason=f"the results files have {size:,} bytes, more than {most:,}",
    )


def text_of_result(result: ProbeResult) -> str:
    """Return a result as one line of JSON; numbers that are not finite are written as Python reads them."""
    document: dict[str, Any] = {
        "probe": result.probe,
        "commit": result.target.commit,
        "pins": [list(pin) for pin in result.target.pins],
        "device": result.device,
        "outcome": result.outcome.value,
        "started": result.started.isoformat(),
        "seconds": result.seconds,
        "measured": {key: asdict(measured) for key, measured in result.measured.items()},
        "files": [
            {"name": file.name, "content": base64.b64encode(file.content).decode("ascii")} for file in result.files
        ],
        "reason": result.reason,
        "output": result.output,
        "built": result.built,
    }
    return json.dumps(document)


def result_from_text(text: str | bytes) -> ProbeResult:
    """Read a result.

    Raises:
        InputError: the text is none of a result.
    """
    try:
        document = json.loads(text)
        return ProbeResult(
            probe=str(document["probe"]),
            target=Target(str(document["commit"]), tuple((str(name), str(pin)) for name, pin in document["pins"])),
            device=str(document["device"]),
            outcome=ProbeOutcome(document["outcome"]),
            started=_moment(document["started"]),
            seconds=float(document["seconds"]),
            measured={str(key): _measured(value) for key, value in document["measured"].items()},
            files=tuple(
                ResultsFile(str(file["name"]), base64.b64decode(file["content"], validate=True))
                for file in document["files"]
            ),
            reason=str(document["reason"]),
            output=str(document["output"]),
            built=bool(document["built"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise InputError(
            f"it is not readable: {error}",
            where="result of a probe",
            remedy="Run the same version of knick everywhere.",
        ) from error


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("its time has no time zone")
    return moment


def _measured(value: Mapping[str, Any]) -> Measured:
    return Measured(float(value["value"]), tuple(float(sample) for sample in value["samples"]), str(value["unit"]))


# The two sides of a pool: what an agent offers and a device does, and what is asked for.


class DeviceState(Enum):
    """What a device does; the values are those of ``knick devices --format json``.

    DRAINING: it ends its probe and takes no further one. GONE: no agent has joined for it.
    """

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    DRAINED = "drained"
    GONE = "gone"

    @property
    def takes_jobs(self) -> bool:
        """Whether jobs may go to the device, now or after its probe."""
        return self in {DeviceState.IDLE, DeviceState.BUSY}


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device as people see it: what it does, since when, and the probes that it makes."""

    device: Device
    state: DeviceState
    since: datetime
    probes: tuple[str, ...] = ()
    progress: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """What an agent offers: a device. ``agent`` is the identity of its process, the same when it joins again."""

    device: Device
    agent: str


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job as it is submitted: it names a recipe of the configuration, and its digest, and brings no command."""

    job: ProbeJob
    digest: str


PROTOCOL: Final = 3
"""Grows when programs of different versions would misunderstand each other."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MOST_SLOTS: Final = 1_000
_MOST_PARAMS: Final = 100

Document = Mapping[str, Any]


def check_device(device: Device) -> None:
    """Check what a device states of itself.

    Raises:
        InputError: its name, its params or its slots cannot be used.
    """
    if not _NAME.fullmatch(device.name):
        raise InputError(
            f"{device.name!r} is not a name of a device",
            remedy="Use letters, digits, '.', '_' and '-', as in pixel-7.",
        )
    if not 1 <= device.slots <= _MOST_SLOTS:
        raise InputError(f"a device makes 1 to {_MOST_SLOTS:,} probes at once, not {device.slots}", where=device.name)
    if len(device.params) > _MOST_PARAMS or any(
        not name or not text.isprintable() or len(text) > _MOST_SLOTS
        for name, value in device.params.items()
        for text in (name, value)
    ):
        raise InputError(
            "its params cannot be used", where=device.name, remedy="Give few and short ones, as in arch=arm64."
        )


def device_document(device: Device) -> Document:
    """Return a device as a document."""
    return {"name": device.name, "params": dict(device.params), "use": device.use.value, "slots": device.slots}


def device_of(document: Document) -> Device:
    """Read a device."""
    return Device(
        str(document["name"]),
        {str(name): str(value) for name, value in document["params"].items()},
        DeviceUse(document["use"]),
        int(document["slots"]),
    )


def offer_document(offer: Offer) -> Document:
    """Return the offer of an agent as a document."""
    return {"protocol": PROTOCOL, "device": device_document(offer.device), "agent": offer.agent}


def offer_of(document: Document) -> Offer:
    """Read the offer of an agent.

    Raises:
        InputError: it cannot be used, or is of another version.
    """
    try:
        if document["protocol"] != PROTOCOL:
            raise InputError("the agent has another version of knick", remedy="Install the version that the pool has.")
        offer = Offer(device_of(document["device"]), str(document["agent"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the offer of an agent is not readable: {error}") from error
    check_device(offer.device)
    return offer


def request_document(job: ProbeJob) -> Document:
    """Return a job as it is submitted: with the name and the digest of its recipe, and without a command."""
    return {
        "probe": job.probe,
        "commit": job.target.commit,
        "pins": [list(pin) for pin in job.target.pins],
        "recipe": job.recipe.name,
        "digest": job.recipe.digest,
        "locations": dict(job.locations),
        "requester": job.requester,
        "use": job.use.value,
        "device": job.device,
        "priority": job.priority,
        "ingest": document_of(replace(job.ingest, sources={})),
        "added_params": dict(job.added_params),
    }


def request_of(document: Document) -> JobRequest:
    """Read a submitted job; its recipe has a name only.

    Raises:
        InputError: it cannot be read.
    """
    try:
        job = ProbeJob(
            probe=str(document["probe"]),
            target=Target(str(document["commit"]), tuple((str(name), str(pin)) for name, pin in document["pins"])),
            recipe=RecipeSettings(name=str(document["recipe"])),
            locations={str(name): str(place) for name, place in document["locations"].items()},
            requester=str(document["requester"]),
            use=DeviceUse(document["use"]),
            device=str(document["device"]),
            priority=int(document["priority"]),
            ingest=read_document(IngestSettings, document["ingest"], "ingest"),
            added_params={str(name): str(value) for name, value in document["added_params"].items()},
        )
        return JobRequest(job, str(document["digest"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"a submitted job is not readable: {error}") from error


def status_document(status: DeviceStatus) -> Document:
    """Return the status of a device as a document."""
    return {
        "device": device_document(status.device),
        "state": status.state.value,
        "since": status.since.isoformat(),
        "probes": list(status.probes),
        "progress": status.progress,
    }


def status_of(document: Document) -> DeviceStatus:
    """Read the status of a device."""
    return DeviceStatus(
        device_of(document["device"]),
        DeviceState(document["state"]),
        datetime.fromisoformat(document["since"]),
        tuple(str(probe) for probe in document["probes"]),
        str(document["progress"]),
    )
