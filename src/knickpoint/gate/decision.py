"""Decide about a merge by the verdicts on its benchmarks: which decide, accepted, and what puts them in doubt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
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
    shared = _shared_params(keys)
    benchmarks = tuple(
        replace(
            each,
            decides=each.decides and each.trace not in canaries,
            canary=each.trace in canaries,
            accepted=matched.get(each.trace),
            label=_label(each, shared),
            dashboard=address if each.trace_id is not None else "",
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
