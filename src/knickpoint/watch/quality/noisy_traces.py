"""The noisiest traces: those whose findings people hid, or later data took back, most often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knickpoint.model.change_point import Condition
from knickpoint.model.quality import FindingRecord, Label

__all__ = ["NoisyTrace", "noisiest_traces", "traces_for_share"]


@dataclass(frozen=True, slots=True)
class NoisyTrace:
    """What became of the findings of one trace.

    ``hidden`` and ``real`` count labels. ``gone`` counts the undecided ones that later data took back. ``share`` is its part
    of all hidden findings, ``cumulated`` that of this trace and the noisier ones before it.
    """

    repository_id: int
    trace_id: int
    trace_key: str
    findings: int
    hidden: int
    real: int
    gone: int
    share: float
    cumulated: float


def noisiest_traces(records: Iterable[FindingRecord], repositories: dict[int, int]) -> list[NoisyTrace]:
    """Return the traces with hidden or vanished findings, the noisiest first: by hidden, by gone, then by key.

    ``repositories`` is finding → id of its repository.
    """
    listed = list(records)
    total = sum(record.label is Label.NOISE for record in listed)
    # Most traces have neither: theirs are not counted.
    by_trace: dict[int, list[FindingRecord]] = {record.trace_id: [] for record in listed if _is_noisy(record)}
    for record in listed:
        if record.trace_id in by_trace:
            by_trace[record.trace_id].append(record)
    noisy = [(key, several, _hidden(several), _gone(several)) for key, several in by_trace.items()]
    noisy.sort(key=lambda each: (-each[2], -each[3], each[1][0].trace_key, each[0]))
    found: list[NoisyTrace] = []
    before = 0
    for key, several, hidden, gone in noisy:
        before += hidden
        found.append(
            NoisyTrace(
                repository_id=repositories[several[0].id],
                trace_id=key,
                trace_key=several[0].trace_key,
                findings=len(several),
                hidden=hidden,
                real=sum(record.label is Label.REAL for record in several),
                gone=gone,
                share=hidden / total if total else 0.0,
                cumulated=before / total if total else 0.0,
            )
        )
    return found


def traces_for_share(traces: Sequence[NoisyTrace], share: float) -> list[NoisyTrace]:
    """Return the fewest of ``traces``, the noisiest first, that made at least ``share`` of what was hidden."""
    found: list[NoisyTrace] = []
    for trace in traces:
        if not trace.hidden:
            break
        found.append(trace)
        if trace.cumulated >= share:
            break
    return found


def _is_noisy(record: FindingRecord) -> bool:
    return record.label is Label.NOISE or _is_taken_back(record)


def _is_taken_back(record: FindingRecord) -> bool:
    return record.condition is Condition.GONE and record.label is Label.UNDECIDED


def _hidden(records: Iterable[FindingRecord]) -> int:
    return sum(record.label is Label.NOISE for record in records)


def _gone(records: Iterable[FindingRecord]) -> int:
    return sum(map(_is_taken_back, records))
