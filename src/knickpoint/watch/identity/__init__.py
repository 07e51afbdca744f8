"""Decide which findings are new, moved, unchanged, gone or back."""
