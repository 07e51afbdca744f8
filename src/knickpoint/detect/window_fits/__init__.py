"""Measure how much the two halves of a window differ: the kinds of fit, and the rules that combine them."""
