"""E-Divisive, of one series and of several together, with the tests that end it."""
