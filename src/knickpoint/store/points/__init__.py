"""The values: runs that measured them, tiles that hold them, frames that read them, and the files they came from.

A *point* is the value of a trace at a commit: the median of what its runs measured there. A *part* is what one run gave
to a chunk of 1,024 traces, or to all of its chunks: samples, units, failures and skips. Points serve fast reads; a
correction, a removal or another run computes them anew from the parts.

Entry points; other rooms reach them through :class:`~knickpoint.store.Store`:

- ``runs.Runs`` (``store.runs``): ``write``, ``remove``, ``withhold`` and ``restore``, and all questions about runs.
- ``frames.Frames`` (``store.frames``): ``read``, ``values`` and ``blocks`` give traces x commits as a matrix.
- ``provenance.StoredSamples`` (``store.samples``): the samples behind the points of many traces.
- ``file_ledger.Ledger`` (``store.ledger``): files that were stored, wait for their commit, or were refused.
- ``sealer.Sealer``, ``retention.retain``, ``integrity.check_integrity``: ``seal``, ``retain`` and ``check_integrity``
  of the store.
- ``environments``: where the machine, compiler or runner of a trace changed.

What callers can rely on:

- In: results of runs (``RunWrite``), with canonical keys and finite samples. Out: one ``Receipt`` for each run, in
  order.
- A write is one transaction: rows of runs, new traces, parts, points and the event appear together, or nothing does.
- The same run written twice changes nothing. The order in which runs arrive does not change a point.
- A row that fails its checksum never gives a value: readers leave it out, and a write that would change it is refused.

A write passes these stages; ``Runs.write`` calls them in this order:

1. ``run_results.check_samples`` refuses samples that are not finite, and measured results without any.
2. ``run_table`` finds the runs that are stored under the same identities; those with the same content end here.
3. ``run_resolver`` gives each result its trace and unit. A *layout* is all of a run but its values: ``layouts``
   finds the traces of a known layout by one digest, and holds what its runs have in common.
4. ``run_results`` joins the samples of each trace, sorts by trace and converts units.
5. ``stored_commits`` reads the parts of stored runs that the write replaces, or that share a trace with it.
6. ``write_plan`` computes new points, parts and the kind of each run: a pure function of stages 4 and 5.
7. ``run_table`` records the rows of the runs.
8. ``point_writer`` writes parts (``parts``) and points (``tiles``), and publishes ``traces-changed``.

Points lie in three layers, and the layer in front wins:

1. A *segment* has points of one commit in many chunks; it hides the points that it names, and no others.
2. A *hot tile* has one commit of one chunk; it hides that commit of the sealed tiles.
3. A *sealed tile* has many commits of one chunk, as a matrix or as a list of points.

``tiles`` writes the upper two layers. ``sealer`` moves their points into the lowest one (``tile_merge`` merges) when
newer commits follow, or as soon as small runs fill a block of 64 commits. ``tile_codec`` has the bytes and checksums of
all three. A read goes through ``frames``, which puts the layers into a matrix from the back to the front.

Invariants between the stages:

- Ids of traces are sorted, each once, from stage 4 on. A trace always belongs to the chunk ``id // 1024``.
- An *implicit* part leaves its samples out, since the stored points are its samples. Stage 5 therefore reads the
  samples before stage 8 changes a point, and a part gets its samples back when another run shares one of its points.
- NaN in a segment or an update takes a point away; it is never a value.
- Sealing changes where a point lies, never its value. Segments go in a later transaction than their merge, so for a
  while both layers have the same points.
- ``tiles.chunk_digests`` tells whether a chunk changed without reading values. Equal digests mean equal content; the
  reverse does not hold, as sealing changes the digest.
- A rollback empties the layout cache: it may name traces that were undone.

Where to begin:

- A new fact about a run: its column in ``store/tables/points.py`` with a migration, then ``run_table.Run`` and
  ``run_of``.
- Another rule for what becomes the point: ``write_plan``, and ``parts.medians`` for the value of one run.
- Another form of rows on disk: ``tile_codec`` first, then its readers: ``tiles``, ``frames``, ``sealer``,
  ``tile_merge`` and ``integrity``.

``docs/contributing/store.md`` has the promises of the whole store, ``docs/decisions/points-in-the-store.md`` the
reasons.
"""
