"""Runs a parsed query over a database: names are resolved first, then rows flow through the statements."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from . import errors
from .access import Condition, conditions_on, read
from .errors import ServerError, unsupported
from .functions import AGGREGATES, FUNCTIONS, unique
from .store import EDGE_TYPE, Collection, Database, Document
from .syntax import (
    Array,
    Attribute,
    Binary,
    Bind,
    Call,
    Collect,
    Expansion,
    Filter,
    For,
    Index,
    Let,
    Limit,
    Literal,
    Name,
    Node,
    Object,
    Parenthesis,
    Query,
    Range,
    Sort,
    SourceBind,
    Statement,
    Ternary,
    Traversal,
    Unary,
    is_current,
    parse,
)
from .traversal import describe, read_options, walk
from .values import compare, equal, identity, ordering, plain_number, to_number, to_string, truth, type_name

Row = dict[str, Any]
Evaluate = Callable[[Row], Any]
# A step takes the rows and the variables outside of the query's loops, which COLLECT falls back to.
Step = Callable[[Iterator[Row], Row], Iterator[Row]]

_COMPARISONS: Final[dict[str, Callable[[int], bool]]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


@dataclass
class Result:
    """What a query gave. `scanned_full` counts documents that were read without a declared index."""

    values: list[Any]
    warnings: list[dict[str, Any]]
    scanned_full: int
    scanned_index: int
    full_count: int | None


@dataclass
class Scope:
    """Variables that can be seen: of the queries around, of this one's top level, of its loops."""

    outer: frozenset[str] = frozenset()
    main: set[str] = field(default_factory=set)
    loops: set[str] = field(default_factory=set)
    in_loop: bool = False

    def visible(self) -> frozenset[str]:
        return self.outer | self.main | self.loops

    def declare(self, name: str) -> None:
        if name in self.visible():
            raise ServerError(
                errors.VARIABLE_REDECLARED,
                f"AQL: variable '{name}' is assigned multiple times (while parsing)",
            )
        (self.loops if self.in_loop else self.main).add(name)

    def collect(self) -> None:
        """COLLECT ends the loops around it, and their variables."""
        if self.in_loop:
            self.loops = set()


