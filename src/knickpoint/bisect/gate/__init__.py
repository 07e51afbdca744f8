"""The gate: which commits are measured, and when."""
