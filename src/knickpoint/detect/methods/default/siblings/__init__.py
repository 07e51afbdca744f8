"""Siblings: what several related traces show together, and none of them by itself.

Each trace gets the steps of the default method, and weaker steps that it shares with its siblings, such as the traces
of one machine or one suite.

Entry point: ``method.detect_siblings``; ``detect/registry.py`` has its record, of the kind ``JOINT``, as ``siblings``.

What callers can rely on:

- In: traces x commits, ``nan`` for missing, and the keys of the traces for kinship. Out: a ``Detection`` for each
  trace, in the order of the rows.
- Siblings add steps and may move one to the commit that they share. They never remove a step of a trace.
- A trace has a shared step only where its own values speak for it.
- Traces that drift, flip or have no noise, and groups of fewer than 3 usable traces, keep the steps of the default
  method.
- The result depends on values, keys and parameters alone: histories are reordered by a generator with the given seed.
- More than 10,000,000 values are refused (``InputError``).

The stages in the order in which a group passes them:

1. ``method`` runs the default method on each trace, and chooses the traces that can speak about each other.
2. ``views.common_scale`` brings these to one scale: around their medians, in units of their noise.
3. ``kinship`` learns, from steps of single traces, which params traces share that move together.
4. ``plain_steps`` sets apart the steps that need no siblings, and gives the histories without them.
5. ``method._among_most`` finds steps in the mean of the traces as they are: changes of at least half of them.
6. ``views.around_centre`` removes what most traces share; ``scan`` searches the rest for commits at which some traces
   changed, and compares each with reordered histories.
7. ``members`` decides for each place which traces moved with it, with the help of ``kinship``.
8. ``method._with_shared`` joins the shared steps of each trace with its own, and records why others did not move.

``found_places`` is for alerts with the default method: it asks each trace only at the places where others step, and
searches nothing. ``watch/alert_run/family_members.py`` calls it.

Invariants between the stages:

- Columns are those of the input in all stages; a step is put on the next column at which its trace is measured.
- Distances between levels are in standard errors, with the autocorrelation of the group counted (``View.memory``).
- Stage 6 reorders blocks of commits for all traces alike, so what traces share at a commit stays together.
- Kinship to judge a place is learnt from changes that are not near it. It can speak for a trace, never against one.
- A change of several traces that a line describes as well as two levels is a drift, and no shared step.

Where to begin:

- What counts as moving along: ``members.judge_siblings``.
- How strong a shared change has to be: ``scan`` (``find_shared_changes`` and the score of a split).
- Which traces are judged together: ``_has_levels`` and the selection in ``method.detect_siblings``; which traces form a
  group is the ``group_by`` of the alert.

The mathematics is in ``docs/guide/detect/siblings.md``, the reasons in ``docs/decisions/traces-together.md``.
"""
