"""Carry what was announced to people: who hears of what and when, how it reads, and that it arrives once."""
