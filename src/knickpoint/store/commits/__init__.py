"""Repositories, their commits by slot, and the lines that order slots."""
