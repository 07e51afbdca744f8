"""How jobs and results travel between processes: as JSON, never as code."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.pool.typed_documents import document_of, read_document
from knickpoint.model.bisection import Measured, ProbeOutcome, ProbeResult, ResultsFile, Target
from knickpoint.model.errors import InputError

__all__ = ["MOST_RESULT_BYTES", "bounded", "job_from_text", "result_from_text", "text_of_job", "text_of_result"]

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
        raise ValueError("its time has no zone")
    return moment


def _measured(value: Mapping[str, Any]) -> Measured:
    return Measured(float(value["value"]), tuple(float(sample) for sample in value["samples"]), str(value["unit"]))
