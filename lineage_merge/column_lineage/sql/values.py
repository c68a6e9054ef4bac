"""What the value of an expression is made of."""

from collections.abc import Callable, Iterable, Iterator

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql.derivation import (
    Derivation,
    Influences,
    Origin,
    derived,
    merged,
)
from lineage_merge.column_lineage.sql.scope import Relation, Scope
from lineage_merge.column_lineage.sql.text import Text
from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, along

IDENTITY, TRANSFORMATION, AGGREGATION, CONDITIONAL, WINDOW = Transformation

# A row's own value from another row: nothing is put together.
_OF_ANOTHER_ROW = (exp.Lag, exp.Lead)
# Aggregates that sqlglot reads as some function that it does not know.
_AGGREGATES = frozenset(
    {
        "approximate_count_distinct",
        "array_concat_agg",
        "bool_and",
        "bool_or",
        "checksum",
        "entropy",
        "every",
        "fsum",
        "geometric_mean",
        "histogram",
        "json_agg",
        "json_object_agg",
        "jsonb_agg",
        "jsonb_object_agg",
        "kahan_sum",
        "list",
        "mad",
        "map_agg",
        "multimap_agg",
        "ratio_to_report",
        "set_agg",
        "string_agg",
        "sum_no_overflow",
        "xmlagg",
    }
)
# Words that some functions take in front, without quotes: `datediff(day, a, b)`.
_UNITS = frozenset(
    [
        "year",
        "years",
        "yy",
        "yyyy",
        "quarter",
        "qtr",
        "q",
        "month",
        "months",
        "mon",
        "mm",
        "week",
        "weeks",
        "wk",
        "w",
        "iso_week",
        "isoweek",
        "day",
        "days",
        "dd",
        "d",
        "dayofweek",
        "dow",
        "dayofyear",
        "doy",
        "hour",
        "hours",
        "hh",
        "minute",
        "minutes",
        "mi",
        "second",
        "seconds",
        "sec",
        "ss",
        "s",
        "millisecond",
        "milliseconds",
        "ms",
        "microsecond",
        "microseconds",
        "us",
        "nanosecond",
        "nanoseconds",
        "ns",
        "epoch",
        "decade",
        "century",
    ]
)
_WITHOUT_COLUMN = frozenset(
    {"sysdate", "systimestamp", "rownum", "level", "current_role", "current_database"}
)
# What platforms say of where a row lies: no column of the table.
_PSEUDO_COLUMNS = frozenset(
    [
        "$file_modified_time",
        "$file_size",
        "$partition",
        "$path",
        "$size",
        "$spectrum_oid",
        "_file_name",
        "_metadata",
        "_partitiondate",
        "_partitiontime",
        "_table_suffix",
        "metadata$file_content_key",
        "metadata$file_last_modified",
        "metadata$file_row_number",
        "metadata$filename",
        "metadata$start_scan_time",
    ]
)

_Pending = list[tuple[exp.Expr, Transformation]]


