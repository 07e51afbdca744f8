"""Record what people decide: about findings, about the boundary between history and work, and in tickets.

``decisions`` acknowledges, hides, links, splits, merges and undoes; ``history_boundary`` moves the boundary;
``tickets`` matches the tickets of an issue tracker with change points.
"""
