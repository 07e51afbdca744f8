"""Clusters of traces of one shape, and a step fit of the centroid of each."""
