"""The commands, one module each; each module has a click command called ``command``."""
