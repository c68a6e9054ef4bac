"""How texts of an edge come of all that is said of it: with Spark (`edges`) as without (`in_memory`)."""

from lineage_merge.column_lineage import InfluenceKind, Transformation

# Texts of which an edge may have several, of several writes or branches.
SEVERAL = ("via", "operations", "expression")
LONGEST_EXPRESSION = 1000
# The order in which the ways of a column are listed: those that make its value first.
TRANSFORMATIONS = (*(each.name for each in Transformation), *(each.value for each in InfluenceKind))