class Execution:
    """One query with its bind parameters: compiled to closures, then run once."""

    def __init__(
        self,
        database: Database,
        query: Query,
        binds: Mapping[str, Any],
        *,
        fail_on_warning: bool = False,
        full_count: bool = False,
    ) -> None:
        self._database = database
        self._binds = binds
        self._fail_on_warning = fail_on_warning
        self._full_count = full_count
        self._counted: int | None = None
        self._currents: list[str] = []
        self.warnings: list[dict[str, Any]] = []
        self.counts = {"scannedFull": 0, "scannedIndex": 0}
        self._check_binds(query)
        for source in query.declared:
            self._collection(source)
        self._rows = self._query(query, Scope(), top=True)

    def run(self) -> Result:
        values = list(self._rows({}))
        return Result(
            values, self.warnings, self.counts["scannedFull"], self.counts["scannedIndex"], self._counted
        )

    # What functions may ask.

    def warn(self, number: int, message: str) -> None:
        if self._fail_on_warning:
            raise ServerError(number, f"AQL: {message} (while executing)")
        if len(self.warnings) < 10:  # the server's maxWarningCount
            self.warnings.append({"code": number, "message": message})

    def lookup(self, identifier: str) -> Document | None:
        return self._database.document(identifier)

    def knows_collection(self, name: str) -> bool:
        return name in self._database.collections

    # Names.

    def _check_binds(self, query: Query) -> None:
        used: set[str] = set()
        for node in query.walk():
            if isinstance(node, Bind | SourceBind):
                used.add(node.name)
                if node.name not in self._binds:
                    raise ServerError(
                        errors.BIND_PARAMETER_MISSING,
                        f"AQL: no value specified for declared bind parameter '{node.name}' (while parsing)",
                    )
                if isinstance(node, SourceBind) and not isinstance(self._binds[node.name], str):
                    self._bad_bind(node.name)
        for name in self._binds:
            if name not in used:
                raise ServerError(
                    errors.BIND_PARAMETER_UNDECLARED,
                    f"AQL: bind parameter '{name}' was not declared in the query (while parsing)",
                )

    def _bad_bind(self, name: str) -> None:
        raise ServerError(
            errors.BIND_PARAMETER_TYPE,
            f"AQL: bind parameter '{name}' has an invalid value or type (while parsing)",
        )

    def _collection(self, node: Node) -> Collection:
        assert isinstance(node, Name | SourceBind)
        name = node.name if isinstance(node, Name) else self._binds[node.name]
        return self._database.collection(name)

    def _is_collection(self, node: Node, scope: Scope) -> bool:
        """A name that is no variable is a collection, and it is an error if there is none."""
        if isinstance(node, SourceBind):
            return True
        return (
            isinstance(node, Name)
            and node.name not in scope.visible()
            and not node.name.startswith("[*]")
            and not (is_current(node.name) and bool(self._currents))
        )

    # Expressions.

    def _expression(self, node: Node, scope: Scope) -> Evaluate:
        if isinstance(node, Literal):
            value = node.value
            return lambda row: value
        if isinstance(node, Bind):
            bound = self._binds[node.name]
            return lambda row: bound
        if isinstance(node, Name | SourceBind):
            return self._name(node, scope)
        if isinstance(node, Parenthesis):
            return self._expression(node.inner, scope)
        if isinstance(node, Attribute):
            return self._attribute(node, scope)
        if isinstance(node, Index):
            return self._index(node, scope)
        if isinstance(node, Expansion):
            return self._expansion(node, scope)
        if isinstance(node, Array):
            items = [self._expression(item, scope) for item in node.items]
            return lambda row: [item(row) for item in items]
        if isinstance(node, Object):
            entries = [(self._expression(k, scope), self._expression(v, scope)) for k, v in node.entries]
            return lambda row: {to_string(key(row)): value(row) for key, value in entries}
        if isinstance(node, Call):
            return self._call(node, scope)
        if isinstance(node, Unary):
            return self._unary(node, scope)
        if isinstance(node, Binary):
            return self._binary(node, scope)
        if isinstance(node, Ternary):
            return self._ternary(node, scope)
        if isinstance(node, Range):
            low, high = self._expression(node.low, scope), self._expression(node.high, scope)
            return lambda row: _range(low(row), high(row))
        assert isinstance(node, Query)
        rows = self._query(node, Scope(outer=scope.visible()), top=False)
        return lambda row: list(rows(row))

    def _name(self, node: Name | SourceBind, scope: Scope) -> Evaluate:
        if self._is_collection(node, scope):
            name = self._collection(node).name
            raise ServerError(
                errors.COLLECTION_USED_IN_EXPRESSION,
                f"AQL: collection '{name}' used as expression operand (while parsing)",
            )
        assert isinstance(node, Name)
        name = node.name
        if name not in scope.visible() and is_current(name):
            name = self._currents[-1]
        return lambda row: row[name]

    def _attribute(self, node: Attribute, scope: Scope) -> Evaluate:
        base = self._expression(node.base, scope)
        path = [node.name]
        if isinstance(node.name, Bind):
            bound = self._binds[node.name.name]
            path = bound if isinstance(bound, list) and bound else [bound]
            if not all(isinstance(name, str) for name in path):
                self._bad_bind(node.name.name)

        def evaluate(row: Row) -> Any:
            value = base(row)
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            return value

        return evaluate

    def _index(self, node: Index, scope: Scope) -> Evaluate:
        base, index = self._expression(node.base, scope), self._expression(node.index, scope)

        def evaluate(row: Row) -> Any:
            value, key = base(row), index(row)
            if isinstance(value, dict):
                return value.get(to_string(key)) if isinstance(key, str | int | float) else None
            if not isinstance(value, list):
                return None
            if isinstance(key, str) and not re.fullmatch(r"-?[0-9]+", key):
                return None
            if key is None or isinstance(key, bool | list | dict):
                return None
            position = int(to_number(key) or 0)
            position = len(value) + position if position < 0 else position
            return value[position] if 0 <= position < len(value) else None

        return evaluate

    def _expansion(self, node: Expansion, scope: Scope) -> Evaluate:
        source = self._expression(node.source, scope)
        variable, levels = node.variable, node.levels
        self._currents.append(variable)
        condition = self._expression(node.condition, scope) if node.condition else None
        offset = self._expression(node.offset, scope) if node.offset else None
        count = self._expression(node.count, scope) if node.count else None
        projection = self._expression(node.projection, scope) if node.projection else None
        self._currents.pop()
        each = projection or self._expression(node.tail, scope)

        def evaluate(row: Row) -> list[Any]:
            items = source(row)
            if not isinstance(items, list):
                return []
            for _ in range(levels - 1):
                items = list(
                    itertools.chain.from_iterable(
                        item if isinstance(item, list) else [item] for item in items
                    )
                )
            rows: list[Row] = [{**row, variable: item} for item in items]
            if condition:
                rows = [one for one in rows if truth(condition(one))]
            if count:
                start = max(int(to_number(offset(row)) or 0), 0) if offset else 0
                rows = rows[start : start + max(int(to_number(count(row)) or 0), 0)]
            return [each(one) for one in rows]

        return evaluate

    def _call(self, node: Call, scope: Scope) -> Evaluate:
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise ServerError(
                errors.FUNCTION_NAME_UNKNOWN,
                f"AQL: usage of unknown function '{node.function}()' (while parsing)",
            )
        given = len(node.arguments)
        if given < function.least or (function.most is not None and given > function.most):
            most = "any" if function.most is None else function.most
            raise ServerError(
                errors.FUNCTION_ARGUMENT_NUMBER_MISMATCH,
                f"AQL: invalid number of arguments for function '{node.function}()', expected number of"
                f" arguments: minimum: {function.least}, maximum: {most} (while parsing)",
            )
        arguments = [
            self._collection_argument(argument)
            if position in function.collections and self._is_collection(argument, scope)
            else self._expression(argument, scope)
            for position, argument in enumerate(node.arguments)
        ]
        call = function.call
        return lambda row: call(self, *[argument(row) for argument in arguments])

    def _collection_argument(self, node: Node) -> Evaluate:
        collection = self._collection(node)
        return lambda row: collection

    def _unary(self, node: Unary, scope: Scope) -> Evaluate:
        operand = self._expression(node.operand, scope)
        if node.operator == "!":
            return lambda row: not truth(operand(row))
        sign = -1 if node.operator == "-" else 1
        return lambda row: plain_number(sign * (to_number(operand(row)) or 0))

    def _binary(self, node: Binary, scope: Scope) -> Evaluate:
        left, right = self._expression(node.left, scope), self._expression(node.right, scope)
        operator = node.operator
        if operator == "AND":
            return lambda row: right(row) if truth(value := left(row)) else value
        if operator == "OR":
            return lambda row: value if truth(value := left(row)) else right(row)
        if operator == "==":
            return lambda row: equal(left(row), right(row))
        if operator == "!=":
            return lambda row: not equal(left(row), right(row))
        if operator in _COMPARISONS:
            holds = _COMPARISONS[operator]
            return lambda row: holds(compare(left(row), right(row)))
        if operator in {"IN", "NOT IN"}:
            return self._membership(left, node.right, right, operator == "IN")
        return lambda row: self._arithmetic(operator, left(row), right(row))

    def _membership(self, left: Evaluate, given: Node, right: Evaluate, wanted: bool) -> Evaluate:
        if isinstance(given, Bind) and isinstance(self._binds[given.name], list):
            known = {identity(item) for item in self._binds[given.name]}
            return lambda row: (identity(left(row)) in known) is wanted

        def evaluate(row: Row) -> bool:
            items = right(row)
            # Both IN and NOT IN are false when the right side is no array.
            if not isinstance(items, list):
                return False
            own = identity(left(row))
            return any(identity(item) == own for item in items) is wanted

        return evaluate

    def _arithmetic(self, operator: str, left: Any, right: Any) -> int | float | None:
        first, second = to_number(left) or 0, to_number(right) or 0
        if operator in {"/", "%"} and second == 0:
            self.warn(errors.DIVISION_BY_ZERO, "division by zero")
            return None
        try:
            if operator == "+":
                return plain_number(first + second)
            if operator == "-":
                return plain_number(first - second)
            if operator == "*":
                return plain_number(first * second)
            if operator == "/":
                return plain_number(first / second)
            # The sign is the dividend's, as in C, not the divisor's.
            return plain_number(math.fmod(first, second))
        except OverflowError:
            self.warn(errors.NUMBER_OUT_OF_RANGE, "number out of range")
            return None

    def _ternary(self, node: Ternary, scope: Scope) -> Evaluate:
        condition, otherwise = (
            self._expression(node.condition, scope),
            self._expression(node.otherwise, scope),
        )
        if node.then is None:
            return lambda row: value if truth(value := condition(row)) else otherwise(row)
        then = self._expression(node.then, scope)
        return lambda row: then(row) if truth(condition(row)) else otherwise(row)

    # Statements.

    def _query(self, query: Query, scope: Scope, *, top: bool) -> Callable[[Row], Iterator[Any]]:
        steps: list[Step] = []
        limits = [index for index, each in enumerate(query.statements) if isinstance(each, Limit)]
        for index, statement in enumerate(query.statements):
            counted = top and self._full_count and bool(limits) and index == limits[-1]
            steps.append(self._statement(statement, query, index, scope, counted))
        if query.result.distinct and not scope.in_loop:
            raise ServerError(
                errors.QUERY_PARSE,
                "AQL: cannot use DISTINCT modifier on top-level query element (while parsing)",
            )
        value = self._expression(query.result.value, scope)
        distinct = query.result.distinct

        def rows(outer: Row) -> Iterator[Any]:
            stream: Iterator[Row] = iter([outer])
            base = dict(outer)
            for step in steps:
                stream = step(stream, base)
            values = (value(row) for row in stream)
            return iter(unique(values)) if distinct else values

        return rows

    def _statement(self, statement: Statement, query: Query, index: int, scope: Scope, counted: bool) -> Step:
        if isinstance(statement, For):
            return self._for(statement, query.statements[index + 1 :], scope)
        if isinstance(statement, Traversal):
            return self._traversal(statement, scope)
        if isinstance(statement, Filter):
            condition = self._expression(statement.condition, scope)
            return lambda rows, base: (row for row in rows if truth(condition(row)))
        if isinstance(statement, Let):
            return self._let(statement, scope)
        if isinstance(statement, Sort):
            keys = [(self._expression(key, scope), ascending) for key, ascending in statement.keys]
            return lambda rows, base: iter(_sorted_rows(rows, keys))
        if isinstance(statement, Limit):
            return self._limit(statement, scope, counted)
        return self._collect(statement, query.statements[:index], scope)

    def _let(self, statement: Let, scope: Scope) -> Step:
        value, name = self._expression(statement.value, scope), statement.variable
        scope.declare(name)
        if scope.in_loop:
            return lambda rows, base: ({**row, name: value(row)} for row in rows)

        def assign(rows: Iterator[Row], base: Row) -> Iterator[Row]:
            for row in rows:
                base[name] = value(row)
                yield {**row, name: base[name]}

        return assign

    def _for(self, statement: For, following: Sequence[Statement], scope: Scope) -> Step:
        name = statement.variable
        if self._is_collection(statement.source, scope):
            collection = self._collection(statement.source)
            before = scope.visible()
            scope.in_loop = True
            scope.declare(name)
            conditions = [
                Condition(path, operator, self._expression(operand, Scope(outer=before)))
                for path, operator, operand in conditions_on(name, following, before, self._binds)
            ]
            return lambda rows, base: (
                {**row, name: document}
                for row in rows
                for document in read(collection, conditions, row, self.counts)
            )
        source = self._expression(statement.source, scope)
        scope.in_loop = True
        scope.declare(name)

        def items(row: Row) -> list[Any]:
            value = source(row)
            if not isinstance(value, list):
                raise ServerError(
                    errors.ARRAY_EXPECTED,
                    "AQL: collection or array expected as operand to FOR loop; you provided a value of type"
                    f" '{type_name(value)}' (while executing)",
                )
            return value

        return lambda rows, base: ({**row, name: item} for row in rows for item in items(row))

    def _traversal(self, statement: Traversal, scope: Scope) -> Step:
        depth = self._expression(statement.depth, scope) if statement.depth else None
        start = self._expression(statement.start, scope)
        edges: list[tuple[str, Collection]] = []
        for direction, source in statement.edges:
            collection = self._collection(source)
            if collection.kind != EDGE_TYPE:
                raise ServerError(
                    errors.COLLECTION_TYPE_MISMATCH,
                    f"AQL: collection type mismatch: {collection.name} is no edge collection (while parsing)",
                )
            edges.append((direction or statement.direction, collection))
        given = self._expression(statement.options, scope)({}) if statement.options else {}
        options = read_options(given)
        scope.in_loop = True
        for name in statement.variables:
            scope.declare(name)

        def paths(row: Row) -> Iterator[Row]:
            origin = start(row)
            origin = origin.get("_id") if isinstance(origin, dict) else origin
            if not isinstance(origin, str) or "/" not in origin:
                self.warn(
                    errors.BAD_PARAMETER,
                    "Invalid input for traversal: Only id strings or objects with _id are allowed",
                )
                return
            for path in walk(origin, edges, _depths(depth(row) if depth else 1), options, self.counts):
                values = (self._database.document(path.vertex), path.edge, None)
                found = dict(zip(statement.variables, values, strict=False))
                if len(statement.variables) == 3:
                    found[statement.variables[2]] = describe(path, self._database)
                yield {**row, **found}

        return lambda rows, base: (found for row in rows for found in paths(row))

    def _limit(self, statement: Limit, scope: Scope, counted: bool) -> Step:
        offset = self._constant(statement.offset) if statement.offset else 0
        count = self._constant(statement.count)
        first = offset or 0
        stop = None if count is None else first + count

        def cut(rows: Iterator[Row], base: Row) -> Iterator[Row]:
            if not counted:
                return itertools.islice(rows, first, stop)
            every = list(rows)
            self._counted = len(every)
            return iter(every[first:stop])

        return cut

    def _constant(self, node: Node) -> int | None:
        """A LIMIT must be known before the query runs; null is no limit."""
        if any(isinstance(each, Name | Query) for each in node.walk()):
            raise ServerError(
                errors.NUMBER_OUT_OF_RANGE,
                "AQL: non-constant value in LIMIT: number out of range (while parsing)",
            )
        value = self._expression(node, Scope())({})
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise ServerError(
                errors.NUMBER_OUT_OF_RANGE, "AQL: LIMIT value is not a valid number: number out of range"
            )
        return int(value)

    def _collect(self, statement: Collect, before: Sequence[Statement], scope: Scope) -> Step:
        groups = [(name, self._expression(value, scope)) for name, value in statement.groups]
        aggregates = [self._aggregate(name, value, scope) for name, value in statement.aggregates]
        into_value = self._expression(statement.into_value, scope) if statement.into_value else None
        projected = self._projected(statement, before, scope)
        scope.collect()
        for name, _ in statement.groups + statement.aggregates:
            scope.declare(name)
        for extra in (statement.into, statement.count_into):
            if extra is not None:
                scope.declare(extra)

        def member(row: Row) -> Any:
            return into_value(row) if into_value else {name: row[name] for name in projected}

        def group(rows: Iterator[Row], base: Row) -> Iterator[Row]:
            found: dict[Any, tuple[list[Any], list[Row]]] = {}
            for row in rows:
                values = [value(row) for _, value in groups]
                found.setdefault(tuple(map(identity, values)), (values, []))[1].append(row)
            if not groups and not found:
                found[()] = ([], [])
            for values, members in sorted(found.values(), key=lambda each: ordering(each[0])):
                new = {name: value for (name, _), value in zip(groups, values, strict=True)}
                for name, gather, argument in aggregates:
                    new[name] = gather(self, [argument(row) for row in members])
                if statement.count_into is not None:
                    new[statement.count_into] = len(members)
                if statement.into is not None:
                    new[statement.into] = [member(row) for row in members]
                yield {**base, **new}

        return group

    def _aggregate(self, name: str, value: Node, scope: Scope) -> tuple[str, Callable[..., Any], Evaluate]:
        gather = AGGREGATES.get(value.function) if isinstance(value, Call) else None
        if gather is None or not isinstance(value, Call):
            raise ServerError(
                errors.INVALID_AGGREGATE_EXPRESSION, "AQL: unknown aggregate function used (while parsing)"
            )
        if len(value.arguments) > 1:
            raise ServerError(
                errors.FUNCTION_ARGUMENT_NUMBER_MISMATCH,
                f"AQL: invalid number of arguments for function '{value.function}()' (while parsing)",
            )
        argument = self._expression(value.arguments[0] if value.arguments else Literal(None), scope)
        return name, gather, argument

    def _projected(self, statement: Collect, before: Sequence[Statement], scope: Scope) -> tuple[str, ...]:
        if statement.keep is not None:
            for name in statement.keep:
                if name not in scope.visible():
                    raise ServerError(
                        errors.QUERY_PARSE, f"AQL: use of unknown variable '{name}' for KEEP (while parsing)"
                    )
            return statement.keep
        if statement.into is None or statement.into_value is not None:
            return ()
        if scope.main or any(isinstance(each, Collect) for each in before):
            # Which of these variables INTO copies depends on the server's plan: say it with KEEP.
            raise unsupported("INTO without KEEP or an expression, after variables outside of the loops,")
        return tuple(sorted(scope.loops))


