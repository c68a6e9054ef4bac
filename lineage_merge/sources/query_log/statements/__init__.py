"""Logged statements: their sessions, names and runs, cut into units. Pure."""
