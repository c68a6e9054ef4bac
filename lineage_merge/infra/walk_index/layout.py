"""Names of the files of a walk index and of what their metadata say."""

VERTICES = "vertices.arrow"
EDGES = "edges.arrow"
ADJACENCY = "adjacency.arrow"
NAMES = "names.arrow"
# The properties whose texts `names.arrow` has.
NAME_KEYS = ("name", "qualified_name", "location", "namespace")

# Keys of metadata. Another format is not read.
FORMAT_KEY = "format"
FORMAT = "1"
FIELDS = "has_fields"
SPANS_KEY = "spans"
