"""The commands: one module or package each, which has a click command called ``command``."""
