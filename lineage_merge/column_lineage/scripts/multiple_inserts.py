"""INSERT of one query into several tables: Hive's FROM ... INSERT, INSERT ALL. Pure."""

from collections.abc import Iterator

from sqlglot import exp

_SOURCE = "source"


def inserts_of(inserts: exp.MultitableInserts) -> Iterator[exp.Insert]:
    """Yield an INSERT for each target, complete with its query.

    WHEN is a filter. Of INSERT FIRST and ELSE, the conditions before decide too.
    """
    before: list[exp.Expr] = []
    current: list[exp.Expr] = []  # of the last WHEN: several INTO may follow it
    first = (inserts.args.get("kind") or "").upper() == "FIRST"
    for part in inserts.expressions:
        if isinstance(part, exp.Insert):
            yield part
            continue
        if isinstance(part.expression, exp.Expr):
            current = [part.expression, *(before if first else ())]
            before.append(part.expression)
        elif part.args.get("else_"):
            current = before
        yield _insert(part.this, inserts, current)


def _insert(insert: exp.Insert, inserts: exp.MultitableInserts, conditions: list[exp.Expr]) -> exp.Insert:
    source = inserts.args["source"]
    rows = source.this if isinstance(source, exp.Subquery) else source
    values = insert.expression
    is_listed = isinstance(values, exp.Values) and values.expressions
    selected = [value.copy() for value in values.expressions[0].expressions] if is_listed else [exp.Star()]
    alias = exp.TableAlias(this=exp.to_identifier(_SOURCE))
    query = exp.Select(expressions=selected, from_=exp.From(this=exp.Subquery(this=rows.copy(), alias=alias)))
    if conditions:
        query.set("where", exp.Where(this=exp.and_(*conditions)))
    return exp.Insert(this=insert.this.copy(), expression=query)
