"""Detect the steps of each trace and keep those that an alert reports: from a frame to sightings.

``trace_detection`` reads frames, runs the method and describes what it found; ``filters`` keeps what the alert reports.
``sightings`` gives a step its suspect range and, by ``local_levels`` and ``recovery``, its size and condition.
``clusters`` judges the traces of a group together, ``alert_window`` limits how far back detection goes, and ``digests``
finds the traces in which nothing changed.
"""
