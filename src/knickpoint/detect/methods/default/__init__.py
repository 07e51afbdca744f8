"""The default method: robust segmentation, and a forest that judges each candidate."""
