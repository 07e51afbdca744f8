"""The worker keeps an instance going: it imports what arrives, runs alerts over what changed, and packs what is full."""

from knickpoint.instance.worker.task_runner import Announce
from knickpoint.instance.worker.worker import Worker

__all__ = ["Announce", "Worker"]
