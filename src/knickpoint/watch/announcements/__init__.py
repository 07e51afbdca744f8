"""Announce what settled: once, with the numbers of the moment, and with a correction where later data contradict.

``transitions`` has the table of what a chain of announcements says next, and ``decisions`` which chains begin; both are
pure. ``announcer`` reads what a run touched, applies them and writes the ledger, in the transaction of the run.
"""
