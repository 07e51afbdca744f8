"""Find benchmarks without results: in the history, and among new results.

``missing_traces`` finds what stopped in the history: single traces, or the whole job that measures them.
``missing_data`` groups it, ``rename_proposals`` explains it by renames, which ``renames`` accepts. ``vanished_traces``
finds what a base commit has and new results lack.
"""
