"""Manage the configured alerts, and the findings that come and go with them.

``applied_alerts`` applies a changed configuration, ``finding_losses`` counts beforehand the findings that go, and
``alert_health`` reports how each alert does.
"""
