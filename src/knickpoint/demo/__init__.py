"""The demonstration: a real repository whose speed really changes, its benchmarks, and findings beside the truth."""
