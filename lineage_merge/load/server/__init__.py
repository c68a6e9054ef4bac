"""Loads into a Gremlin server: compares with what it stores, and sends the changes."""
