"""Run AQL over documents in memory: a query is parsed by `aql.lark`, compiled to closures and run."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from itertools import islice
from typing import Any, Final

from lark import Lark, Token, Tree, v_args
from lark.exceptions import UnexpectedInput
from lark.visitors import Interpreter

from .store import Collection, Database, Document, ServerError, at_path, rank

QUERY_PARSE: Final = 1501
QUERY_EMPTY: Final = 1502
NUMBER_OUT_OF_RANGE: Final = 1504
VARIABLE_REDECLARED: Final = 1511
FUNCTION_NAME_UNKNOWN: Final = 1540
FUNCTION_ARGUMENT_NUMBER_MISMATCH: Final = 1541
BIND_PARAMETER_MISSING: Final = 1551
BIND_PARAMETER_UNDECLARED: Final = 1552
BIND_PARAMETER_TYPE: Final = 1553
COLLECTION_USED_IN_EXPRESSION: Final = 1568
INVALID_AGGREGATE_EXPRESSION: Final = 1574

Row = dict[str, Any]
Value = Callable[[Row], Any]
Step = Callable[[Iterator[Row]], Iterator[Row]]
Syntax = Tree[Token]

_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANTS: Final = frozenset({"bind", "string", "number", "null", "true", "false"})


def _length(value: Any) -> int:
    return len(value or ())


def _first(items: Any) -> Any:
    return items[0] if isinstance(items, list) and items else None


def _keep(document: Any, name: Any, *names: Any) -> Document | None:
    retained = [text for some in (name, *names) for text in (some if isinstance(some, list) else [some])]
    return {key: document[key] for key in document if key in retained} if isinstance(document, dict) else None


def _attributes(document: Any) -> list[str] | None:
    return list(document) if isinstance(document, dict) else None


def _max(values: list[Any]) -> Any:
    return max((value for value in values if value is not None), key=rank, default=None)


# A value of a wrong type gives null; the server's warning about it is missing here.
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "LENGTH": _length,
    "FIRST": _first,
    "KEEP": _keep,
    "ATTRIBUTES": _attributes,
}
_AGGREGATES: Final[dict[str, Callable[[list[Any]], Any]]] = {"MAX": _max}


@dataclass
class _Loop:
    """A FOR, and what the FILTERs after it demand of its variable: path, operator, constant."""

    variable: str
    collection: Collection
    conditions: list[tuple[tuple[str, ...], str, Any]] = field(default_factory=list)


def _is_true(value: Any) -> bool:
    """Return AQL's truth: empty arrays and objects are true."""
    return bool(value) or isinstance(value, list | dict)


