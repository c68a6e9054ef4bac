"""What questions find in a graph: lineage, effects, causes, usage, tags; plain values, no rows of answers."""
