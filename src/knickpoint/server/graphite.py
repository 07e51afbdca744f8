"""Send the metrics of a process to Graphite at a steady pace."""

from __future__ import annotations

import logging
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client.bridge.graphite import GraphiteBridge

from knickpoint.access.local_user import local_caller
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.config.settings import MonitoringSettings, graphite_address, graphite_prefix
from knickpoint.model.errors import KnickpointError
from knickpoint.server.metrics import InstanceMetrics
from knickpoint.server.process_metrics import ProcessMetrics

_LOG: Final = logging.getLogger("knickpoint.graphite")
_TIMEOUT_SECONDS: Final = 10.0


@contextmanager
def sending_to_graphite(instance: Instance, process_metrics: ProcessMetrics, process: str) -> Iterator[None]:
    """Send all metrics while a ``with`` lasts, where the configuration names a server; each new failure is logged once.

    ``process`` is the name of this process among those of its machine. The first values are sent at once, and the last
    ones at the end. A value that cannot be sent is lost: the next one tells as much.
    """
    settings = instance.config.monitoring
    address = graphite_address(settings)
    if address is None:
        yield
        return
    stop = threading.Event()
    visible = VisibleRepositories(instance.store, local_caller())
    metrics = InstanceMetrics(instance, visible, process_metrics.registries)
    bridge = GraphiteBridge(address, metrics, timeout_seconds=_TIMEOUT_SECONDS)
    sender = _Sender(bridge, settings, graphite_prefix(settings, platform.node(), process))
    thread = threading.Thread(target=sender.run, args=(stop,), name="knickpoint-graphite", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_TIMEOUT_SECONDS)


class _Sender:
    """Pushes until it is stopped."""

    def __init__(self, bridge: GraphiteBridge, settings: MonitoringSettings, prefix: str) -> None:
        self._bridge = bridge
        self._settings = settings
        self._prefix = prefix
        self._failure = ""

    def run(self, stop: threading.Event) -> None:
        while True:
            self._push()
            if stop.wait(self._settings.graphite_seconds):
                break
        self._push()

    def _push(self) -> None:
        try:
            self._bridge.push(prefix=self._prefix)
        except (OSError, KnickpointError) as error:
            if str(error) != self._failure:
                _LOG.warning("metrics cannot be sent to Graphite at %s: %s", self._settings.graphite, error)
            self._failure = str(error)
        else:
            if self._failure:
                _LOG.warning("metrics are sent to Graphite at %s again", self._settings.graphite)
            self._failure = ""
