"""Neptune's CSV for Gremlin, as its bulk loader reads it. Pure: no files, no Spark.

The format is AWS's "Gremlin load data format", which follows RFC 4180. Its rules:

* vertices and edges are in separate files, each with a header; UTF-8, lines end in a newline;
* the columns are ``~id``, ``~label``, for edges ``~from``, ``~to``, and properties with type and, for
  vertices, cardinality: ``name:String(single)``, ``tags:String(set)``. Edges have no cardinality;
* a field with a quotation mark, comma or line break is quoted, with quotation marks doubled. There is no
  other escape; a backslash is a literal backslash. Spaces around an unquoted field are lost, so every text is
  quoted;
* an empty field is unknown, and the stored value stays unchanged. ``""`` is an empty text if
  `allowEmptyStrings` is set, otherwise unknown;
* several rows with one id are one element.

A set could be one field (``String(set)[]``) with semicolons between its members, escaped by a backslash
inside a member. The treatment of a member that ends with a backslash or starts with a space is not
documented, so each further member has a separate row with only the id and the label, and no value is split or
escaped.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from lineage_merge.graph_format.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
    Property,
)
from lineage_merge.model.errors import IntermediateError

# In the order of the fields of a row as `vertex_lines` and `edge_line` take it.
VERTEX_FIELDS = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
EDGE_FIELDS = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))

_TYPES = {"string": "String", "long": "Long"}
_ENVIRONMENT = Property("environment", "")
_DAG = Property("dag_name", "")
_DAGS = Property("dag_name", "", many=True)


def _header(declared: Property, *, cardinality: bool) -> str:
    suffix = ("(set)" if declared.many else "(single)") if cardinality else ""
    return f"{declared.name}:{_TYPES[declared.type]}{suffix}"


def _vertex_header() -> str:
    properties = (_ENVIRONMENT, _DAGS, *NODE_PROPERTIES)
    return ",".join(["~id", "~label", *(_header(item, cardinality=True) for item in properties)])


def _edge_header() -> str:
    properties = (_ENVIRONMENT, _DAG, *EDGE_PROPERTIES)
    return ",".join(
        ["~id", "~label", "~from", "~to", *(_header(item, cardinality=False) for item in properties)]
    )


# The columns are in the order of the fields.
VERTEX_HEADER = _vertex_header()
EDGE_HEADER = _edge_header()

_KEYS = len(NODE_KEYS)
_SETS = tuple(VERTEX_FIELDS.index(item.name) for item in NODE_PROPERTIES if item.many)
_DAG_NAME = VERTEX_FIELDS.index("dag_name")
_QUOTE, _TWO = '"', '""'


def vertex_lines(row: Sequence[Any]) -> Iterator[str]:
    """Yield the lines of a vertex, without line ends: one, and another for each further member of a set.

    `row`: values in the order of `VERTEX_FIELDS`, sets as lists; None is unknown. The DAG name is one text,
    or a list if the vertex has several. Raises IntermediateError if id, label, environment or DAG name is
    missing.
    """
    _require("node", row, VERTEX_FIELDS, _KEYS)
    values = list(row)
    more: dict[int, list[Any]] = {}
    for position in _SETS if type(row[_DAG_NAME]) is str else (_DAG_NAME, *_SETS):
        if values[position]:
            members = [member for member in values[position] if member is not None]
            if len(members) > 1:
                more[position] = members
            values[position] = members[0] if members else None
        else:
            values[position] = None
    yield _line(values)
    for number in range(1, max(map(len, more.values()), default=1)):
        further = values[:2] + [None] * (len(values) - 2)
        for position, members in more.items():
            if number < len(members):
                further[position] = members[number]
        yield _line(further)


def edge_line(row: Sequence[Any]) -> str:
    """Return the line of an edge, without line end. `row`: values in the order of `EDGE_FIELDS`."""
    _require("edge", row, EDGE_FIELDS, len(EDGE_KEYS))
    return _line(row)


def _line(values: Sequence[Any]) -> str:
    # One expression, because this is most of the cost per row.
    return ",".join(
        [
            "" if value is None else f'"{value.replace(_QUOTE, _TWO)}"' if type(value) is str else str(value)
            for value in values
        ]
    )


def _require(kind: str, row: Sequence[Any], names: Sequence[str], keys: int) -> None:
    if all(row[:keys]):
        return
    missing = next(names[position] for position in range(keys) if not row[position])
    raise IntermediateError(f"{kind} {row[0] or 'without id'}: {missing} is missing")


def is_unambiguous(row: Sequence[Any]) -> bool:
    """Return whether every loader reads these values alike.

    Empty texts are ambiguous, because a loader may treat them as unknown, and so is the character NUL, which
    the format does not define.
    """
    for value in row:
        if isinstance(value, str):
            if not value or "\0" in value:
                return False
        elif isinstance(value, list) and not all(member and "\0" not in member for member in value):
            return False
    return True
