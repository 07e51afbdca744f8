"""What gates measure: the commits that they chose, why, and what became of each."""

from knickpoint.store.gates.gate_probes import GateProbes
from knickpoint.store.gates.records import ChosenCommit, GateProbe, GateProbeState, GatePurpose

__all__ = ["ChosenCommit", "GateProbe", "GateProbeState", "GateProbes", "GatePurpose"]
