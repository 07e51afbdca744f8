"""``knick detect``: find steps in series from a file or a pipe, without an instance."""
