"""Keep what a comparison measured: the results files of its rounds, and the rounds themselves, to be judged again.

The results files become part of a history (``knick import``). Each round has a directory, with a sidecar that names the
commit, and says beside which one it was measured. The rounds are for a job that may write a comment, but must not run
the code of a fork: they are numbers, names, and the messages of failed benchmarks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Final

from knickpoint.bisect.comparison.comparison import ComparisonEnd, ComparisonRequest, reason_of_end
from knickpoint.bisect.comparison.judgement import MOST_ROUNDS, RoundsJudge
from knickpoint.bisect.comparison.paired_values import MeasuredValue, PairedValues
from knickpoint.bisect.comparison.shapes import SampleShape
from knickpoint.model.bisection import ProbeResult
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.plain_text import plain_line
from knickpoint.model.unit_names import Better

ROUNDS_FILE: Final = "rounds.json"

BESIDE: Final = "measured beside"
"""The fact about a run that a comparison made: the commit on its other side."""

_MOST_KEPT: Final = 5
"""Rounds whose results files are kept: each becomes a run of its commit in a history."""

_LONGEST_MESSAGE: Final = 300
_LARGEST: Final = 64_000_000
_SIDES: Final = ("base", "head")


@dataclass
class KeptRounds:
    """The directory that keeps a comparison of ``request``.

    ``sidecar`` has the facts about this machine and this job that each sidecar states.
    """

    directory: Path
    request: ComparisonRequest
    sidecar: Mapping[str, Any] = field(default_factory=dict)
    _rounds: int = 0

    def add(self, measured: Mapping[str, ProbeResult]) -> None:
        """Write the results files of a round, by side; only the first rounds are kept.

        Raises:
            InputError: the directory cannot be written.
        """
        if self._rounds >= _MOST_KEPT:
            return
        self._rounds += 1
        commits = {"base": self.request.base, "head": self.request.head}
        for side, other in zip(_SIDES, _SIDES[::-1], strict=True):
            room = self.directory / side / str(self._rounds)
            environment = {**self.sidecar.get("environment", {}), BESIDE: commits[other]}
            stated = {
                **self.sidecar,
                "commit": commits[side],
                "run": "/".join(filter(None, (self.sidecar.get("run", ""), commits[other][:12], str(self._rounds)))),
                "time": measured[side].started.isoformat(),
                "params": dict(self.request.added_params),
                "environment": environment,
            }
            if self.request.recipe.format:
                stated["format"] = self.request.recipe.format
            for file in measured[side].files:
                path = room / file.name
                _write(path, file.content)
                _write(path.with_name(f"{path.name}.sidecar.json"), json.dumps(stated, indent=1).encode())

    def finish(self, judge: RoundsJudge, end: ComparisonEnd) -> None:
        """Write the rounds that a judge took, with what the time allowed before each of them.

        Raises:
            InputError: the directory cannot be written.
        """
        document = {
            "base": self.request.base,
            "head": self.request.head,
            "failures": len(end.failures),
            "expected": judge.expected,
            "planned_end": judge.is_last_look,
            "benchmarks": [_document(values, end.rounds) for values in judge.series],
        }
        _write(self.directory / ROUNDS_FILE, json.dumps(document, allow_nan=False).encode())


def judge_kept(
    path: Path, request: ComparisonRequest, noise: Callable[[Collection[str]], Mapping[str, float]] = lambda _: {}
) -> ComparisonEnd:
    """Judge the rounds in a file by the rules of ``request``, as the comparison did that kept them.

    ``noise`` is that of :class:`Comparison`.

    Raises:
        InputError: the file cannot be read, or holds no rounds, or those of other commits.
    """
    document = _read(path)
    for side, commit in (("base", request.base), ("head", request.head)):
        if document.get(side) != commit:
            raise InputError(
                f"the rounds have another {side} than {commit[:12]}: {str(document.get(side))[:12]}",
                where=str(path),
                remedy="Name the commits that were measured.",
            )
    try:
        series = [_values(each) for each in document["benchmarks"]]
        failures = min(int(document["failures"]), MOST_ROUNDS)
        expected = [int(_number(each)) for each in document["expected"]]
        planned = bool(document["planned_end"])
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise _damaged(path, str(error)) from error
    rounds = max((len(values.base) for values in series), default=0)
    lengths = {len(side) for values in series for side in _both(values)} | {len(expected)}
    if rounds > request.rules.most_rounds or lengths != {rounds}:
        raise _damaged(path, f"{rounds} rounds, and at most {request.rules.most_rounds} are judged")
    judge = RoundsJudge(request.rules)
    for values in series:
        for side, messages in zip(_SIDES, (values.base_failures, values.head_failures), strict=True):
            for message in messages:
                judge.note_failures(*({values.key: message} if each == side else {} for each in _SIDES))
    judge.noise = noise([values.key for values in series])
    judge.warm_up(*(_round(series, [(values.warm[at], None) for values in series]) for at in (0, 1)))
    for number in range(rounds):
        judge.expect(expected[number])
        judge.add(*(_round(series, [_measured(values, at, number) for values in series]) for at in (0, 1)))
    judge.conclude(planned=planned)
    reason = reason_of_end(judge, request) or "no more were made"
    return ComparisonEnd(judge.benchmarks, rounds, reason, ("",) * failures)


def _round(
    series: Sequence[PairedValues], measured: Sequence[tuple[float, SampleShape | None]]
) -> dict[str, MeasuredValue]:
    """Return the values of one side of a round by trace; ``measured`` has the value of each of the series."""
    found = {}
    for values, (number, shape) in zip(series, measured, strict=True):
        if math.isinf(number):  # a value in a unit that does not convert
            found[values.key] = MeasuredValue(0.0, values.other_unit, values.better)
        elif not math.isnan(number):
            found[values.key] = MeasuredValue(number, values.unit, values.better, shape)
    return found


def _measured(values: PairedValues, side: int, number: int) -> tuple[float, SampleShape | None]:
    shapes = values.shapes[number]
    return _both(values)[side][number], None if shapes is None else shapes[side]


def _both(values: PairedValues) -> tuple[list[float], list[float]]:
    return values.base, values.head


def _document(values: PairedValues, rounds: int) -> dict[str, Any]:
    def plain(side: Sequence[float]) -> list[float | None]:
        padded = [*side, *[math.nan] * (rounds - len(side))]
        return [value if math.isfinite(value) else None for value in padded]

    return {
        "trace": values.key,
        "unit": values.unit,
        "better": values.better.value,
        "warm": [value if math.isfinite(value) else None for value in values.warm],
        "base": plain(values.base),
        "head": plain(values.head),
        "shapes": [each and [astuple(shape) for shape in each] for each in values.shapes],
        "other_unit": values.other_unit,
        "base_failures": values.base_failures,
        "head_failures": values.head_failures,
    }


def _values(document: Mapping[str, Any]) -> PairedValues:
    """Return the values of one benchmark; what is in another unit is infinite in the warm-up.

    Raises:
        KeyError, TypeError, ValueError: something is missing, or of another type.
    """
    base, head = ([_number(value) for value in document[side]] for side in _SIDES)
    before, after = map(_number, document["warm"])
    other = _text(document["other_unit"])
    if other:
        after = math.inf
    failures = [
        [plain_line(_text(message), _LONGEST_MESSAGE) for message in document[f"{side}_failures"]] for side in _SIDES
    ]
    return PairedValues(
        encode_key(decode_key(_text(document["trace"]))),
        unit=_text(document["unit"]),
        better=Better(document["better"]),
        base=base,
        head=head,
        shapes=_shapes(document["shapes"], len(base)),
        warm=(before, after),
        other_unit=other,
        base_failures=failures[0],
        head_failures=failures[1],
    )


def _shapes(document: Sequence[Any], rounds: int) -> list[tuple[SampleShape, SampleShape] | None]:
    found = [
        None if each is None else (SampleShape(*map(_number, each[0])), SampleShape(*map(_number, each[1])))
        for each in document[:rounds]
    ]
    return [*found, *[None] * (rounds - len(found))]


def _number(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number, got {str(value)[:40]!r}")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {str(value)[:40]!r}")
    return value


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(
            f"the rounds cannot be read: {error.strerror}", where=str(path), remedy="Name a file that --keep wrote."
        ) from error
    try:
        document = json.loads(data) if len(data) <= _LARGEST else None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(document, dict):
        raise _damaged(path, "not an object, or too large")
    return document


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"not the rounds of a comparison: {reason}", where=str(path), remedy="Write it with --keep.")


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", where=str(path), remedy="Choose another place for --keep."
        ) from error
