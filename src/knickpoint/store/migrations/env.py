"""Run migrations on the connection that the store hands over."""

from __future__ import annotations

from alembic import context

from knickpoint.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
