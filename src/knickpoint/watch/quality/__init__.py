"""Alert quality: how often alerts are right, what they missed, and what would make them better, by people's decisions."""
