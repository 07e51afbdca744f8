"""Group the change points of many traces into changes.

``groups`` has the rule: which change points are one change. ``membership`` reads the change points, applies the rule
and writes what differs. ``bisected_ranges`` has the rule by which a bisection decides the suspect range.
``bisection_text`` says how a bisection stands. ``merged_list`` sorts the changes of several repositories.
"""
