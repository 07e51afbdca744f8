"""Alert quality by people's decisions: how often alerts are right, what they missed, what would improve them."""
