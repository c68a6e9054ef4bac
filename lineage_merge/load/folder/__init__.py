"""Loads into an embedded graph: a folder of columns, which one load at a time compares with and replaces."""
