"""Questions to a graph, one per module; `backends/` hold the graph, `formats/` render answers."""
