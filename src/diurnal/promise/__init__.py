"""Promises: what is asked, how far a household can move it, which noise hides that, and what it is worth."""
