"""Modes: discrete levels, and the moves between them."""
