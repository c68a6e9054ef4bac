"""The lineage, usage and jobs of units of statements."""
