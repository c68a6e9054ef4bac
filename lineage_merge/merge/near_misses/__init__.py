"""Near misses: datasets that are probably one, but have different names. Suggestions only: nothing is joined.

`names.py` compares two names, `pairs.py` scores and selects pairs, `fixes.py` writes the YAML
that joins them (all pure); `collection.py` collects the input from the rows of a merge.
"""
