"""The graph format: schemas of nodes and edges, and their files."""
