"""Where streams come to land: what a topic holds, kept as files that a source reads like any other."""
