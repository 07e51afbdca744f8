"""Bisection: search the commit that made a change, on one machine or on a pool of devices."""
