"""UPDATE, DELETE and MERGE as SELECTs with the same column lineage. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.sources.sql.changed_tables import base_of, joined_tables, named_table


@dataclass(frozen=True, slots=True)
class Change:
    """A query whose columns are named after the columns of `target` that they fill.

    `takes_all`: it represents `SET *` or `INSERT *`, so that target columns are matched by name.
    """

    target: exp.Expr
    query: exp.Select
    takes_all: bool = False


def of_update(update: exp.Update, *, by_name: bool) -> Iterator[Change]:
    """Convert ``UPDATE t SET a = s.x FROM s WHERE ...`` and ``UPDATE t JOIN s ON ... SET t.a = s.x``.

    `by_name`: as in `named_table`.
    """
    source, with_ = update.args.get("from_"), update.args.get("with_")
    items = [source.this] if source is not None else []
    target = named_table(update.this, items, by_name=by_name)
    if target is None:
        target = update.this
        items.insert(0, target)
    joined = list(joined_tables(target)) if target is update.this else [target]
    assignments: dict[exp.Expr, list[tuple[str, exp.Expr]]] = {}
    for column, value in _assignments(update.expressions):
        table = next(
            (
                joined_table
                for joined_table in joined
                if fold(joined_table.alias_or_name) == fold(column.table)
            ),
            target,
        )
        assignments.setdefault(table, []).append((column.name, value))
    for table, values in (assignments or {target: []}).items():
        base, columns = base_of(table, with_)
        named = [_called(value, columns.get(fold(name), name)) for name, value in values]
        yield Change(base, _select(named, items, update.args.get("where"), with_))


def of_delete(delete: exp.Delete, *, by_name: bool) -> Iterator[Change]:
    """Convert ``DELETE FROM t USING s WHERE ...`` and ``DELETE t FROM t JOIN s``, which set no columns.

    `by_name`: as in `named_table`.
    """
    using, with_ = delete.args.get("using") or [], delete.args.get("with_")
    targets = delete.args.get("tables") or [delete.this]
    if delete.args.get("tables") and isinstance(delete.this, exp.Expr):
        using = [delete.this, *using]
    for target in targets:
        named = named_table(target, using, by_name=by_name)
        items = using if named is not None else [target, *using]
        base, _ = base_of(named or target, with_)
        yield Change(base, _select([], items, delete.args.get("where"), with_))


def of_merge(merge: exp.Merge) -> Iterator[Change]:
    """Convert ``MERGE INTO t USING s ON ... WHEN ...``: a query for each WHEN."""
    source = merge.args["using"]
    whens = merge.args["whens"]
    for when in whens.expressions if isinstance(whens, exp.Whens) else whens:
        then = when.args["then"]
        condition = when.args.get("condition")
        where = exp.Where(this=condition.copy()) if condition is not None else None
        values: list[exp.Expr] = []
        takes_all = False
        if isinstance(then, exp.Update):
            takes_all = any(isinstance(expression, exp.Star) for expression in then.expressions)
            values = [_called(value, column.name) for column, value in _assignments(then.expressions)]
        elif isinstance(then, exp.Insert):
            takes_all = isinstance(then.this, exp.Star)
            values = [] if takes_all else _inserted(then)
        if takes_all:
            name = source.alias_or_name
            values = [exp.Column(this=exp.Star(), table=exp.to_identifier(name))] if name else [exp.Star()]
        query = _select(values, [merge.this], where, merge.args.get("with_"))
        query.append("joins", exp.Join(this=source.copy(), on=merge.args["on"].copy()))
        yield Change(merge.this, query, takes_all)


def _inserted(insert: exp.Insert) -> list[exp.Expr]:
    if not (isinstance(insert.this, exp.Tuple) and isinstance(insert.expression, exp.Tuple)):
        return []
    pairs = zip(insert.this.expressions, insert.expression.expressions, strict=False)
    return [_called(value, column.name) for column, value in pairs]


def _assignments(assignments: Iterable[exp.Expr]) -> Iterator[tuple[exp.Column, exp.Expr]]:
    for assignment in assignments:
        if not isinstance(assignment, exp.EQ):
            continue
        if isinstance(assignment.this, exp.Column):
            yield assignment.this, assignment.expression
        elif isinstance(assignment.this, exp.Tuple):
            columns = (column for column in assignment.this.expressions if isinstance(column, exp.Column))
            yield from zip(columns, _parts(assignment.expression), strict=False)


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


def _called(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value.copy(), alias=exp.to_identifier(name, quoted=True))


def _select(
    values: list[exp.Expr], items: list[exp.Expr], where: exp.Expr | None, with_: exp.Expr | None
) -> exp.Select:
    first, *others = items
    return exp.Select(
        expressions=values or [_called(exp.Null(), "nothing")],
        from_=exp.From(this=first.copy()),
        joins=[exp.Join(this=other.copy()) for other in others],
        **({"where": where.copy()} if where is not None else {}),
        **({"with_": with_.copy()} if with_ is not None else {}),
    )