class Values:
    """Reads expressions. `relation_of` reads a query inside one, `note` takes what cannot be told."""

    def __init__(
        self,
        dialect: Dialect,
        relation_of: Callable[[exp.Expr, Scope], Relation],
        note: Callable[[str, str], None],
    ) -> None:
        self._dialect = dialect
        self._relation_of = relation_of
        self._note = note

    def trace(self, expression: exp.Expr, scope: Scope) -> Derivation:
        """What the value is made of; an expression that only names a column is that column."""
        plain = expression
        while isinstance(plain, exp.Alias | exp.Paren):
            plain = plain.this
        if isinstance(plain, exp.Column) and not isinstance(plain.this, exp.Star):
            derivation, fields = self.column(plain, scope)
            if not fields:
                return derivation
        if isinstance(plain, exp.Query):
            relation = self._relation_of(plain, scope)
            scope.influence(relation.influences)
            return next((item.derivation for item in relation.named), {})
        return derived(self._kinds(plain, scope), Text(plain, _tables(scope), self._dialect))

    def origins(self, expression: exp.Expr, scope: Scope) -> set[Origin]:
        """All columns that the expression mentions, however."""
        return set(self._kinds(expression, scope))

    def influence(self, expressions: Iterable[exp.Expr | None], scope: Scope, kind: InfluenceKind) -> None:
        """The expressions decide which rows there are."""
        found: Influences = {}
        for expression in expressions:
            if expression is not None:
                found.update((origin, {kind}) for origin in self.origins(expression, scope))
        scope.influence(found)

    def column(self, column: exp.Column, scope: Scope) -> tuple[Derivation, bool]:
        """What a name means, and whether it goes into a field of a column (a struct)."""
        parts = [part.name for part in column.parts]
        if len(parts) == 1:
            return self._bare(column, parts[0], scope), False
        found = scope.qualified(parts)
        if found is None:
            return self._bare(column, parts[0], scope), True
        source, name, fields = found
        if name.lower() in _PSEUDO_COLUMNS and not source.relation.knows(name):
            return {}, True
        derivation = source.relation.find(name)
        if derivation is None and source.relation.base is not None:
            derivation = source.relation.base.insist(name)
        if derivation is None:
            self._note("names columns that the tables it reads do not have", ".".join(parts))
        return derivation or {}, bool(fields)

    def _bare(self, column: exp.Column, name: str, scope: Scope) -> Derivation:
        known = any(
            source.relation.knows(name) for inner in scope.chain() for source in inner.sources.values()
        )
        if not known and (name.lower() in _PSEUDO_COLUMNS or _is_a_word(column, name)):
            return {}
        row = self._whole_row(name, scope)
        if row is not None:
            return row
        derivation = scope.bare(name)
        if derivation is not None:
            return derivation
        self._note("names columns of which nobody can tell the table", name)
        return {}

    def _whole_row(self, name: str, scope: Scope) -> Derivation | None:
        """All columns of a relation whose name stands for a value, where no column is called so."""
        for inner in scope.chain():
            if name.casefold() in inner.aliases:
                return None
            if any(source.relation.may_have(name) for source in inner.sources.values()):
                return None
            source = inner.named((name.casefold(),))
            if source is not None and source.relation.rest is None:
                kinds = {
                    origin: tuple(along(TRANSFORMATION, each) for each in step.kinds)
                    for item in source.relation.known()
                    for origin, step in item.derivation.items()
                }
                return derived(kinds, lambda: name)
        return None

    def _kinds(self, expression: exp.Expr, scope: Scope) -> dict[Origin, set[Transformation]]:
        # With a list instead of recursion: a sum of a thousand terms is nested as deep.
        result: dict[Origin, set[Transformation]] = {}
        pending: _Pending = [(expression, IDENTITY)]
        while pending:
            node, kind = pending.pop()
            if isinstance(node, exp.Column | exp.Star):
                found: Derivation
                if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
                    found = self._all(node, scope)
                else:
                    found, fields = self.column(node, scope)
                    kind = along(kind, TRANSFORMATION) if fields else kind
            elif isinstance(node, exp.Exists):
                found, kind = self._exists(node, scope), along(kind, CONDITIONAL)
            elif isinstance(node, exp.Query):
                relation = self._relation_of(node, scope)
                scope.influence(relation.influences)
                found = merged(item.derivation for item in relation.named)
            else:
                pending.extend(self._parts(node, kind, scope))
                continue
            for origin, step in found.items():
                result.setdefault(origin, set()).update(along(kind, inner) for inner in step.kinds)
        return result

    def _exists(self, node: exp.Exists, scope: Scope) -> Derivation:
        if not isinstance(node.this, exp.Query):  # Spark's `exists(array, x -> ...)`
            return self.trace(node.this, scope)
        relation = self._relation_of(node.this, scope)
        scope.influence(relation.influences)
        kinds = dict.fromkeys(relation.influences, (CONDITIONAL,))
        return derived(kinds, lambda: "")

    def _all(self, node: exp.Column | exp.Star, scope: Scope) -> Derivation:
        if isinstance(node.parent, exp.Count):
            return {}
        if isinstance(node, exp.Column):
            source = scope.named(tuple(part.name.casefold() for part in node.parts[:-1]))
            sources = [] if source is None else [source]
        else:
            sources = list(scope.sources.values())
        return merged(item.derivation for source in sources for item in source.relation.known())

    def _parts(
        self, node: exp.Expr, kind: Transformation, scope: Scope
    ) -> Iterator[tuple[exp.Expr, Transformation]]:
        """The parts of an expression, each with what it adds to the value."""
        steering = {id(part): how for part, how in _steering(node, scope)}
        value = along(kind, _own_kind(node))
        for part in node.iter_expressions():
            how = steering.pop(id(part), None)
            yield part, value if how is None else along(kind, how)
        for part, how in _steering(node, scope):
            if id(part) in steering:  # a window that stands elsewhere under a name
                yield part, along(kind, how)


