"""The search: which commits to measure next, and what the measurements say; pure functions without I/O."""
