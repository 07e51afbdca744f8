"""Draw a trace with its findings as a picture, without a browser: for mails, comments and badges."""
