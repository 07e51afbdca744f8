"""Steps from one schema to the next, run by Alembic on the connection that the store hands over."""
