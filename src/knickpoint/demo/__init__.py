"""The demonstration: a real repository whose speed really changes, its benchmarks, and the findings beside the truth."""
