"""Siblings: what several related traces show together, and none of them by itself."""
