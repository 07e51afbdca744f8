"""Detect the steps of each trace and keep those that an alert reports: from a frame to sightings."""
