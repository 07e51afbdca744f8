"""The one rule for addresses that the program contacts: which hosts it may reach, and how it reaches them safely."""
