"""Events for workers, and the workers that take them."""
