"""Soaking: who comes to a service for ten minutes, and what is looked at afterwards. `benchmarks.soak` runs it."""

PATIENCE = 3.0
"""How many seconds a body has to arrive, a head, and an answer: less than it would be, so that it is seen."""
