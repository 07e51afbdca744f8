"""The gates of an instance: what they choose, the probes that they make, and what becomes of them."""

from knickpoint.instance.gates.gate_status import GateStatus, describe_policy, gate_status
from knickpoint.instance.gates.gated_line import GatedLine, read_gated_line
from knickpoint.instance.gates.planning import plan_fills, plan_new
from knickpoint.instance.gates.rounds import GateRounds

__all__ = [
    "GateRounds",
    "GateStatus",
    "GatedLine",
    "describe_policy",
    "gate_status",
    "plan_fills",
    "plan_new",
    "read_gated_line",
]
