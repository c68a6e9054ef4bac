"""UPDATE, DELETE and MERGE as SELECTs with the same column lineage. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Change:
    """A query whose columns are named after the target columns that they fill.

    `takes_all`: it represents `SET *` or `INSERT *`, so that target columns are matched by name.
    """

    query: exp.Select
    takes_all: bool = False


def of_update(update: exp.Update) -> Iterator[Change]:
    """Convert ``UPDATE t SET a = s.x FROM s WHERE ...``."""
    source = update.args.get("from_")
    joins = [exp.Join(this=source.this.copy())] if source is not None else []
    where = update.args.get("where")
    yield Change(_select(_set(update.expressions), update.this, joins, where, update.args.get("with_")))


def of_delete(delete: exp.Delete) -> Iterator[Change]:
    """Convert ``DELETE FROM t USING s WHERE ...``, which sets no column but removes rows."""
    joins = [exp.Join(this=each.copy()) for each in delete.args.get("using") or ()]
    where = delete.args.get("where")
    yield Change(_select([], delete.this, joins, where, delete.args.get("with_")))


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
            takes_all = any(isinstance(each, exp.Star) for each in then.expressions)
            values = [] if takes_all else _set(then.expressions)
        elif isinstance(then, exp.Insert):
            takes_all = isinstance(then.this, exp.Star)
            values = [] if takes_all else _inserted(then)
        if takes_all:
            name = source.alias_or_name
            values = [exp.Column(this=exp.Star(), table=exp.to_identifier(name))] if name else [exp.Star()]
        join = exp.Join(this=source.copy(), on=merge.args["on"].copy())
        yield Change(_select(values, merge.this, [join], where, merge.args.get("with_")), takes_all)


def _inserted(insert: exp.Insert) -> list[exp.Expr]:
    if not (isinstance(insert.this, exp.Tuple) and isinstance(insert.expression, exp.Tuple)):
        return []
    pairs = zip(insert.this.expressions, insert.expression.expressions, strict=False)
    return [_called(value, column.name) for column, value in pairs]


def _set(assignments: Iterable[exp.Expr]) -> list[exp.Expr]:
    return [
        _called(each.expression, each.this.name)
        for each in assignments
        if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column)
    ]


def _called(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value.copy(), alias=exp.to_identifier(name, quoted=True))


def _select(
    values: list[exp.Expr],
    target: exp.Expr,
    joins: list[exp.Join],
    where: exp.Expr | None,
    with_: exp.Expr | None,
) -> exp.Select:
    return exp.Select(
        expressions=values or [_called(exp.Null(), "nothing")],
        from_=exp.From(this=target.copy()),
        joins=joins,
        **({"where": where.copy()} if where is not None else {}),
        **({"with_": with_.copy()} if with_ is not None else {}),
    )
