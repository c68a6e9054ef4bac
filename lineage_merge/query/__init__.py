"""Questions to the graph, answered once, printed by whoever asks."""
