"""Implementations of `query.graph.LineageGraph`: Gremlin endpoint, files, embedded store."""
