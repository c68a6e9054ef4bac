"""UPDATE, DELETE and MERGE as SELECTs with the same column lineage. Pure."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from lineage_merge.column_lineage.derive import derive_flows
from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.changed_tables import base_of, find_joined_tables, find_named_table
from lineage_merge.column_lineage.sql.scope import Relation
from lineage_merge.column_lineage.sql.sql_values import Columns, SqlRows, merge_columns
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.targets import match_by_name, match_by_position
from lineage_merge.column_lineage.transformations import ColumnFlow, Transformation
from lineage_merge.column_lineage.value_graph import has_origin
from lineage_merge.model.elements import FIELD, field_path

RowOperation = Literal["merge", "update", "delete"]
_OPERATIONS: tuple[tuple[type[exp.Expr], RowOperation], ...] = (
    (exp.Merge, "merge"),
    (exp.Update, "update"),
    (exp.Delete, "delete"),
)
# The row that an INSERT proposes, as PostgreSQL calls it.
_PROPOSED = "excluded"


@dataclass(frozen=True, slots=True)
class Change:
    """A query whose columns are named after the columns of `target` that they fill.

    `takes_all`: it represents `SET *` or `INSERT *`, so that target columns are matched by name.
    `by_position`: it represents an INSERT without a column list.
    """

    target: exp.Expr
    query: exp.Select
    takes_all: bool = False
    by_position: bool = False


@dataclass(slots=True)
class ChangedColumns:
    """What an operation assigns to the columns of one table, and what decides which of its rows."""

    columns: Columns = field(default_factory=list)
    rows: SqlRows = field(default_factory=SqlRows)
    problems: list[str] = field(default_factory=list)

    def reads(self, dataset: str) -> bool:
        """Return whether an assigned value is computed of a column of the dataset."""
        flows = derive_flows(self.columns, lambda _: "")
        return any(flow.source == dataset for flow in drop_copies(flows, dataset))


def drop_copies(flows: Iterable[ColumnFlow[str]], dataset: str) -> Iterator[ColumnFlow[str]]:
    """Yield flows into a dataset whose rows are changed.

    A column copied to itself is no lineage; one computed from itself is.
    """
    for flow in flows:
        steps = flow.transformations
        if flow.source == dataset and fold(flow.column) == fold(flow.target_column):
            steps = tuple(step for step in steps if step is not Transformation.IDENTITY)
        if steps:
            yield flow if steps == flow.transformations else replace(flow, transformations=steps)


def operation_of(tree: object) -> RowOperation | None:
    """Return the row-level operation that a statement is, None for other statements."""
    return next((operation for kind, operation in _OPERATIONS if isinstance(tree, kind)), None)


def changes_of(tree: exp.Expr, *, by_name: bool = False) -> Iterator[Change]:
    """Convert a MERGE, UPDATE or DELETE; nothing for other statements. `by_name`: as in `named_table`."""
    if isinstance(tree, exp.Merge):
        yield from _convert_merge(tree)
    elif isinstance(tree, exp.Update):
        yield from _convert_update(tree, by_name=by_name)
    elif isinstance(tree, exp.Delete):
        yield from _convert_delete(tree, by_name=by_name)


def update_of_upsert(insert: exp.Insert, names: Sequence[str]) -> Change | None:
    """Return the update of rows that exist: ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE; None without.

    `names`: the columns that the INSERT fills, in order.
    """
    conflict, query = insert.args.get("conflict"), insert.expression
    target = insert.this.this if isinstance(insert.this, exp.Schema) else insert.this
    if conflict is None or not conflict.expressions or not isinstance(query, exp.Query | exp.Values):
        return None
    given = target.args.get("alias")
    table = given.name if given is not None else target.name
    prefixes = {fold(table), fold(target.name)}
    values = []
    for column, value in _assignments(conflict.expressions):
        new = value.copy()
        new = new.transform(_value_of_insert) if conflict.args.get("duplicate") else new
        _qualify(new, table)
        values.append(_name_value(new, _split_assigned(column, prefixes)[1]))
    alias = exp.TableAlias(
        this=exp.to_identifier(_PROPOSED), columns=[exp.to_identifier(name, quoted=True) for name in names]
    )
    rows = query.copy()
    proposed = exp.Subquery(this=rows) if isinstance(rows, exp.Query) else rows
    rows_alias = rows.args.get("alias")
    proposed.set("alias", alias)
    where = conflict.args.get("where")
    if where is not None:
        where = where.copy()
        _qualify(where, table)
    items: list[exp.Expr] = [target, proposed]
    if conflict.args.get("duplicate") and isinstance(query, exp.Select) and query.args.get("from_"):
        # MySQL: the tables of the SELECT may be named too.
        items += [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
    if isinstance(rows_alias, exp.TableAlias):  # `VALUES (...) AS new`
        values = [value.transform(_rename_table, rows_alias.name) for value in values]
    return Change(target, _select(values, items, where, None))


def _value_of_insert(node: exp.Expr) -> exp.Expr:
    """Return MySQL's ``VALUES(a)`` as the column of the row that is inserted."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "VALUES" and len(node.expressions) == 1:
        return exp.column(node.expressions[0].name, _PROPOSED)
    return node


