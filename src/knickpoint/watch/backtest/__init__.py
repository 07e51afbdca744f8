"""Backtest: replay an alert over the past, commit by commit, and compare it with what people decided.

``selection`` finds the traces that matter, ``replay`` runs the alert over them in a store of its own, as a worker would
have done, and compares what it announced with the labels. Nothing is written into the store of the instance.
"""
