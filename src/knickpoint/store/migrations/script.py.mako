"""${message}"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None
# OLDER_PROGRAMS_GO_ON = True  # where all of it is tables, indexes, and columns that an older program need not fill


def upgrade() -> None:
    """Go one revision up."""
    ${upgrades if upgrades else "pass"}
