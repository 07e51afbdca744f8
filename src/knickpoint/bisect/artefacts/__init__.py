"""Artefacts: what a build makes, kept by commit, made here or found elsewhere."""
