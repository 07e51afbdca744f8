"""The nouns: params, commits, reports, frames, steps, changes. Frozen, and without I/O."""
