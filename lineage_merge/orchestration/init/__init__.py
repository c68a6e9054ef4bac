"""First configuration: find sources, inspect them, propose settings, write and verify the file."""
