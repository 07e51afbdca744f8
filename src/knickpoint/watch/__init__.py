"""Watch the store: run alerts, decide what became of change points, group them, and record decisions about them.

From a frame to a change: ``alert_run`` plans, ``detection`` turns frames into sightings, ``identity`` decides what is
new, moved, unchanged, gone or back, ``alert_run.persistence`` writes it, and ``changes`` groups it. Around that,
``alert_config`` and ``alert_validation`` are about the alerts, ``triage`` about decisions, ``missing_data`` and
``quarantine`` about missing results and changed machines. ``explanation`` replays detection in one trace;
``results_check`` judges new results against history.
"""
