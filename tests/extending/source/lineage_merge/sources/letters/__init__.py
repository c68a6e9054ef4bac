"""Letters: a file of lines such as ``copier: a -> b``. The format is documented in `tests/extending`."""
