"""A subgraph as text: one file a format, each a pure function. What is hostile in a name is escaped."""