@v_args(inline=True)
class Query(Interpreter[Token, Any]):
    """A query with its bind parameters; `scanned_full` counts documents read without an index."""

    def __init__(self, database: Database, text: str, binds: Mapping[str, Any]) -> None:
        self.scanned_full = 0
        self._database = database
        self._binds = binds
        self._used: set[str] = set()
        self._outer: frozenset[str] = frozenset()
        self._variables: set[str] = set()
        self._loop: _Loop | None = None
        self._results: Value = self.visit(_parse(text))
        if unknown := [name for name in binds if name not in self._used]:
            raise _refused(BIND_PARAMETER_UNDECLARED, f"bind parameter '{unknown[0]}' was not declared")

    def run(self) -> list[Any]:
        """Return the results."""
        results: list[Any] = self._results({})
        return results

    def query(self, *parts: Syntax) -> Value:
        around = self._outer, self._variables, self._loop
        self._outer, self._variables = frozenset(self._variables), set(self._variables)
        steps: list[Step] = [self.visit(part) for part in parts[:-1]]
        value: Value = self.visit(parts[-1])
        self._outer, self._variables, self._loop = around

        def results(row: Row) -> list[Any]:
            rows = iter([row])
            for step in steps:
                rows = step(rows)
            return [value(found) for found in rows]

        return results

    # Statements.

    def loop(self, variable: Token, source: Token) -> Step:
        name = self._bound(source) if source.type == "SOURCE_BIND" else str(source)
        if not isinstance(name, str):
            raise _refused(BIND_PARAMETER_TYPE, f"bind parameter '{source[1:]}' has an invalid value or type")
        loop = self._loop = _Loop(str(variable), self._database.collection(name))
        self._declare(variable)
        return lambda rows: ({**row, variable: document} for row in rows for document in self._read(loop))

    def _read(self, loop: _Loop) -> list[Document]:
        """Return the documents that a loop has to look at; every FILTER still runs."""
        collection = loop.collection
        indexed = [condition for condition in loop.conditions if condition[0] in collection.indexed]
        if not indexed:
            self.scanned_full += len(collection)
        # Without an index a server reads them all; here a look-up keeps tests quick.
        for path, comparison, operand in indexed or loop.conditions:
            if comparison == "IN":
                return collection.matching(path, operand if isinstance(operand, list) else [])
            if comparison == "==":
                return collection.matching(path, [operand])
        return collection.documents()

    def filter(self, condition: Syntax) -> Step:
        if self._loop:
            self._loop.conditions += self._conditions(condition, self._loop.variable)
        holds = self.visit(condition)
        return lambda rows: (row for row in rows if _is_true(holds(row)))

    def _conditions(self, node: Syntax, variable: str) -> Iterator[tuple[tuple[str, ...], str, Any]]:
        if node.data == "conjunction":
            for part in node.children:
                yield from self._conditions(_tree(part), variable)
        if node.data not in {"comparison", "member"}:
            return
        left, right = _tree(node.children[0]), _tree(node.children[-1])
        path: list[str] = []
        while left.data == "attribute":
            path.insert(0, str(left.children[1]))
            left = _tree(left.children[0])
        if path and left.data == "name" and left.children == [variable] and right.data in _CONSTANTS:
            comparison = "IN" if node.data == "member" else str(node.children[1])
            if comparison != "!=":
                yield tuple(path), comparison, self._constant(right)

    def sort(self, *keys: Syntax) -> Step:
        directions = [(self.visit(_tree(key.children[0])), key.data == "descending") for key in keys]

        def ordered(rows: Iterator[Row]) -> Iterator[Row]:
            found = list(rows)
            for value, is_descending in reversed(directions):
                found.sort(key=lambda row, value=value: rank(value(row)), reverse=is_descending)  # type: ignore[misc]
            return iter(found)

        return ordered

    def limit(self, *numbers: Syntax) -> Step:
        values = [self._constant(number) for number in numbers]
        if not all(type(value) is int and value >= 0 for value in values):
            raise _refused(NUMBER_OUT_OF_RANGE, "LIMIT value is not a valid number")
        offset, count = values if len(values) == 2 else (0, values[0])
        self._loop = None
        return lambda rows: islice(rows, offset, offset + count)

    def collect(self, groups: Syntax, aggregates: Syntax | None = None) -> Step:
        keys: list[tuple[str, Value]] = [
            (name, self.visit(value)) for name, value in map(_assignment, groups.children)
        ]
        gathered = [
            self._aggregate(*_assignment(each)) for each in (aggregates.children if aggregates else ())
        ]
        # COLLECT ends the loops of its query, and their variables.
        outer, self._variables, self._loop = self._outer, set(self._outer), None
        for name in [*(name for name, _ in keys), *(name for name, _, _ in gathered)]:
            self._declare(name)

        def grouped(rows: Iterator[Row]) -> Iterator[Row]:
            members: dict[Any, list[Row]] = {}
            for row in rows:
                members.setdefault(tuple(rank(value(row)) for _, value in keys), []).append(row)
            for _, some in sorted(members.items()):
                yield {
                    **{name: some[0][name] for name in outer},
                    **{name: value(some[0]) for name, value in keys},
                    **{name: gather([value(row) for row in some]) for name, gather, value in gathered},
                }

        return grouped

    def _aggregate(self, name: str, node: Syntax) -> tuple[str, Callable[[list[Any]], Any], Value]:
        function = _AGGREGATES.get(str(node.children[0]).upper()) if node.data == "call" else None
        if function is None or len(node.children) != 2:
            raise _refused(INVALID_AGGREGATE_EXPRESSION, "unknown aggregate function used")
        return name, function, self.visit(_tree(node.children[1]))

    # Expressions.

    def disjunction(self, left: Syntax, right: Syntax) -> Value:
        first, second = self.visit(left), self.visit(right)
        return lambda row: value if _is_true(value := first(row)) else second(row)

    def conjunction(self, left: Syntax, right: Syntax) -> Value:
        first, second = self.visit(left), self.visit(right)
        return lambda row: second(row) if _is_true(value := first(row)) else value

    def comparison(self, left: Syntax, comparison: Token, right: Syntax) -> Value:
        first, second, holds = self.visit(left), self.visit(right), _COMPARISONS[comparison]
        return lambda row: holds(rank(first(row)), rank(second(row)))

    def member(self, left: Syntax, right: Syntax, *, expected: bool = True) -> Value:
        value, items = self.visit(left), self._constant(right)
        if not isinstance(items, list):  # both IN and NOT IN are false then
            return lambda row: False
        known = {rank(item) for item in items}
        return lambda row: (rank(value(row)) in known) is expected

    def not_member(self, left: Syntax, right: Syntax) -> Value:
        return self.member(left, right, expected=False)

    def string(self, text: Token) -> Value:
        return lambda row: text[1:-1]

    def number(self, text: Token) -> Value:
        value = float(text) if "." in text else int(text)
        return lambda row: value

    def null(self) -> Value:
        return lambda row: None

    def true(self) -> Value:
        return lambda row: True

    def false(self) -> Value:
        return lambda row: False

    def bind(self, name: Token) -> Value:
        value = self._bound(name)
        return lambda row: value

    def name(self, name: Token) -> Value:
        if name not in self._variables:
            self._database.collection(name)
            raise _refused(COLLECTION_USED_IN_EXPRESSION, f"collection '{name}' used as expression operand")
        return lambda row: row[name]

    def attribute(self, base: Syntax, name: Token) -> Value:
        value = self.visit(base)
        return lambda row: at_path(value(row), (name,))

    def object(self, *entries: Syntax) -> Value:
        values = [self._entry(*entry.children) for entry in entries]
        return lambda row: {name: value(row) for name, value in values}

    def _entry(self, name: Any, node: Any = None) -> tuple[str, Value]:
        return str(name), self.visit(node) if node else self.name(name)

    def call(self, name: Token, *arguments: Syntax) -> Value:
        function = _FUNCTIONS.get(name.upper())
        if function is None:
            raise _refused(FUNCTION_NAME_UNKNOWN, f"usage of unknown function '{name.upper()}()'")
        try:
            signature(function).bind(*arguments)
        except TypeError:
            message = f"invalid number of arguments for function '{name.upper()}()'"
            raise _refused(FUNCTION_ARGUMENT_NUMBER_MISMATCH, message) from None
        values: list[Value] = [
            self._documents(node) if function is _length and node.data == "name" else self.visit(node)
            for node in arguments
        ]
        return lambda row: function(*[value(row) for value in values])

    def _documents(self, node: Syntax) -> Value:
        """Return the value of a variable, or the documents of the collection of that name."""
        name = str(node.children[0])
        if name in self._variables:
            return lambda row: row[name]
        collection = self._database.collection(name)
        return lambda row: collection.documents()

    # Names and parameters.

    def _declare(self, name: str) -> None:
        if name in self._variables:
            raise _refused(VARIABLE_REDECLARED, f"variable '{name}' is assigned multiple times")
        self._variables.add(str(name))

    def _bound(self, parameter: Token) -> Any:
        """Return the value of `@name`, or of `@@name`, which `bindVars` calls `@name`."""
        name = parameter[1:]
        self._used.add(name)
        if name not in self._binds:
            raise _refused(BIND_PARAMETER_MISSING, f"no value specified for declared bind parameter '{name}'")
        return self._binds[name]

    def _constant(self, node: Syntax) -> Any:
        if node.data not in _CONSTANTS:
            raise _refused(
                QUERY_PARSE, f"{node.data} in place of a constant is not supported by the stand-in"
            )
        return self.visit(node)({})


def _tree(node: Syntax | Token) -> Syntax:
    assert isinstance(node, Tree)
    return node


def _assignment(node: Syntax | Token) -> tuple[str, Syntax]:
    name, value = _tree(node).children
    return str(name), _tree(value)


def _refused(number: int, message: str) -> ServerError:
    return ServerError(number, f"AQL: {message} (while parsing)")


@cache
def _parser() -> Lark:
    return Lark.open_from_package(__package__ or "", "aql.lark", start="query", parser="lalr", lexer="basic")


def _parse(text: str) -> Syntax:
    if not text.strip():
        raise ServerError(QUERY_EMPTY, "query is empty")
    try:
        return _parser().parse(text)
    except UnexpectedInput as problem:
        near = text[problem.pos_in_stream or 0 :][:40] if (problem.pos_in_stream or -1) >= 0 else ""
        position = f"{problem.line}:{problem.column}"
        raise _refused(QUERY_PARSE, f"syntax error near '{near}' at position {position}") from None