def _rename_table(node: exp.Expr, name: str) -> exp.Expr:
    if isinstance(node, exp.Column) and fold(node.table) == fold(name):
        return exp.column(node.name, _PROPOSED)
    return node


def collect_changes(
    changes: Iterable[tuple[Change, Relation]], names: Sequence[str], *, complete: bool
) -> ChangedColumns:
    """Return the columns that changes of a dataset assign, each change with its query's relation.

    `names` are the known columns of the dataset, in order; `complete`: it has no others.
    """
    changed = ChangedColumns()
    known = {fold(name): name for name in names}
    columns: Columns = []
    for change, relation in changes:
        if change.by_position:
            assigned, problem = _match_by_position(relation, names if complete else ())
        else:
            assigned, problem = match_by_name(relation, names if change.takes_all else ())
        # Whatever else the source has, no column of a complete target takes it.
        if problem and not (change.takes_all and complete):
            changed.problems.append(problem)
        if change.takes_all and names:
            assigned = [column for column in assigned if fold(column[0]) in known]
        columns += (column for column in assigned if has_origin(column[1]))
        changed.rows.include(relation.rows)
    changed.columns = [(_spell_column(name, known), value) for name, value in merge_columns(columns)]
    return changed


def _spell_column(name: str, columns: Mapping[str, str]) -> str:
    """Return a column, or the path of a field, with the column's name in `columns` (by folded name)."""
    column, separator, fields = name.partition(FIELD)
    return f"{columns.get(fold(column), column)}{separator}{fields}"


def _match_by_position(relation: Relation, names: Sequence[str]) -> tuple[Columns, str]:
    if names:
        return match_by_position(relation, names, may_be_fewer=True)
    has_columns = relation.stars or any(has_origin(item.value) for item in relation.named)
    return [], f"{notes.UNKNOWN_POSITIONS} of a table with unknown columns" if has_columns else ""


def _convert_update(update: exp.Update, *, by_name: bool) -> Iterator[Change]:
    """Convert ``UPDATE t SET a = s.x FROM s WHERE ...`` and ``UPDATE t JOIN s ON ... SET t.a = s.x``.

    `by_name`: as in `named_table`.
    """
    source, with_ = update.args.get("from_"), update.args.get("with_")
    items = [source.this] if source is not None else []
    target = find_named_table(update.this, items, by_name=by_name)
    if target is None:
        target = update.this
        items.insert(0, target)
    joined = list(find_joined_tables(target)) if target is update.this else [target]
    tables = {fold(joined_table.alias_or_name): joined_table for joined_table in reversed(joined)}
    prefixes = {*tables, *(fold(table.name) for table in (*joined, update.this))}
    assignments: dict[exp.Expr, list[tuple[str, exp.Expr]]] = {}
    for column, value in _assignments(update.expressions):
        qualifier, name = _split_assigned(column, prefixes)
        assignments.setdefault(tables.get(qualifier, target), []).append((name, value))
    for table, values in (assignments or {target: []}).items():
        base, columns = base_of(table, with_)
        named = [_name_value(value, _spell_column(name, columns)) for name, value in values]
        yield Change(base, _select(named, items, update.args.get("where"), with_))


def _convert_delete(delete: exp.Delete, *, by_name: bool) -> Iterator[Change]:
    """Convert ``DELETE FROM t USING s WHERE ...`` and ``DELETE t FROM t JOIN s``, which set no columns.

    `by_name`: as in `named_table`.
    """
    using, with_ = delete.args.get("using") or [], delete.args.get("with_")
    targets = delete.args.get("tables") or [delete.this]
    if delete.args.get("tables") and isinstance(delete.this, exp.Expr):
        using = [delete.this, *using]
    for target in targets:
        named = find_named_table(target, using, by_name=by_name)
        items = using if named is not None else [target, *using]
        base, _ = base_of(named or target, with_)
        yield Change(base, _select([], items, delete.args.get("where"), with_))


def _convert_merge(merge: exp.Merge) -> Iterator[Change]:
    """Convert ``MERGE INTO t USING s ON ... WHEN ...``: a query for each WHEN."""
    source = merge.args["using"]
    whens = merge.args["whens"]
    for when in whens.expressions if isinstance(whens, exp.Whens) else whens:
        then = when.args["then"]
        condition = when.args.get("condition")
        where = exp.Where(this=condition.copy()) if condition is not None else None
        values, takes_all, positional = _find_values(then, merge.this, source)
        visible = merge.this if when.args.get("source") else source
        if not when.args.get("matched"):
            for expression in (*values, *([where] if where is not None else [])):
                _qualify(expression, visible.alias_or_name)
        query = _select(values, [merge.this], where, merge.args.get("with_"))
        using = merge.args.get("using_cond") or None
        on = merge.args.get("on") or None
        join = exp.Join(this=source.copy(), on=on.copy() if on is not None else None)
        if using is not None:
            join.set("using", [column.copy() for column in using])
        query.append("joins", join)
        yield Change(merge.this, query, takes_all, positional)


