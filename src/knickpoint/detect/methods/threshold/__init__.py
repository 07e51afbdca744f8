"""Thresholds: changes of more than so many percent."""
