"""The bodies of requests and responses: what scripts and the dashboard can rely on; one module a resource."""
