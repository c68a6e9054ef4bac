"""Column lineage: transformations, and the derivation of columns in SQL."""
