"""Quarantine the results of machines that moved: from the values of canaries and the facts of runs to held findings.

``machine_runs`` reads what the runs of a line say about their machines, ``canary_levels`` judges one value of a canary,
``assessment`` decides about the runs of one machine, ``update`` writes what changed, and ``held_findings`` marks
findings.
"""
