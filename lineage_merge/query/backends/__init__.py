"""The graph behind a Gremlin endpoint, in files, or in the embedded store, as `query.graph.LineageGraph`."""