def _tables(scope: Scope) -> frozenset[str]:
    return frozenset(name for inner in scope.chain() for name in inner.sources)


def _own_kind(node: exp.Expr) -> Transformation:
    if isinstance(node, exp.Alias | exp.Paren | exp.Window | exp.Filter | exp.Order | exp.Ordered):
        return IDENTITY
    if isinstance(node, exp.AggFunc) and not isinstance(node, _OF_ANOTHER_ROW):
        return AGGREGATION
    if isinstance(node, exp.WithinGroup):
        return AGGREGATION
    if isinstance(node, exp.Anonymous) and (
        node.name.lower() in _AGGREGATES or isinstance(node.parent, exp.Filter | exp.WithinGroup)
    ):
        return AGGREGATION
    return TRANSFORMATION


def _steering(node: exp.Expr, scope: Scope) -> Iterator[tuple[exp.Expr, Transformation]]:
    """The parts that only decide which value it is."""
    if isinstance(node, exp.Case):
        if node.this:
            yield node.this, CONDITIONAL
    elif isinstance(node, exp.If | exp.Nvl2):
        yield node.this, CONDITIONAL
    elif isinstance(node, exp.Nullif | exp.Filter):
        yield node.expression, CONDITIONAL
    elif isinstance(node, exp.DecodeCase):
        parts = node.expressions
        yield parts[0], CONDITIONAL
        for position in range(1, len(parts) - 1, 2):
            yield parts[position], CONDITIONAL
    elif isinstance(node, exp.ArgMax | exp.ArgMin | exp.HavingMax):
        yield node.expression, WINDOW
    elif isinstance(node, exp.Order):
        # `listagg(a) within group (order by b)`: b steers. `percentile_cont(0.5) within
        # group (order by b)`: b is the value.
        group = node.parent
        if not isinstance(group, exp.WithinGroup) or group.this.find(exp.Column):
            for part in node.expressions:
                yield part, WINDOW
    elif isinstance(node, exp.Window):
        yield from _window(node, scope, set())


def _window(node: exp.Window, scope: Scope, seen: set[str]) -> Iterator[tuple[exp.Expr, Transformation]]:
    for part in node.args.get("partition_by") or ():
        yield part, WINDOW
    for key in ("order", "spec"):
        part = node.args.get(key)
        if isinstance(part, exp.Expr):
            yield part, WINDOW
    name = node.args.get("alias")
    names = [name.name.casefold()] if isinstance(name, exp.Expr) else []
    if isinstance(node.this, exp.Identifier):
        names.append(node.this.name.casefold())
    for wanted in names:
        for inner in scope.chain():
            if wanted in inner.windows and wanted not in seen:
                seen.add(wanted)
                yield from _window(inner.windows[wanted], scope, seen)


def _is_a_word(column: exp.Column, name: str) -> bool:
    if column.this.args.get("quoted"):
        return False
    if name.lower() in _WITHOUT_COLUMN:
        return True
    return (
        name.lower() in _UNITS
        and isinstance(column.parent, exp.Func)
        and column.arg_key in ("this", "expressions", "unit")
        and not column.index
    )
