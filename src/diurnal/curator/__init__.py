"""The curator: starts a plan once, reports step after step, each once, behind guard and budget."""
