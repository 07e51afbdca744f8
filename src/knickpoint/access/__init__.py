"""Who may do what: sign-in, roles, tokens for machines, identities of CI jobs, and the audit log.

Nothing here speaks HTTP to a client; the server asks this room who a request comes from.
"""
