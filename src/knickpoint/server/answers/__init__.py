"""Read the store and build the answers of the API from it; one module a resource."""
