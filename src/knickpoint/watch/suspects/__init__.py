"""Rank the commits that may have caused a change, by a stated rule: ``docs/guide/suspects.md``.

``commit_facts`` reads names, paths and the words of traces; ``ranking`` has the rule with its weights. Both are pure.
``machine`` weighs whether the machine changed; ``update`` reads the store and git, and keeps the result with the
change.
"""
