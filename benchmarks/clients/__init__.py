"""Clients with which load.py compares the loader."""
