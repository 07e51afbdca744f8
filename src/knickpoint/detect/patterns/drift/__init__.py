"""Slow changes: of noisy values, and of exact ones that have no noise.

``drift`` recognises the first, ``exact`` the second. ``trend`` has the model of levels, steps and slow changes,
``hinges`` and ``trend_search`` fit it, and ``findings`` turns it into steps of the kind DRIFT.
"""
