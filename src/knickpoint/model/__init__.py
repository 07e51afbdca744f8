"""The nouns: params, commits, reports, frames, steps, regressions. Frozen, and without I/O."""
