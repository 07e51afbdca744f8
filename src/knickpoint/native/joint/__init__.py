"""Compute Q-hat, the statistic of E-Divisive, for points of several dimensions."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.joint import reference

__all__ = ["joint_q"]

joint_q = choose(reference.joint_q)
