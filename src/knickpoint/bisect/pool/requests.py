"""How requests to the scheduler of a pool travel: offers of agents, jobs without commands, devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.pool.documents import DeviceState, DeviceStatus, JobRequest, Offer, document_of, read_document
from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import Target
from knickpoint.model.errors import InputError

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
