"""Declared lineage: edges that no tool reports, written by a person with the reason."""
