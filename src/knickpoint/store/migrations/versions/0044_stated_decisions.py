"""State each change again, with the decision about it and its ticket."""

from __future__ import annotations

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Leave the tables as they are: the statements are written again when the store is opened."""
