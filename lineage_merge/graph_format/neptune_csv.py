"""Neptune's CSV for Gremlin, as its bulk loader reads it. Pure: no files, no Spark.

The format is AWS's "Gremlin load data format", which follows RFC 4180. What it asks for:

* vertices and edges in files of their own, each with a header; UTF-8, lines that end in a newline;
* ``~id``, ``~label`` and of edges ``~from``, ``~to``; of a property its name, type and, on
  vertices, cardinality: ``name:String(single)``, ``tags:String(set)``. Edges know no cardinality;
* a field with a quotation mark, comma or line break stands in quotation marks, those in it
  doubled; there is no other escape, a backslash is a backslash. Spaces around a field that is not
  quoted are lost. So every text is quoted here;
* a field with nothing in it is "not told", and leaves what the graph has. ``""`` is an empty text,
  if the loader is told to load those (`allowEmptyStrings`), otherwise nothing;
* several rows of one id make one element.

A set could be one field (``String(set)[]``) with a semicolon between its members and a backslash before
a semicolon in one. What that makes of a member that ends with a backslash, or begins with a
space, is not written down. So each further member stands in a row of its own, with nothing but
the id and the label; no value is ever cut or escaped.
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
    said = ("(set)" if declared.many else "(single)") if cardinality else ""
    return f"{declared.name}:{_TYPES[declared.type]}{said}"


def _vertex_header() -> str:
    properties = (_ENVIRONMENT, _DAGS, *NODE_PROPERTIES)
    return ",".join(["~id", "~label", *(_header(item, cardinality=True) for item in properties)])


def _edge_header() -> str:
    properties = (_ENVIRONMENT, _DAG, *EDGE_PROPERTIES)
    return ",".join(
        ["~id", "~label", "~from", "~to", *(_header(item, cardinality=False) for item in properties)]
    )


# The columns stand in the order of the fields.
VERTEX_HEADER = _vertex_header()
EDGE_HEADER = _edge_header()

_KEYS = len(NODE_KEYS)
_SETS = tuple(VERTEX_FIELDS.index(item.name) for item in NODE_PROPERTIES if item.many)
_DAG_NAME = VERTEX_FIELDS.index("dag_name")
_QUOTE, _TWO = '"', '""'


def vertex_lines(row: Sequence[Any]) -> Iterator[str]:
    """The lines of a vertex, without line ends: one, and another for each further member of a set.

    `row`: values in the order of `VERTEX_FIELDS`, sets as lists; None is not told. The DAG's name is one
    text, or a list where several know the vertex. Raises IntermediateError for one without id, label,
    environment or DAG name.
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
    """The line of an edge, without line end. `row`: values in the order of `EDGE_FIELDS`. Errors likewise."""
    _require("edge", row, EDGE_FIELDS, len(EDGE_KEYS))
    return _line(row)


def _line(values: Sequence[Any]) -> str:
    # In one expression, because it is most of what a row costs here.
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


def is_certain(row: Sequence[Any]) -> bool:
    """Whether every loader reads of these values what they are.

    Not of an empty text, which one that confuses it with an empty field would put wherever nothing
    is told, and not of the character NUL, of which the format says nothing.
    """
    for value in row:
        if isinstance(value, str):
            if not value or "\0" in value:
                return False
        elif isinstance(value, list) and not all(member and "\0" not in member for member in value):
            return False
    return True
