"""What traces are called: keys, params, units, and queries over them."""
