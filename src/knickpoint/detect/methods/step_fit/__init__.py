"""Step fit: windows that slide over a series, and the step in the middle of each."""
