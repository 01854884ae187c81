"""Audit: measure the privacy instead of believing it."""
