"""The intermediate format: what a node and an edge look like, as files and in the graph."""
