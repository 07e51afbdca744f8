"""Student's t before and after each commit, as Talos tests it."""
