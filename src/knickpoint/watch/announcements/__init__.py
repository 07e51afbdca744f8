"""Announce what settled: once, with the numbers of the moment, and with a correction where later data contradict.

``decisions`` has the rules, as pure functions over change points and the chains of announcements. ``announcer`` reads what
a run touched, applies the rules and writes the ledger, in the transaction of the run.
"""
