"""Text formats of a subgraph: one module per format, each a pure function that escapes hostile names."""
