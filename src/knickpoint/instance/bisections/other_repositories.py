"""What the runs of a range say of the other repositories that took part in them: their commits, and where these moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from knickpoint.instance.instance import Instance
from knickpoint.model.bisection import PROBE_FACT

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository

__all__ = ["moved_beside", "moved_text", "pins_of"]

_SHORT: Final = 10


def pins_of(
    instance: Instance, repository: Repository, slot: int, also: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the commits of the repositories of ``also`` as the newest run at a commit names them."""
    named = _revisions(instance, repository, slot) if also else {}
    return tuple(sorted((name, revision) for name, revision in named.items() if name in also))


def moved_beside(instance: Instance, repository: Repository, ends: tuple[int, int]) -> Mapping[str, tuple[str, str]]:
    """Return the other repositories that moved between the runs at the ends of a range, each with its two commits."""
    before, after = (_revisions(instance, repository, slot) for slot in ends)
    moved = {name: (before[name], after[name]) for name in sorted(before.keys() & after.keys())}
    return {name: (old, new) for name, (old, new) in moved.items() if old != new and name != repository.name}


def moved_text(moved: Mapping[str, tuple[str, str]]) -> str:
    """Say which other repositories differ between the runs at the ends of a range, each with its two commits."""
    shown = [f"{name}: {old[:_SHORT]}..{new[:_SHORT]}" for name, (old, new) in moved.items()]
    return f"the runs at the ends also differ in {', '.join(shown)}"


def _revisions(instance: Instance, repository: Repository, slot: int) -> dict[str, str]:
    """Return the commit of each other repository by the newest run at ``slot`` that names it.

    Runs that bisections made do not count: their commits are those that the bisection chose.
    """
    runs = instance.store.runs.at(repository, [slot])
    return {name: named for run in runs if PROBE_FACT not in run.environment for name, named in run.revisions.items()}
