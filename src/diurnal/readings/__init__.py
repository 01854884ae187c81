"""Readings: integers on a regular grid, one column a household."""
