"""Group the change points of many traces into regressions.

``groups`` has the rule: which change points are one regression. ``membership`` reads the change points, applies the rule
and writes what differs. ``merged_list`` sorts the regressions of several repositories.
"""
