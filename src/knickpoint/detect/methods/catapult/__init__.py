"""The change points of Catapult, the dashboard of Chromium."""
