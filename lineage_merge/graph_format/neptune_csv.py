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

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from lineage_merge.graph_format.schema import EDGE_KEYS, EDGE_PROPERTIES, NODE_KEYS, NODE_PROPERTIES, Property
from lineage_merge.infra.batches import batched
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.storage import make_folder, write_file
from lineage_merge.model.errors import IntermediateError, LineageMergeError

# In the order of the fields of a row as `vertex_lines` and `edge_line` take it.
VERTEX_FIELDS = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
EDGE_FIELDS = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))

_TYPES = {"string": "String", "long": "Long"}
_ENVIRONMENT = Property("environment", "")
_DAG = Property("dag_name", "")
_DAGS = Property("dag_name", "", many=True)


def _header(keys: Iterable[str], declared: Iterable[Property], *, cardinality: bool) -> str:
    """Return the columns, in the order of the fields."""
    columns = [f"~{key}" for key in keys]
    for item in declared:
        suffix = ("(set)" if item.many else "(single)") if cardinality else ""
        columns.append(f"{item.name}:{_TYPES[item.type]}{suffix}")
    return ",".join(columns)


VERTEX_HEADER = _header(("id", "label"), (_ENVIRONMENT, _DAGS, *NODE_PROPERTIES), cardinality=True)
EDGE_HEADER = _header(
    ("id", "label", "from", "to"), (_ENVIRONMENT, _DAG, *EDGE_PROPERTIES), cardinality=False
)

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


Kind = Literal["vertices", "edges"]
VERTICES: Kind = "vertices"
EDGES: Kind = "edges"

# Approximate maximum size of a gzipped file, in bytes.
LARGEST_FILE = 64 * 1024 * 1024
_ELEMENTS_PER_BLOCK = 1000


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """Numbers of elements and files."""

    elements: int = 0
    files: int = 0


def lines_of(kind: Kind) -> Callable[[Sequence[Any]], Iterable[str]]:
    """Return the function from a row (in the order of `VERTEX_FIELDS` or `EDGE_FIELDS`) to its lines."""
    return vertex_lines if kind == VERTICES else _edge_lines


def write_parts(
    folder: str, kind: Kind, elements: Iterable[Iterable[str]], name: str, *, largest_file: int = LARGEST_FILE
) -> WrittenFiles:
    """Write the lines of all elements to ``folder/NAME-000.csv.gz`` and following; no file without elements.

    `largest_file`: approximate maximum size in bytes. Raises `SourceError` if the folder is not writable.
    """
    blocks = _blocks(elements)
    written = files = 0
    with TemporaryDirectory(prefix="lineage-merge-") as temporary:
        file = Path(temporary, "part.csv.gz")
        for first in blocks:
            if not files:
                make_folder(folder)
            written += _write_file(file, kind, chain([first], blocks), largest_file)
            write_file(f"{folder}/{name}-{files:03d}.csv.gz", file)
            files += 1
    return WrittenFiles(written, files)


def _edge_lines(row: Sequence[Any]) -> tuple[str]:
    return (edge_line(row),)


def _blocks(elements: Iterable[Iterable[str]]) -> Iterator[tuple[int, str]]:
    """Yield numbers of elements, with their lines as one text."""
    for block in batched(elements, _ELEMENTS_PER_BLOCK):
        yield len(block), "\n".join(chain.from_iterable(block)) + "\n"


def _write_file(file: Path, kind: Kind, blocks: Iterator[tuple[int, str]], largest: int) -> int:
    header = VERTEX_HEADER if kind == "vertices" else EDGE_HEADER
    elements = 0
    # Without time and name in the header, so that equal rows give equal bytes.
    with file.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        packed.write(f"{header}\n".encode())
        for count, text in blocks:
            packed.write(text.encode())
            elements += count
            if raw.tell() >= largest:
                break
    return elements


# Minimum number of elements per file, if there are enough for several files.
_FEWEST_ELEMENTS = 25_000


def write(
    folder: str, nodes: Rows[dict[str, Any]], edges: Rows[dict[str, Any]]
) -> tuple[WrittenFiles, WrittenFiles]:
    """Write nodes and edges (`graph_format.schema`) below `folder`.

    Other files in the folder stay. Raises `SourceError` if the folder is not writable, and IntermediateError
    (a row without a key).
    """
    vertex_rows = nodes.map(partial(_fields, VERTEX_FIELDS))
    edge_rows = edges.map(partial(_fields, EDGE_FIELDS))
    return write_rows(folder, VERTICES, vertex_rows), write_rows(folder, EDGES, edge_rows)


def _fields(names: tuple[str, ...], row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(map(row.get, names))


def write_rows(
    folder: str,
    kind: Kind,
    rows: Rows[tuple[Any, ...]],
    elements: int | None = None,
    *,
    largest_file: int = LARGEST_FILE,
) -> WrittenFiles:
    """Write rows of one kind, values in the order of `VERTEX_FIELDS` or `EDGE_FIELDS`.

    `elements`: approximate number of rows, for a suitable number of files. `largest_file`: approximate
    maximum size in bytes. Errors as in `write`.
    """
    tasks = rows.engine.parallelism
    if elements is not None:
        tasks = max(1, min(tasks, elements // _FEWEST_ELEMENTS))
    if rows.partition_count > tasks:
        rows = rows.repartition(tasks)
    task = partial(_write_partition, f"{folder.rstrip('/')}/{kind}", kind, largest_file)
    elements_written = files = 0
    for outcome in rows.map_numbered_partitions(task).collect():
        if isinstance(outcome, LineageMergeError):
            raise outcome
        elements_written += outcome.elements
        files += outcome.files
    return WrittenFiles(elements_written, files)


def _write_partition(
    folder: str, kind: Kind, largest: int, partition: int, rows: Iterable[tuple[Any, ...]]
) -> Iterator[WrittenFiles | LineageMergeError]:
    try:
        # File names contain the partition number.
        lines = map(lines_of(kind), rows)
        yield write_parts(folder, kind, lines, f"part-{partition:05d}", largest_file=largest)
    except LineageMergeError as error:
        yield error  # raised in a worker, it would reach the driver as text, after Spark's own retries
