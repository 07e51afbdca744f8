"""Choose the alerts that a caller may know of."""

from __future__ import annotations

from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.server.visible_repositories import VisibleRepositories

__all__ = ["visible_alerts"]


def visible_alerts(instance: Instance, visible: VisibleRepositories) -> list[Alert]:
    """Return the alerts that run, but those of repositories that the caller may not read."""
    return [alert for alert in instance.alerts if not alert.repository or visible.shows(alert.repository)]