def _range(low: Any, high: Any) -> list[int]:
    start, stop = int(to_number(low) or 0), int(to_number(high) or 0)
    return list(range(start, stop + 1) if start <= stop else range(start, stop - 1, -1))


def _depths(depth: Any) -> tuple[int, int]:
    values = depth if isinstance(depth, list) else [depth]
    if not values or any(isinstance(each, bool) or not isinstance(each, int | float) for each in values):
        raise ServerError(errors.QUERY_PARSE, "AQL: invalid traversal depth (while instantiating plan)")
    least, most = int(values[0]), int(values[-1])
    if least < 0 or most < least:
        raise ServerError(errors.QUERY_PARSE, "AQL: invalid traversal depth (while instantiating plan)")
    return least, most


def _sorted_rows(rows: Iterable[Row], keys: Sequence[tuple[Evaluate, bool]]) -> list[Row]:
    ordered = list(rows)
    for key, ascending in reversed(keys):
        ordered.sort(key=lambda row, key=key: ordering(key(row)), reverse=not ascending)  # type: ignore[misc]
    return ordered


def execute(
    database: Database, text: str, binds: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> Result:
    """Parses and runs; `ServerError` for whatever the server would refuse, or the stand-in cannot read."""
    chosen = options or {}
    return Execution(
        database,
        parse(text),
        binds,
        fail_on_warning=truth(chosen.get("failOnWarning")),
        full_count=truth(chosen.get("fullCount")),
    ).run()
