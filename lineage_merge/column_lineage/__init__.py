"""Column lineage: values, what they are made of, and the columns that they lead to."""
