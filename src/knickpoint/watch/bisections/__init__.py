"""Put what a bisection found onto its finding: the suspect range shrinks, the culprit leads, one announcement says so."""
