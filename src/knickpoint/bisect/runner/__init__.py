"""The runner: one probe in a worktree, from the checkout to the values in the results."""
