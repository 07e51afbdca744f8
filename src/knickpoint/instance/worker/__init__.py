"""The worker keeps an instance going: it imports what arrives, runs alerts, and packs full tiles."""

from knickpoint.instance.worker.task_runner import Announce
from knickpoint.instance.worker.worker import Worker

__all__ = ["Announce", "Worker"]
