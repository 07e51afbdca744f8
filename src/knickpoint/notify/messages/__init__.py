"""Messages: the facts about a change, and the templates that put them into words."""
