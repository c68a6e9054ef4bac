"""Loading of large differences through Neptune's bulk loader."""
