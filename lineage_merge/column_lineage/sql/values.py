"""Derivation of the value of an expression."""

from collections.abc import Callable, Container, Iterable, Iterator

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.argument_roles import parts_of, roles_of
from lineage_merge.column_lineage.sql.derivation import (
    UNCHANGED,
    ColumnOrigin,
    Derivation,
    Influences,
    Structure,
    derived,
    field_of,
    merged,
    passed,
)
from lineage_merge.column_lineage.sql.external_reads import dictionary_entry
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.reserved_names import is_keyword, is_pseudo_column
from lineage_merge.column_lineage.sql.scope import QueryScope, Relation
from lineage_merge.column_lineage.sql.struct_types import StructTypes
from lineage_merge.column_lineage.sql.structures import Structures
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.text import ExpressionText
from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, compose

IDENTITY, TRANSFORMATION, AGGREGATION, CONDITIONAL, WINDOW = Transformation

_Kinds = dict[ColumnOrigin, set[Transformation]]
# With the kind of transformation, and whether the value has the structure of the expression.
_Pending = list[tuple[exp.Expr, Transformation, bool]]


class Values:
    """Reads expressions. `relation_of` reads nested queries, `note` records problems, `types` has fields.

    `variables` (folded) are no columns, unless a relation certainly has a column of this name.
    """

    def __init__(
        self,
        dialect: Dialect,
        relation_of: Callable[[exp.Expr, QueryScope], Relation],
        note: Callable[[str, str], None],
        types: StructTypes,
        variables: Container[str] = (),
    ) -> None:
        self._dialect = dialect
        self._platform = platform_of(dialect)
        self._relation_of = relation_of
        self._note = note
        self._variables = variables
        self.structures = Structures(dialect, self, types)
        # Variables of the lambdas around an expression.
        self.bound: dict[str, Derivation] = {}
        # The origins of all columns that are named so far.
        self.named_origins: set[ColumnOrigin] = set()

    def trace(self, expression: exp.Expr, scope: QueryScope) -> Derivation:
        """Return the derivation of the value; a plain column, or a field of it, is unchanged."""
        plain = expression
        while isinstance(plain, exp.Alias | exp.Paren):
            plain = plain.this
        if isinstance(plain, exp.Column) and not isinstance(plain.this, exp.Star):
            return self.column(plain, scope)
        if isinstance(plain, exp.Query):
            return self._query(plain, scope)
        if type(plain) in self.structures.read_types and self.structures.reads(plain):
            return self.structures.read(plain, scope)
        if self.bound and isinstance(plain, exp.Identifier):
            return self.bound.get(fold(plain.name), {})
        steps = self._steps(plain, scope, IDENTITY, is_whole=False)
        return self._built(plain, scope) if steps is None else derived(*steps, self.text(plain, scope))

    def _built(self, node: exp.Expr, scope: QueryScope) -> Derivation:
        """Return the derivation of a value with a structure that the query builds."""
        if self.structures.constructs(node):
            return self.structures.construct(node, scope)
        text = self.text(node, scope)
        parts: list[Derivation] = []
        for part, kind, passes in self._parts(node, IDENTITY, scope):
            if passes:
                parts.append(passed(self.trace(part, scope), kind, text))
            else:
                parts.append(self.opaque(part, scope, kind, text))
        return merged(parts)

    def text(self, expression: exp.Expr, scope: QueryScope) -> Callable[[], str]:
        """Return the text of an expression."""
        return ExpressionText(expression, _tables(scope), self._dialect)

    def opaque(
        self, expression: exp.Expr, scope: QueryScope, kind: Transformation, text: Callable[[], str]
    ) -> Derivation:
        """Return the derivation of a value of which the expression is an argument, with its kind."""
        return derived(self._kinds(expression, scope, kind), {}, text)

    def origins(self, expression: exp.Expr, scope: QueryScope) -> set[ColumnOrigin]:
        """Return all columns that the expression references."""
        return set(self._kinds(expression, scope))

    def influence(
        self, expressions: Iterable[exp.Expr | None], scope: QueryScope, kind: InfluenceKind
    ) -> None:
        """Add the columns of the expressions as influences on the rows."""
        influences: Influences = {}
        for expression in expressions:
            if expression is not None:
                influences.update((origin, {kind}) for origin in self.origins(expression, scope))
        scope.influence(influences)

    def column(self, column: exp.Column, scope: QueryScope) -> Derivation:
        """Resolve a column, or a field of one."""
        return self.named([part.name for part in column.parts], column, scope)

    def named(self, parts: list[str], column: exp.Column, scope: QueryScope) -> Derivation:
        """Resolve a dotted name that begins with the parts of `column`."""
        derivation = self._named(parts, column, scope)
        self.named_origins.update(derivation)
        return derivation

    def _named(self, parts: list[str], column: exp.Column, scope: QueryScope) -> Derivation:
        derivation: Derivation | None
        if self.bound and fold(parts[0]) in self.bound:
            derivation, fields = self.bound[fold(parts[0])], parts[1:]
        elif len(parts) == 1:
            return self._unqualified(column, parts[0], scope)
        elif (qualified := scope.qualified(parts)) is None:
            derivation, fields = self._unqualified(column, parts[0], scope), parts[1:]
        else:
            source, name, fields = qualified
            if is_pseudo_column(name, [source.relation], self._platform):
                return {}
            derivation = source.relation.find(name)
            if derivation is None and source.relation.base is not None:
                derivation = source.relation.base.assume(name)
            if derivation is None:
                self._note(notes.MISSING_COLUMNS, ".".join(parts))
                return {}
        for field in fields:
            derivation = field_of(derivation, field)
        return derivation

    def _unqualified(self, column: exp.Column, name: str, scope: QueryScope) -> Derivation:
        relations = [source.relation for inner in scope.chain() for source in inner.sources.values()]
        if is_pseudo_column(name, relations, self._platform):
            return {}
        is_other = is_keyword(column, name, self._platform) or fold(name) in self._variables
        if is_other and not any(relation.knows(name) for relation in relations):
            return {}
        row = self._whole_row(name, scope)
        if row is not None:
            return row
        derivation = scope.unqualified(name)
        if derivation is not None:
            return derivation
        self._note(notes.UNKNOWN_TABLE, name)
        return {}

    def _whole_row(self, name: str, scope: QueryScope) -> Derivation | None:
        """Return the derivation of a relation's name used as a value, if no column has this name."""
        for inner in scope.chain():
            if name.casefold() in inner.aliases:
                return None
            if any(source.relation.may_have(name) for source in inner.sources.values()):
                return None
            source = inner.named((name.casefold(),))
            if source is not None and source.relation.rest is None:
                return source.relation.row()
        return None

    def _kinds(
        self, expression: exp.Expr, scope: QueryScope, kind: Transformation = IDENTITY
    ) -> dict[ColumnOrigin, set[Transformation]]:
        steps = self._steps(expression, scope, kind, is_whole=True)
        return {} if steps is None else steps[0]

    def _steps(
        self, expression: exp.Expr, scope: QueryScope, kind: Transformation, *, is_whole: bool
    ) -> tuple[_Kinds, _Kinds] | None:
        """Return the kinds of chains from each origin, and of those that pass a structure.

        None: the query builds a structure that the expression passes on. `is_whole`: as for a function that
        takes the value as a whole.
        """
        # Iterative: a sum of a thousand terms is nested a thousand levels deep.
        result: _Kinds = {}
        passing: _Kinds = {}
        structures = self.structures
        pending: _Pending = [(expression, kind, not is_whole)]
        while pending:
            node, kind, is_passed = pending.pop()
            derivation: Derivation
            if isinstance(node, exp.Column | exp.Star):
                if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
                    derivation = self._all(node, scope)
                else:
                    derivation = self.column(node, scope)
            elif type(node) in structures.read_types and structures.reads(node):
                derivation = structures.read(node, scope)
            elif (entry := dictionary_entry(node)) is not None:
                pending += [(part, compose(kind, TRANSFORMATION), False) for part in entry]
                continue
            elif isinstance(node, exp.Exists):
                derivation, kind, is_passed = self._exists(node, scope), compose(kind, CONDITIONAL), False
            elif isinstance(node, exp.Query):
                derivation = self._query(node, scope)
            elif is_passed and type(node) in structures.constructor_types and structures.constructs(node):
                return None
            elif self.bound and isinstance(node, exp.Identifier):
                derivation = self.bound.get(fold(node.name), {}) if _is_variable(node) else {}
            else:
                parts = self._parts(node, kind, scope)
                pending += [(part, how, is_passed and passes) for part, how, passes in parts]
                continue
            if is_passed and isinstance(derivation, Structure):
                return None
            for origin, step in derivation.items():
                _add_kinds(result, origin, kind, step.kinds)
                if is_passed and step.passing:
                    _add_kinds(passing, origin, kind, step.passing)
        return result, passing

    def _query(self, query: exp.Query, scope: QueryScope) -> Derivation:
        """Return the derivation of a query's value: its only column, or all of them as one value."""
        relation = self._relation_of(query, scope)
        scope.influence(relation.influences)
        if _is_structure(query):
            return relation.row()
        if query.unnest().args.get("for_") is not None:  # T-SQL: FOR JSON, FOR XML
            columns = merged(column.derivation for column in relation.known())
            return passed(columns, AGGREGATION, self.text(query, scope))
        derivations = [item.derivation for item in relation.named]
        return derivations[0] if len(derivations) == 1 else merged(derivations)

    def _exists(self, node: exp.Exists, scope: QueryScope) -> Derivation:
        if not isinstance(node.this, exp.Query):
            return self.trace(node.this, scope)
        relation = self._relation_of(node.this, scope)
        scope.influence(relation.influences)
        kinds = dict.fromkeys(relation.influences, (CONDITIONAL,))
        return derived(kinds, {}, lambda: "")

    def _all(self, node: exp.Column | exp.Star, scope: QueryScope) -> Derivation:
        if isinstance(node.parent, exp.Count):
            return {}
        if isinstance(node, exp.Column):
            source = scope.named(tuple(part.name.casefold() for part in node.parts[:-1]))
            sources = [] if source is None else [source]
        else:
            sources = list(scope.sources.values())
        return merged(item.derivation for source in sources for item in source.relation.known())

    def _parts(
        self, node: exp.Expr, kind: Transformation, scope: QueryScope
    ) -> Iterator[tuple[exp.Expr, Transformation, bool]]:
        """Yield the parts of an expression with their steps, and whether the value has their structure."""
        known = roles_of(node)
        if known.uniform is not None:  # as most
            step = compose(kind, known.uniform.step)
            for part in node.iter_expressions():
                yield part, step, known.uniform.passes
            return
        for part, role in parts_of(node, known):
            yield part, compose(kind, role.step), role.passes
        if isinstance(node, exp.Window):
            for part in _named_windows(node, scope):
                yield part, compose(kind, WINDOW), False


