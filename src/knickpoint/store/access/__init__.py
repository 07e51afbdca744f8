"""Access in the store: tokens as hashes, sessions that ended early, and the audit log."""
