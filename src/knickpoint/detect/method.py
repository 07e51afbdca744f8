"""What a detection method is: one record that the method's package declares and the registry loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from knickpoint.detect.parameters import CANDIDATES, EVIDENCE, Value, describe, effective, resolve, takes
from knickpoint.model.step import Step

__all__ = ["Method", "MethodKind"]

Answer = TypeVar("Answer")
"""What the function of a method returns; it depends on the kind."""


class MethodKind(Enum):
    """What a method takes, and what it returns.

    ======  =================================  ================================================
    kind    takes                              returns
    ======  =================================  ================================================
    SERIES  one series, 1-D                    a ``Detection``
    JOINT   several series, traces x commits   a ``Detection`` for each
    GROUP   the same, and the trace keys       ``Cluster`` objects, each of traces of one shape
    ======  =================================  ================================================

    In all of them ``nan`` stands for a missing value.
    """

    SERIES = "series"
    JOINT = "joint"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Method(Generic[Answer]):
    """Describe a detection method.

    Attributes:
        name: what users call it, with underscores.
        kind: what ``detect`` takes and returns.
        detect: the method. Its keyword-only parameters are those that users set, see
            :mod:`knickpoint.detect.parameters`.
        presets: name of a preset to the parameters that it sets.
        releases_gil: true when nearly all the time is spent in kernels, which let other threads run; threads then
            share the work of many series.
        detect_many: for ``SERIES``: gives the steps of each row of a frame in less time than one by one; with the
            parameters of ``detect``, and perhaps :data:`~knickpoint.detect.parameters.EVIDENCE`.
        own_steps: for ``JOINT``: true when the steps of each trace are final; else the method says where the traces step
            together, and a trace has a step only where its own values moved.
        takes_keys: for ``JOINT``: true when ``detect`` takes the trace keys of the rows as its second argument, as those of the
            kind ``GROUP`` do, or None where there are none.
        fewest: for ``SERIES`` and ``JOINT``: gives, from all parameters by name, the number of values below which the method
            finds no step in any series; None where that is not known.
    """

    name: str
    kind: MethodKind
    detect: Callable[..., Answer]
    presets: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    releases_gil: bool = False
    detect_many: Callable[..., Sequence[Sequence[Step]]] | None = None
    fewest: Callable[[Mapping[str, Any]], int] | None = None
    own_steps: bool = False
    takes_keys: bool = False

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters with their defaults."""
        return describe(self.detect)

    @property
    def without_candidates(self) -> Mapping[str, bool]:
        """The arguments that leave out what only ``explain`` wants."""
        return {CANDIDATES: False} if takes(self.detect, CANDIDATES) else {}

    @property
    def without_evidence(self) -> Mapping[str, bool]:
        """The arguments of ``detect_many`` that leave out the evidence that only people read."""
        return {EVIDENCE: False} if self.detect_many and takes(self.detect_many, EVIDENCE) else {}

    def arguments(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments for ``detect`` that the given parameters, and perhaps a ``preset``, mean.

        Raises:
            InputError: a preset or a parameter that the method does not have, or a value of another type.
        """
        return resolve(self.detect, self.name, self.presets, given)

    def fewest_values(self, given: Mapping[str, object]) -> int:
        """Return the number of values below which no step can be found with the given parameters, 0 where it is not known.

        Raises:
            InputError: as :meth:`arguments`.
        """
        arguments = self.arguments(given)
        return self.fewest(effective(self.detect, arguments)) if self.fewest else 0

    def reported_parameters(
        self, given: Mapping[str, object], arguments: Mapping[str, Any]
    ) -> dict[str, float | int | str | bool | None]:
        """Return all parameters as a detection reports them: ``arguments`` and defaults, tuples as text, the preset."""
        reported = {
            name: ",".join(str(item) for item in value) if isinstance(value, tuple) else value
            for name, value in effective(self.detect, arguments).items()
        }
        if given.get("preset"):
            reported["preset"] = str(given["preset"])
        return reported