def _add_kinds(
    kinds: _Kinds, origin: ColumnOrigin, kind: Transformation, inner: frozenset[Transformation]
) -> None:
    known = kinds.get(origin)
    if known is None:
        known = kinds[origin] = set()
    if inner is UNCHANGED:  # as most
        known.add(kind)
    else:
        known.update(compose(kind, inner_kind) for inner_kind in inner)


def _is_structure(query: exp.Query) -> bool:
    """Return whether a query is BigQuery's SELECT AS STRUCT."""
    return query.unnest().args.get("kind") == "STRUCT"


def _is_variable(name: exp.Identifier) -> bool:
    """Return whether an identifier in a lambda is a value: not an alias, and no name of a field."""
    return name.arg_key != "alias" and not (
        isinstance(name.parent, exp.PropertyEQ) and name.arg_key == "this"
    )


def _tables(scope: QueryScope) -> frozenset[str]:
    return frozenset(name for inner in scope.chain() for name in inner.sources)


def _named_windows(node: exp.Window, scope: QueryScope) -> Iterator[exp.Expr]:
    """Yield the parts of windows that are defined elsewhere: in the clause WINDOW."""
    waiting, seen = [node], set()
    while waiting:
        window = waiting.pop()
        if window is not node:
            yield from (part for part, role in parts_of(window, roles_of(window)) if role.step is WINDOW)
        for name in (window.args.get("alias"), window.this):
            key = fold(name.name) if isinstance(name, exp.Identifier) else ""
            named = [inner.windows[key] for inner in scope.chain() if key in inner.windows]
            if named and key not in seen:
                seen.add(key)
                waiting.append(named[0])
