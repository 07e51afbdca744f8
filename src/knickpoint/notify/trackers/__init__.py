"""Issue trackers: tickets are made, updated and read back."""
