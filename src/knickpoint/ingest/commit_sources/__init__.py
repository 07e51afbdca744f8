"""Where the commits of a repository come from, and their order: from git, or from the results themselves."""
