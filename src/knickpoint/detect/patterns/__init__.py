"""Patterns of a whole series that steps alone describe badly: the stage after the steps of a method are found.

Each pattern has a module with one pure function that takes a :class:`~knickpoint.detect.patterns.pattern.Subject` and
returns what replaces its steps, or None where the series does not follow the pattern.
"""
