"""The pool: devices that take probes, on this machine or on others."""
