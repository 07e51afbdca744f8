"""Decide about a merge by the verdicts on its benchmarks: which decide, accepted, and what puts them in doubt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING, Final

from knickpoint.gate.report import GateReport, Sides
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict
from knickpoint.model.summary import read_summary
from knickpoint.watch.accepted_changes import match_accepted
from knickpoint.watch.results_check import CheckRules

if TYPE_CHECKING:
    from knickpoint.instance import CanarySettings, Config
    from knickpoint.instance.config import CheckSettings
    from knickpoint.model.commit import Commit
    from knickpoint.model.judged_benchmark import JudgedBenchmark, JudgedResults

MACHINES_DIFFER: Final = (
    "the machine differs from that of the history",
    "it is unknown whether the machine is that of the history",
)
"""What a canary that moved says of results and their history, and one without a value."""

_ALIKE: Final = 0.6
"""Share of matching characters from which on two names are probably those of one benchmark."""

_MOST_RENAMED: Final = 100
"""Benchmarks that vanished, and new ones, among which renames are looked for: each pair is compared."""

SIDES_DIFFER: Final = ("not only the commits differ", "it is unknown whether only the commits differ")
"""What it says of two commits that were measured in turns."""


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What is asked for; None where ``[check]`` of the configuration decides.

    ``query`` selects what is judged. ``partial`` results lack benchmarks on purpose. ``fail_on`` are the verdicts that
    fail, and ``name`` is the name of the job.
    """

    query: str = ""
    summary: str | None = None
    minimum_effect: float | None = None
    false_positives: float | None = None
    partial: bool = False
    fail_on: frozenset[Verdict] = frozenset({Verdict.REGRESSED})
    name: str = ""

    def rules(self, settings: CheckSettings) -> CheckRules:
        """Resolve the rules; ``settings`` fill in what is left open.

        Raises:
            InputError: there is no such summary.
            QueryError: the query cannot be read.
        """
        return CheckRules(
            partial=self.partial,
            false_positives=settings.false_positives if self.false_positives is None else self.false_positives,
            minimum_effect=settings.minimum_effect if self.minimum_effect is None else self.minimum_effect,
            summary=read_summary(settings.summary if self.summary is None else self.summary),
            query=parse_query(self.query),
        )


def decide(
    results: JudgedResults,
    options: GateOptions,
    config: Config,
    *,
    repository: str,
    base: str,
    sides: Sides,
    accepted: Iterable[tuple[Commit, str]] = (),
    doubts: tuple[str, str] = MACHINES_DIFFER,
    complete: bool = True,
    has_history: bool = True,
    warnings: Sequence[str] = (),
) -> GateReport:
    """Return the verdict about a merge.

    ``config`` names the canaries and the address of the dashboard. ``base`` is the sentence about the base.
    ``accepted`` are commits with a trailer that accepts regressions, and what each accepts. ``doubts`` are what
    canaries say that moved, or have no value.
    """
    keys = [each.trace for each in results.benchmarks]
    canaries = _canary_keys(config.canaries.values(), repository, keys)
    matched, unmatched = match_accepted(accepted, keys)
    address = config.server.address.rstrip("/")
    renamed = _probable_renames(results.benchmarks)
    shared = _shared_params(keys)
    benchmarks = tuple(
        replace(
            each,
            decides=each.decides and each.trace not in canaries,
            canary=each.trace in canaries,
            accepted=matched.get(each.trace),
            label=_label(each, shared),
            dashboard=address if each.trace_id is not None else "",
            reason=f"{each.reason}; {renamed[each.trace]}" if each.trace in renamed else each.reason,
        )
        for each in results.benchmarks
    )
    left_out = [_left_out_warning(results.left_out)] if results.left_out else []
    moved = (each for each in benchmarks if each.canary and each.verdict in {Verdict.REGRESSED, Verdict.IMPROVED})
    return GateReport(
        repository,
        base,
        replace(results, benchmarks=benchmarks),
        options.fail_on,
        complete,
        has_history,
        options.name,
        sides,
        (*left_out, *(_canary_warning(each, doubts) for each in moved), *warnings, *unmatched),
    )


def _probable_renames(benchmarks: Sequence[JudgedBenchmark]) -> dict[str, str]:
    """Return the remarks on benchmarks that vanished, and on new ones that are probably the same under another name.

    They have the same unit and the same params but for one, in which their texts are alike. Each has one partner, those
    that are most alike first.
    """
    vanished = [each for each in benchmarks if each.vanished]
    new = [each for each in benchmarks if each.new and not each.past and each.verdict is Verdict.NO_DATA]
    pairs = [
        (-likeness, gone.trace, come.trace, *names)
        for gone in islice(vanished, _MOST_RENAMED)
        for come in islice(new, _MOST_RENAMED)
        if gone.unit == come.unit and (names := _names(gone.params, come.params))
        if (likeness := SequenceMatcher(None, *names, autojunk=False).ratio()) >= _ALIKE
    ]
    found: dict[str, str] = {}
    for _, gone, come, before, after in sorted(pairs):
        if gone not in found and come not in found:
            found[gone] = f"probably renamed to {after!r}, which is new"
            found[come] = f"new, and probably {before!r} under another name, which vanished"
    return found


def _names(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the texts of the only param in which two traces differ, None where they differ in more."""
    differing = [name for name in one if one[name] != other.get(name)]
    if len(differing) != 1 or one.keys() != other.keys():
        return None
    return one[differing[0]], other[differing[0]]


def _canary_keys(settings: Iterable[CanarySettings], repository: str, keys: Iterable[str]) -> frozenset[str]:
    """Return those of ``keys`` that are canaries, which no commit should change."""
    queries = [parse_query(canary.query) for canary in settings if canary.repository in {"", repository}]
    if not queries:
        return frozenset()
    return frozenset(key for key in keys if any(query.matches(decode_key(key)) for query in queries))


def _canary_warning(canary: JudgedBenchmark, doubts: tuple[str, str]) -> str:
    """Return the warning about a canary that moved, failed or vanished."""
    moved, unknown = doubts
    text = f"{canary.verdict.value}: {moved}" if canary.new else f"has no value ({canary.reason}): {unknown}"
    return f"the canary {canary.trace} {text}, and the other verdicts are in doubt"


def _left_out_warning(left_out: int) -> str:
    """Return the warning that series of the base are not judged, because the results have a single benchmark."""
    others = "1 other series of the base is" if left_out == 1 else f"{left_out:,} other series of the base are"
    return f"the results have one benchmark only, so {others} considered left out on purpose; --partial confirms it"


def _label(row: JudgedBenchmark, shared: Collection[str]) -> str:
    """Return the params of a row that tell it from others, without those of the ``shared`` names."""
    name = row.benchmark
    return " ".join(f"{key}={value}" for key, value in row.params.items() if key not in shared and value != name)


def _shared_params(keys: Collection[str]) -> frozenset[str]:
    """Return the names of the params that all keys have with the same value: they tell no row from another."""
    rows = [set(decode_key(key).items()) for key in keys]
    return frozenset(name for name, _ in set.intersection(*rows)) if len(rows) > 1 else frozenset()
