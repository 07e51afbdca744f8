"""``knick bisect``: find the commit that made a change, by building and measuring commits between two."""
