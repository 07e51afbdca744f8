"""Suspects: the commits that may have caused a change, each with a probability and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.change_point import SuspectRange


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A file that a commit touches: ``path`` after the commit, ``former`` before a rename, "" without one.

    ``added`` and ``removed`` count lines. They are None where nothing counts them: in a binary file, in a large one,
    and in a clone without file contents.
    """

    path: str
    added: int | None = None
    removed: int | None = None
    former: str = ""


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """The files that a commit touches, compared with its first parent.

    ``omitted`` counts the files beyond those in ``files``.
    """

    files: tuple[TouchedFile, ...] = ()
    omitted: int = 0


_EVEN: Final = 0.5
"""Probability from which on the machine is likelier than all commits together."""


class SuspectFacts(Enum):
    """Where the facts of a ranking come from.

    GIT has the touched files of each commit. RESULTS has authors and subjects as the results name them, so that all
    commits are equally likely.
    """

    GIT = "git"
    RESULTS = "results"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A commit, the probability that it caused the change, and why it differs from others, in words."""

    slot: int
    probability: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspects:
    """The suspects of one change, the most likely first.

    ``suspect_range`` is that of the change when they were ranked. ``none`` is the probability that no commit of the
    list caused the change; with the probabilities of the suspects it makes 1, but for rounding. ``note`` says in words
    what limits the ranking, "" if nothing does. ``bisection`` is the id of the bisection that measured the commits and
    gave the probabilities, 0 for none. ``machine`` says in words what changed about the machine at the step, "" if
    nothing did.
    """

    suspect_range: SuspectRange
    none: float
    facts: SuspectFacts
    suspects: tuple[Suspect, ...] = ()
    note: str = ""
    bisection: int = 0
    machine: str = ""

    @property
    def probably_machine(self) -> bool:
        """Whether the machine changed at the step, and that is likelier than all commits together."""
        return bool(self.machine) and self.none > _EVEN
