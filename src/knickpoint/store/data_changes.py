"""Name the data that a snapshot of PostgreSQL shows, so that an answer is cached until they change.

Triggers write the last transaction of each connection that changed a table of data into the table ``data_change``. The
visible rows together are the name. Transactions of one connection follow each other, and no number of a transaction
comes again, so two snapshots with one name see the same of these tables. It holds on standbys as well, which repeat the
rows with the data.

Tables of :data:`HOUSEKEEPING` change all the time, for reasons that no cached answer shows: work that is claimed,
heartbeats, what was sent. They have no trigger.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

HOUSEKEEPING: Final = frozenset(
    {
        "audit_entry",
        "audit_retention",
        "data_change",
        "delivery",
        "delivery_item",
        "ended_session",
        "hook_call",
        "judged",
        "notification_cursor",
        "outbox_consumer",
        "outbox_event",
        "person_setting",
        "schema_support",
        "token",
        "tracker_cursor",
        "used_link",
        "worker",
    }
)
"""Tables whose changes end no cached answer; none of those may read them."""

_DATA_ID: Final = """
SELECT concat_ws(' ', pg_postmaster_start_time(), string_agg(concat(backend, ':', last), ' ' ORDER BY backend))
FROM data_change
"""

_FORGET: Final = text(
    """
    WITH noted AS (
        INSERT INTO data_change (backend, last) VALUES (pg_backend_pid(), txid_current())
        ON CONFLICT (backend) DO UPDATE SET last = excluded.last
    )
    DELETE FROM data_change WHERE backend <> pg_backend_pid() AND backend NOT IN (SELECT pid FROM pg_stat_activity)
    """
)


def read_data_id(connection: Connection) -> str:
    """Return the name of the data that a snapshot of PostgreSQL shows; it includes the start of the server.

    A server that was set back to an earlier state counts its transactions anew, but it has started since.
    """
    return str(connection.exec_driver_sql(_DATA_ID).scalar_one())


def forget_ended_connections(connection: Connection) -> None:
    """Delete the rows of connections to PostgreSQL that are no more, in a transaction of its own.

    It notes itself, so that the name of the data becomes one that never was before.
    """
    connection.execute(_FORGET)
