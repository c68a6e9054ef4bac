"""The types that every stage uses: elements of lineage, ids, and the exception tree."""
