"""Detect the steps of each trace and keep those that an alert reports: from a frame to sightings.

A *sighting* is a step as one alert sees it: with a suspect range in commits, local levels, a direction, a condition,
and whether it is settled. This place finds sightings. Comparing them with those of the last run and storing them is the
work of ``watch/alert_run``.

Entry points:

- ``trace_detection.detect_traces`` judges traces for alerts that share a detection; ``detection_key`` says which do.
- ``filters.reported_detections`` keeps the sightings that the alert reports, and counts what each filter left out.
- ``alert_settings.watched_traces`` and ``digests.changed_traces`` choose the traces that a run has to judge.
- ``commit_values.read_summaries`` gives the summary of each commit, such as p99, to plots and comparisons as well.

What callers can rely on:

- In: a store, alerts with one ``detection_key``, a line and ids of traces. Out: ``JudgedRows``, in blocks. Each row has
  the digest of what its result depends on, and the sightings of the row before the filters.
- Nothing is written to the store.
- The findings are the same in this process, in other processes and on a cluster.
- Errors of a method or a setting are raised here; ``watch/alert_run`` lets the other alerts go on.

The stages in the order in which values pass them:

1. ``alert_settings`` reads what the settings mean: traces, groups, window, parameters, the reference of drifts.
2. ``digests`` leaves out traces in which the alert would find the same as before; ``watch/alert_run`` asks it. Whole
   chunks are compared first, without reading values (``unchanged_traces``), then single traces (``changed_traces``).
3. ``trace_detection`` chooses where to judge. Values are read here and sent as a ``Shard``, or ids are sent as a
   ``StoredShard`` to workers that can read the store.
4. ``commit_values`` replaces points by what the samples say, where the alert asks for samples or a summary.
5. ``judged_rows`` blanks what lies before the window of the alert, and runs the method (``detect_shard``).
6. ``sightings`` says which steps are settled: by the evidence of the newest values, or because detection without them
   still finds the step.
7. It turns columns of the frame into commits, and adds levels, direction and condition.
8. ``digests`` again: ``judged_rows`` keeps, for the next run, the digest of all that was used.
9. ``filters`` applies direction, least effect, least change, and the least number of traces that moved together.

Methods that judge several traces together take another way from 3 to 8. ``clusters.detect_group`` reads a whole group
and runs the method; one of the kind ``GROUP`` runs in windows, which ``trace_detection.SharedWindows`` can send to
a cluster. ``member_checks`` decides which traces belong to each step. Steps are then settled by the number of values
behind them alone.

Invariants between the stages:

- Indices of steps are columns of their frame up to stage 7; sightings name slots of commits.
- Alerts that share a detection get the same sightings under their own names. Digests differ, as they depend on
  settings.
- A digest is never 0, which stands for "none". It covers the program's version, the settings that the judgement depends
  on, the commits, values and direction of the trace, samples that the alert judges, and for a window the known change
  point from which it detects.
- Where a group counts, all of its traces have one digest, so that a change in one trace makes all of them due.
- An alert with a window detects from further back, but reports only after ``reported_after``.
- ``recovered_at`` names the commit of the recovery once that step is settled, and is -1 before.
- What is sent to a worker carries the program's version; a worker with another version refuses it.

Where to begin:

- A new filter of alerts: ``filters.refusal`` and ``alert_settings.Filter``; the setting itself is in
  ``model/alert.py``.
- A setting that changes what is detected: ``alert_settings.method_parameters`` or ``judged_rows``. Add it to
  ``trace_detection.detection_key``, or alerts that differ in it share a detection. Digests cover each setting that
  ``_AFTERWARDS`` in ``model/alert.py`` does not list.
- Another fact about each sighting: ``sightings``, and ``Sighting`` in ``model/change_point.py``.

The reasons are in ``docs/decisions/runs-of-detection.md`` and ``docs/decisions/traces-together.md``.
"""
