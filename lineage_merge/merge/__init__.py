"""Merge of all sources: dataset identities, aliases, temporary datasets, duplicate elements."""
