"""The demonstration: a real repository that really changes its speed, benchmarked and judged for real."""
