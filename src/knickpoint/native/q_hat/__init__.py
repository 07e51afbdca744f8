"""Compute Q-hat, the statistic of E-Divisive, for every split of one series."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.q_hat import reference
from knickpoint.native.q_hat.reference import TIED

__all__ = ["TIED", "q_hat", "scan_both"]

q_hat = choose(reference.q_hat)
scan_both = choose(reference.scan_both)
