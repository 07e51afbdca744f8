"""The commands, one module or package each, or several that belong together; ``program`` says which is where."""