def _find_values(then: exp.Expr, target: exp.Expr, source: exp.Expr) -> tuple[list[exp.Expr], bool, bool]:
    """Return the values of a WHEN, whether they are all columns by name, and whether by position."""
    if isinstance(then, exp.Update):
        if not then.expressions:  # DuckDB's UPDATE without SET
            return [_all_of(source)], False, True
        star = next((expression for expression in then.expressions if isinstance(expression, exp.Star)), None)
        if star is not None:
            return [_all_of(source, star)], True, False
        prefixes = {fold(target.alias_or_name), fold(target.name)}
        assignments = _assignments(then.expressions)
        return (
            [_name_value(value, _split_assigned(column, prefixes)[1]) for column, value in assignments],
            False,
            False,
        )
    if not isinstance(then, exp.Insert):
        return [], False, False
    listed, values = then.this, then.expression
    if isinstance(listed, exp.Star):
        return [_all_of(source, listed)], True, False
    if listed is None or (isinstance(listed, exp.Var) and listed.name.upper() == "ROW"):
        return [_all_of(source)], False, True
    if not isinstance(listed, exp.Tuple):
        return [], False, False
    if isinstance(values, exp.Tuple):
        prefixes = {fold(target.alias_or_name), fold(target.name)}
        columns = [
            (_split_assigned(column, prefixes)[1] if isinstance(column, exp.Column) else column.name)
            for column in listed.expressions
        ]
        pairs = zip(columns, values.expressions, strict=False)
        return [_name_value(value, name) for name, value in pairs if not _is_default(value)], False, False
    [first, *others] = listed.expressions or [None]
    if isinstance(first, exp.Anonymous) and first.name.upper() == "VALUES" and not others:
        return [_name_value(value, "") for value in first.expressions], False, True
    return [], False, False  # INSERT DEFAULT VALUES


def _qualify(expression: exp.Expr, table: str) -> None:
    """Add the only visible table to columns without one: of the source for a row without a match."""
    for column in list(expression.find_all(exp.Column)) if table else ():
        query = column.find_ancestor(exp.Query)
        if not column.table and not isinstance(column.this, exp.Star) and query is None:
            column.set("table", exp.to_identifier(table))


def _all_of(source: exp.Expr, star: exp.Star | None = None) -> exp.Expr:
    """Return all columns of the source, without those that `star` excludes."""
    every = exp.Star() if star is None else star.copy()
    name = source.alias_or_name
    return exp.Column(this=every, table=exp.to_identifier(name)) if name else every


def _split_assigned(column: exp.Column, tables: Container[str]) -> tuple[str, str]:
    """Return the qualifier (folded, "" without one) and the column of an assignment.

    ``t.address.city`` and ``address.city`` assign a field of `address`. `tables` (folded) are the names
    before a column.
    """
    parts = [part.name for part in column.parts]
    for position in range(len(parts) - 1):
        if fold(parts[position]) in tables:
            return fold(parts[position]), field_path(*parts[position + 1 :])
    return "", field_path(*parts)


def _is_default(value: exp.Expr) -> bool:
    return (
        isinstance(value, exp.Column)
        and not value.table
        and not value.this.args.get("quoted")
        and value.name.upper() == "DEFAULT"
    )


def _assignments(assignments: Iterable[exp.Expr]) -> Iterator[tuple[exp.Column, exp.Expr]]:
    for assignment in assignments:
        if not isinstance(assignment, exp.EQ):
            continue
        if isinstance(assignment.this, exp.Column):
            if not _is_default(assignment.expression):
                yield assignment.this, assignment.expression
        elif isinstance(assignment.this, exp.Tuple):
            columns = (column for column in assignment.this.expressions if isinstance(column, exp.Column))
            pairs = zip(columns, _parts(assignment.expression), strict=False)
            yield from ((column, value) for column, value in pairs if not _is_default(value))


def _parts(values: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the values of ``(a, b) = (x, y)``, or of ``(a, b) = (SELECT x, y ...)``, each as a query."""
    query = values.unnest()
    if not isinstance(query, exp.Select):
        yield from values.expressions
        return
    for selected in query.selects:
        single = query.copy()
        single.set("expressions", [selected.copy()])
        yield exp.Subquery(this=single)


def _name_value(value: exp.Expr, name: str) -> exp.Expr:
    alias = exp.to_identifier(name or "unnamed", quoted=True)
    return exp.Alias(this=value.copy(), alias=alias)


def _select(
    values: list[exp.Expr], items: list[exp.Expr], where: exp.Expr | None, with_: exp.Expr | None
) -> exp.Select:
    first, *others = items
    return exp.Select(
        expressions=values or [_name_value(exp.Null(), "nothing")],
        from_=exp.From(this=first.copy()),
        joins=[exp.Join(this=other.copy()) for other in others],
        **({"where": where.copy()} if where is not None else {}),
        **({"with_": with_.copy()} if with_ is not None else {}),
    )
