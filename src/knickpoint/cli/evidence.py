"""Show the evidence for what a method decided, as text and as what JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knickpoint.model.regression import StepNumbers

if TYPE_CHECKING:
    from knickpoint.model.step import Candidate, Check, Detection

__all__ = ["check_lines", "detection_lines", "plain", "verdict_on"]


_JSON_NAMES: Final[Mapping[str, str]] = {"suspect_range": "place"}
"""Names of fields that JSON output gives under another name, the one that its readers know."""


def _json_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the fields of a dataclass; the numbers of a step stand beside the fields around them."""
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        if isinstance(held, StepNumbers):
            yield from _json_fields(held)
        else:
            yield _JSON_NAMES.get(field.name, field.name), held


def plain(value: Any) -> Any:
    """Turn what an explanation consists of into what JSON can hold; numbers that are not finite become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(held) for name, held in _json_fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return [plain(one) for one in value]
    scalar = value.item() if isinstance(value, np.generic) else value
    if isinstance(scalar, float) and not math.isfinite(scalar):
        return None
    if isinstance(scalar, datetime):
        return scalar.isoformat()
    return scalar.value if isinstance(scalar, Enum) else scalar


def check_lines(checks: Iterable[Check]) -> Iterator[str]:
    """Give a line for each check: its number, the bound, and what came of it."""
    for check in checks:
        value = f"{check.value:.6g}"
        if check.bound is None:
            yield f"{check.name}: {value}"
        else:
            mark = "passes" if check.passed else "FAILS"
            yield f"{check.name}: {value} {check.relation} {check.bound:.6g}: {mark}"


def detection_lines(detection: Detection) -> Iterator[str]:
    """Give the parameters of the method, and what it estimated of the series as a whole."""
    settings = ", ".join(f"{name}={value}" for name, value in detection.parameters.items())
    yield f"parameters: {settings or 'none'}"
    yield from (f"{name}: {value:.6g}" for name, value in detection.facts.items())


def verdict_on(candidate: Candidate) -> str:
    """Say whether the candidate became a step, and if not, why."""
    return "accepted" if candidate.accepted else f"rejected: {candidate.reason}"
