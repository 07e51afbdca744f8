"""Rank the commits that may have caused a change, by a stated rule: ``docs/guide/suspects.md``.

``words`` and ``commit_facts`` read names and paths, ``benchmark_words`` the traces, ``location`` the data; ``ranking``
has the rule with its weights. All of them are pure. ``machine`` weighs whether the machine changed; ``update`` reads
the store and git, and keeps the result with the change.
"""
