"""One module a revision; the file name begins with it."""
