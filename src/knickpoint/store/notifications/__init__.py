"""Notifications in the store: the delivery ledger, how far announcements are planned, and the signed links used."""
