"""Engines: two verbs, sort rows into blocks of a panel and fold a kernel over its blocks."""
