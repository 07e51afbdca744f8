"""What schedules measure: the commits that they chose, why, and what became of each."""

from knickpoint.store.schedules.records import ChosenCommit, ScheduledProbe, ScheduledProbeState, SchedulePurpose
from knickpoint.store.schedules.scheduled_probes import ScheduledProbes

__all__ = ["ChosenCommit", "SchedulePurpose", "ScheduledProbe", "ScheduledProbeState", "ScheduledProbes"]
