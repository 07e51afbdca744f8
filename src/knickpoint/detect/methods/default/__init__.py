"""The default method: robust segmentation, and a forest that judges each candidate.

The method finds lasting changes of level in one series. ``siblings`` builds on it for several related traces.

Entry points; ``detect/registry.py`` has the record of the method under the name ``default``:

- ``method.detect_default``: one series, with candidates and the evidence of each.
- ``method.detect_default_many``: the steps of each row of a frame, with one search for all rows.
- ``model.load_model``, ``default_bound`` and ``rate_of_bound``: the trained model, and the log-odds that a rate of
  false alarms needs.

What callers can rely on:

- In: a 1-D float array with ``nan`` for missing values. Out: a ``Detection`` with steps and candidates by index, and
  facts. An index is a position in the input, missing values included.
- No I/O but one read of ``forest.json``, no clock, no randomness: the same values give the same steps on every machine.
- ``detect_default_many`` finds in each row the steps of ``detect_default``. Without evidence, a step carries only how
  far its place may be off.
- A larger ``false_alarms`` keeps everything that a smaller one finds. A level of fewer than 3 measured values is never
  reported.
- Time and memory are bounded by the number of values: where work is cut, it is cut by a count, never by a clock.
- A score is the log-odds of a change, not a p-value. Bad parameters raise ``InputError``, bad series ``SeriesError``.

The stages in the order in which a series passes them:

1. ``detect/measured_series.py`` drops missing values, and remembers the rows of the others.
2. ``acceptance.acceptance_by_length`` gives the first bound: the rate of false alarms (``model``), and the length.
3. ``native/segmentation`` finds candidates on two cheapest piecewise constant paths, describes each one by features,
   scores it with the forest, and drops the weakest until all that are left reach the bound.
4. ``acceptance.search`` raises the bound by what the series itself shows (autocorrelation, bursts, near misses, and
   doubt in a short series), and prunes on. Candidates among the newest 24 values keep the bound by length.
5. ``method`` turns kept candidates into steps with stable regions and evidence (``candidate_checks``).
6. ``detect/patterns`` replaces these steps where a pattern explains them better: flipping between modes first, then an
   exact drift, then a noisy drift. The first pattern that applies wins.
7. With ``noise``, ``detect/patterns`` adds lasting changes of the spread and of the distribution.
8. ``past`` reads what is old from the values up to a checkpoint, by stages 2 to 7, and joins both readings.
9. ``method`` lists the candidates with the reasons of those that were rejected.

``detect_default_many`` runs stage 3 for all rows at once, and leaves out rows that keep no candidate and show nothing
that could be a pattern or comes near the bound (none with ``noise``). Only the others go through stages 4 to 8.

Invariants between the stages:

- Stages 2 to 4 only ever raise the bound, and the search prunes from below: a higher bound continues on the same path,
  and never brings a candidate back.
- What the series adds is at most 3 (doubt excepted), below the 10 that a change which is certain without the trees gets
  on top. So a certain change stays.
- From stage 3 to 4 indices count measured values; ``series.rows`` turns them into rows in stage 5.
- The order of a feature is the same in the kernels, in ``native/segmentation/feature_names.py`` and in ``forest.json``.

Where to begin:

- Another feature or split: ``native/segmentation``, in C and in the reference in Python, then ``make train-default``.
- More or fewer false alarms for some kind of series: ``acceptance``; ``benchmarks/accuracy.py rates`` prints the
  effect.
- Another shape that is not a staircase: a recogniser in ``detect/patterns``, and its place in ``method._recognisers``.

The mathematics is in ``docs/guide/detect/default.md``, the reasons in ``docs/decisions/default-method.md``.
"""
