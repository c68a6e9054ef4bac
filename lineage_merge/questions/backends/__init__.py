"""Implementations of `questions.graph.LineageGraph`: Gremlin endpoint, columns of files, embedded graph."""
