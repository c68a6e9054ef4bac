"""The documents of one plan, indexed for column lineage.

Ids are those of Spline's database with their collection (``attribute/{plan}:attr-1``), as in edges. Edges to
missing documents are left out: lineage is then incomplete, never wrong.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.parts import Key
from lineage_merge.column_lineage.table_parts import TablePart
from lineage_merge.model.elements import Reference
from lineage_merge.model.graph_walks import sort_by_edges
from lineage_merge.sources.spline.columns.argument_roles import class_name
from lineage_merge.sources.spline.columns.sql_types import fields, type_texts
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.jdbc_queries import QUERIES
from lineage_merge.sources.spline.naming import read_part

if TYPE_CHECKING:
    from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery

# Parameter of a read with the names of its pseudo-columns, where more than the agent's document is known.
PSEUDO_COLUMNS = "pseudoColumns"
# Fields of `_metadata` in Spark 3.3, which declares it as nullable like a stored column.
_OF_SPARK_3_3 = 4
# The parameter with the expressions of an operation's output, one per column.
_OUTPUTS = {"Project": "projectList", "Aggregate": "aggregateExpressions"}
_PATH_STEP = re.compile(r"\['([^']*)'\]|\[(\d+)\]")

Value = TypeVar("Value")


class Use(NamedTuple):
    """A parameter of an operation that is an attribute or an expression.

    `path` is its location, such as ``("projections", 0, 2)``; `value` its id.
    """

    path: tuple[str | int, ...]
    value: str


@dataclass(frozen=True)
class PlanColumns:
    """All documents of one plan that column lineage needs; `header` is the plan's own.

    `application` is set on the references of its sources.
    """

    header: Document | None
    documents: Mapping[str, Sequence[Document]] = field(default_factory=dict)
    application: str = ""

    def _list_documents(self, collection: str) -> Sequence[Document]:
        return self.documents.get(collection, ())

    def _index_by_id(self, collection: str) -> dict[str, Document]:
        return {f"{collection}/{document['_key']}": document for document in self._list_documents(collection)}

    @cached_property
    def operations(self) -> dict[str, Document]:
        """Return the operations by id."""
        return self._index_by_id("operation")

    @cached_property
    def attributes(self) -> dict[str, Document]:
        """Return the attributes by id."""
        return self._index_by_id("attribute")

    @cached_property
    def expressions(self) -> dict[str, Document]:
        """Return the expressions by id."""
        return self._index_by_id("expression")

    @cached_property
    def write(self) -> str:
        """Return the id of the plan's write, "" without one."""
        return next((key for key, node in self.operations.items() if node.get("type") == "Write"), "")

    @cached_property
    def reads(self) -> dict[str, tuple[Reference, ...]]:
        """Return the sources of each read operation."""
        return {
            key: tuple(Reference("", str(uri), self.application) for uri in node.get("inputSources") or ())
            for key, node in self.operations.items()
            if node.get("type") == "Read"
        }

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """Return the inputs of each operation, in order."""
        children = _sort_edges(self._list_documents("follows"))
        return {
            key: tuple(child for child in children.get(key, ()) if child in self.operations)
            for key in children
        }

    @cached_property
    def bottom_up(self) -> tuple[str, ...]:
        """Return the ids of all operations, each after its inputs."""
        parents: defaultdict[str, list[str]] = defaultdict(list)
        for key in self.operations:
            for child in dict.fromkeys(self.children.get(key, ())):
                parents[child].append(key)
        return tuple(sort_by_edges(self.operations, parents))

    @cached_property
    def schemas(self) -> dict[str, tuple[str, ...]]:
        """Return the output attributes of each operation, by position."""
        columns = _sort_edges(self._list_documents("consistsOf"))
        return {
            edge["_from"]: tuple(columns.get(edge["_to"], ()))
            for edge in self._list_documents("emits")
            if edge["_from"] in self.operations
        }

    def output(self, operation: str) -> tuple[str, ...]:
        """Return the output attributes of an operation.

        In some versions, an operation that changes nothing has no schema: then it is that of its input. An
        RDD has none at all.
        """
        seen: set[str] = set()
        while operation not in self.schemas and operation not in seen:
            seen.add(operation)
            below = self.children.get(operation, ())
            name = str((self.operations.get(operation) or {}).get("name") or "")
            if len(below) != 1 or name.endswith("RDD"):
                return ()
            operation = below[0]
        return self.schemas.get(operation, ())

    def outputs_below(self, operation: str) -> set[str]:
        """Return the output attributes of an operation's inputs."""
        return {attribute for child in self.children.get(operation, ()) for attribute in self.output(child)}

    def list_stored(self, read: str) -> tuple[str, ...]:
        """Return the attributes of a read that are columns of its dataset.

        Neither those of metadata tables nor pseudo-columns.
        """
        part = self.read_part(read)
        if part == "metadata":
            return ()
        names = set(self.params(read).get(PSEUDO_COLUMNS) or ())
        if self.format(read) == "iceberg":
            names |= pseudo_columns.ICEBERG
        if part == "changes":
            names.update(pseudo_columns.ICEBERG_CHANGE)
        output = self.output(read)
        last = output[-1] if output and self._is_file_metadata(output[-1]) else None
        return tuple(id_ for id_ in output if id_ != last and self.name(id_) not in names)

    def _is_file_metadata(self, attribute: str) -> bool:
        """Return whether an attribute is Spark's structure `_metadata`, and not a stored copy of it.

        A stored column is nullable.
        """
        data_type = self.data_types.get(self.type_id(attribute)) or {}
        fields = [str(field.get("name")) for field in data_type.get("fields") or ()]
        if not pseudo_columns.is_file_metadata(self.name(attribute), fields):
            return False
        return data_type.get("nullable") is False or len(fields) == _OF_SPARK_3_3

    @cached_property
    def produced(self) -> dict[str, frozenset[str]]:
        """Return the new attributes of each operation."""
        by_start: defaultdict[str, set[str]] = defaultdict(set)
        for edge in self._list_documents("produces"):
            by_start[edge["_from"]].add(edge["_to"])
        return {key: frozenset(values) for key, values in by_start.items()}

    @cached_property
    def computed_by(self) -> dict[str, tuple[str, ...]]:
        """Return the expressions that compute each attribute.

        Producer API 1 plans have no edges to them: there the expression is found at the attribute's position.
        """
        computing = _sort_edges(self._list_documents("computedBy"))
        if not computing:
            return self._match_by_position()
        return {
            key: tuple(value for value in computing[key] if value in self.expressions) for key in computing
        }

    def _match_by_position(self) -> dict[str, tuple[str, ...]]:
        literals: dict[str, tuple[str, ...]] = {}
        for operation in self.bottom_up:
            known = self.outputs_below(operation)
            pairs = values_by_position(
                str(self.operations[operation].get("name")),
                partial(self._items, operation),
                self.output(operation),
                known,
            )
            for attribute, value in pairs:
                if attribute not in known and value in self.expressions:
                    literals.setdefault(attribute, (value,))
        return literals

    @cached_property
    def arguments(self) -> dict[str, tuple[str, ...]]:
        """Return the arguments of each expression (attributes and expressions) in order."""
        return {key: tuple(values) for key, values in _sort_edges(self._list_documents("takes")).items()}

    @cached_property
    def derives_from(self) -> dict[str, tuple[str, ...]]:
        """Return the nearest attributes from which each attribute is computed, as Spline recorded them."""
        return {
            key: tuple(values) for key, values in _sort_edges(self._list_documents("derivesFrom")).items()
        }

    @cached_property
    def uses(self) -> dict[str, tuple[Use, ...]]:
        """Return each operation's parameters that are attributes or expressions, by location."""
        uses: defaultdict[str, list[Use]] = defaultdict(list)
        for edge in self._list_documents("uses"):
            uses[edge["_from"]].append(Use(_path(str(edge.get("path") or "")), edge["_to"]))
        return {key: tuple(sorted(values, key=lambda use: _place(use.path))) for key, values in uses.items()}

    def parameter(self, operation: str, name: str) -> tuple[str, ...]:
        """Return what an operation's parameter of that name uses, in order."""
        return tuple(use.value for use in self.uses.get(operation, ()) if use.path[:1] == (name,))

    def _items(self, operation: str, name: str) -> tuple[str, ...]:
        """Return the attributes and expressions of a parameter or of its list items."""
        return tuple(
            use.value
            for use in self.uses.get(operation, ())
            if use.path[:1] == (name,) and all(isinstance(step, int) for step in use.path[1:])
        )

    def queries(self, operation: str) -> "Sequence[PushedQuery | None]":
        """Return the queries that a read's columns belong to, instead of tables; None if unreadable."""
        pushed_queries: Sequence[PushedQuery | None] = self.operations[operation].get(QUERIES) or ()
        return pushed_queries

    def read_part(self, operation: str) -> TablePart | None:
        """Return what a read takes of an Iceberg table, None for the table itself or another format."""
        if self.format(operation) != "iceberg":
            return None
        location = next((source.name for source in self.reads.get(operation, ())), "")
        columns = [self.name(attribute) for attribute in self.output(operation)]
        return read_part(self.params(operation), columns, location)

    def format(self, operation: str) -> str:
        """Return the format that a read reports, "" without one."""
        return str((self.operations[operation].get("extra") or {}).get("sourceType") or "").lower()

    def name(self, attribute: str) -> str:
        """Return the name of an attribute, "" if it is unknown."""
        return str((self.attributes.get(attribute) or {}).get("name") or "")

    def type_id(self, value: str) -> str:
        """Return the id of the type of an attribute or an expression."""
        return str((self.attributes.get(value) or self.expressions.get(value) or {}).get("dataType"))

    def data_type(self, value: str) -> str:
        """Return the type of an attribute or an expression in Spark's SQL notation, "" if it is unknown."""
        return self._type_texts.get(self.type_id(value), "")

    def constant(self, value: str) -> Key | None:
        """Return the value of a constant, None for anything else."""
        document = self.expressions.get(value) or {}
        found = document.get("value") if document.get("type") == "Lit" else None
        return found if isinstance(found, Key) else None

    def struct_fields(self, value: str, path: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
        """Return the fields of a struct, or of the structs in an array or map: names and ids of types.

        `path` are the names below the value; none if it has no such field.
        """
        fields = self.fields_of_type(self.type_id(value))
        for step in path:
            fields = next((self.fields_of_type(inner) for name, inner in fields if name == step), ())
        return fields

    def fields_of_type(self, type_id: str) -> tuple[tuple[str, str], ...]:
        """Return the fields of a type, or of its elements or values; none if it is no struct."""
        known = self._fields.get(type_id)
        return self._fields.setdefault(type_id, fields(self.data_types, type_id)) if known is None else known

    @cached_property
    def _fields(self) -> dict[str, tuple[tuple[str, str], ...]]:
        return {}

    def has_other_names(self, from_type: str, to_type: str) -> bool:
        """Return whether two types are structs of as many fields, of which some have other names."""
        pairs = [(from_type, to_type)]
        seen = set(pairs)
        while pairs:
            first, second = (self.fields_of_type(data_type) for data_type in pairs.pop())
            if len(first) != len(second):
                continue
            for (own, own_type), (name, other_type) in zip(first, second, strict=True):
                if own.casefold() != name.casefold():
                    return True
                if own_type != other_type and (own_type, other_type) not in seen:
                    seen.add((own_type, other_type))
                    pairs.append((own_type, other_type))
        return False

    @cached_property
    def _type_texts(self) -> dict[str, str]:
        return type_texts(self.data_types)

    def class_name(self, expression: str) -> str:
        """Return the Catalyst class of an expression, such as ``aggregate.Sum``; "" if unknown."""
        return class_name(self.expressions.get(expression) or {})

    def params(self, key: str) -> Mapping[str, Any]:
        """Return the parameters of an operation or an expression."""
        params = (self.operations.get(key) or self.expressions.get(key) or {}).get("params")
        return params if isinstance(params, dict) else {}

    @cached_property
    def data_types(self) -> dict[str, Document]:
        """Return the data types by id."""
        types = ((self.header or {}).get("extra") or {}).get("dataTypes")
        listed = types if isinstance(types, list) else []
        return {str(entry["id"]): entry for entry in listed if isinstance(entry, dict) and "id" in entry}


def values_by_position(
    name: str,
    parameter: Callable[[str], Sequence[Value]],
    output: Sequence[str],
    known: Collection[str],
) -> Iterator[tuple[str, Value]]:
    """Return the output attributes of an operation, each with the value at its position.

    Producer API 1 lists the expressions of an operation's output and the attributes of its schema without
    connecting them: Spark has both in the same order. `parameter` returns the values of a parameter in order,
    `known` are the attributes of the operations below.
    """
    new = [attribute for attribute in output if attribute not in known]
    if name in _OUTPUTS:
        yield from _pair_values(output, parameter(_OUTPUTS[name]))
    elif name == "Window":
        yield from _pair_values(new, parameter("windowExpressions"))
    elif name == "Generate":
        for value in parameter("generator"):
            yield from ((attribute, value) for attribute in new)


def _pair_values(attributes: Sequence[str], values: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    if len(values) == len(attributes):
        yield from zip(attributes, values, strict=True)


def _sort_edges(edges: Sequence[Document]) -> dict[str, list[str]]:
    """Return the ends of each start's edges, by `index` if they have one."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for edge in sorted(edges, key=lambda document: (document["_from"], document.get("index") or 0)):
        ends[edge["_from"]].append(edge["_to"])
    return dict(ends)


def _path(text: str) -> tuple[str | int, ...]:
    """Parse ``$['params']['projections'][0][2]`` into ``("projections", 0, 2)``."""
    steps = tuple(name if not number else int(number) for name, number in _PATH_STEP.findall(text))
    return steps[1:] if steps[:1] == ("params",) else steps


def _place(path: tuple[str | int, ...]) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in path)
