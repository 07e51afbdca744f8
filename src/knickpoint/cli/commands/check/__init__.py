"""``knick check``: judge new results against the history, and say so where a pull request shows it."""
