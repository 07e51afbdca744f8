"""The shapes of requests and answers: what a script, and the dashboard, can rely on."""
