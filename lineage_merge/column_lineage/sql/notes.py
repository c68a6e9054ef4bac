"""Texts of notes on SQL that a review recognizes. A note may add details after them."""

MISSING_COLUMNS = "names columns that its tables do not have"
UNKNOWN_TABLE = "names columns whose table is unknown"
UNKNOWN_STAR = "selects * from tables with unknown columns"
UNNAMED_COLUMNS = "has unnamed columns, whose names only the platform knows"
UNKNOWN_POSITIONS = "fills columns by position"
WRONG_COLUMN_COUNT = "inserts "
UNKNOWN_FUNCTION = "reads functions whose inputs are unknown"
