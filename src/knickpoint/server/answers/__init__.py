"""Read the store and build the answers of the API; one module a resource."""
