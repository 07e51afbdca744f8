"""The coordinator: a bisection from its request to its answer, with a journal that survives a kill."""
