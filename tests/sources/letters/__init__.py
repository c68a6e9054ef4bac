"""A source of its own, made as CONTRIBUTING.md says: a file of lines such as ``copier: a -> b``."""
