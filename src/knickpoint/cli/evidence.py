"""Render the evidence of a detection, as text and for JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knickpoint.model.change_point import StepNumbers
from knickpoint.model.quantity_text import figure_text, flipping_text

if TYPE_CHECKING:
    from knickpoint.model.step import Candidate, Check, Detection

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


def json_ready(value: Any) -> Any:
    """Turn dataclasses, mappings, arrays and enums into what JSON can hold; numbers that are not finite become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: json_ready(held) for name, held in _json_fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return [json_ready(item) for item in value]
    scalar = value.item() if isinstance(value, np.generic) else value
    if isinstance(scalar, float) and not math.isfinite(scalar):
        return None
    if isinstance(scalar, datetime):
        return scalar.isoformat()
    return scalar.value if isinstance(scalar, Enum) else scalar


def check_lines(checks: Iterable[Check]) -> Iterator[str]:
    """Yield a line for each check: its value, its bound, and whether it passes."""
    for check in checks:
        value = figure_text(check.value, ".6g")
        if check.bound is None:
            yield f"{check.name}: {value}"
        else:
            mark = "passes" if check.passed else "FAILS"
            yield f"{check.name}: {value} {check.relation} {figure_text(check.bound, '.6g')}: {mark}"


def flipping_lines(detection: Detection, positions: Sequence[str]) -> Iterator[str]:
    """Yield a line for each stretch that flips between levels; ``positions`` name the values of the series."""
    for stretch in detection.flipping:
        yield f"{flipping_text(stretch, '')}, from pos {positions[stretch.first]} to {positions[stretch.last]}"


def detection_lines(detection: Detection) -> Iterator[str]:
    """Yield the parameters of the method, then its estimates about the series as a whole."""
    settings = ", ".join(f"{name}={value}" for name, value in detection.parameters.items())
    yield f"parameters: {settings or 'none'}"
    yield from (f"{name}: {figure_text(value, '.6g')}" for name, value in detection.facts.items())


def outcome_of(candidate: Candidate) -> str:
    """Return the outcome of a candidate: a step, or the reason against one."""
    return "accepted" if candidate.accepted else f"rejected: {candidate.reason}"
