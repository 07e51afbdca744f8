"""Manage the configured alerts, and the findings that come and go with them.

``applied_alerts`` applies a changed configuration, ``finding_preview`` counts beforehand the findings that come and go,
and ``alert_health`` reports how each alert does.
"""
