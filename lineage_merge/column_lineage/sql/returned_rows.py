"""Rows that a data-modifying statement returns: RETURNING in a CTE, OUTPUT ... INTO of T-SQL. Pure.

A statement with such parts becomes several: the CTEs that modify data, then the statement, which reads
queries in their place, then an INSERT of what it returns.
"""

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from lineage_merge.column_lineage.sql.row_changes import changes_of
from lineage_merge.column_lineage.sql.tables import fold

# The known columns of a table in order, and whether it has no others.
ColumnsOf = Callable[[exp.Table], tuple[Sequence[str], bool]]

_MODIFYING = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_INSERTED = "inserted"
_NEW = frozenset({"inserted", "new"})
_OLD = frozenset({"deleted", "old"})


def parts_of(tree: exp.Expr, columns_of: ColumnsOf, *, by_name: bool = False) -> Iterator[exp.Expr]:
    """Yield the statements that a statement consists of, in order; itself if it has no such parts.

    `by_name`: as in `changed_tables.named_table`.
    """
    if _has_modifying_ctes(tree):
        tree = tree.copy()
        for clause in _find_with_clauses(tree):
            yield from _split_ctes(clause, columns_of, by_name=by_name)
    yield tree
    returning = tree.args.get("returning")
    target = returning.args.get("into") if returning is not None else None
    if isinstance(target, exp.Table | exp.Schema):
        query = select_returned(tree, columns_of, by_name=by_name)
        if query is not None:
            yield exp.Insert(this=target.copy(), expression=query)


def _find_with_clauses(tree: exp.Expr) -> list[exp.With]:
    nodes = (tree, tree.expression if isinstance(tree, exp.Insert | exp.Create) else None)
    return [
        clause
        for node in nodes
        if isinstance(node, exp.Expr) and isinstance(clause := node.args.get("with_"), exp.With)
    ]


def _has_modifying_ctes(tree: exp.Expr) -> bool:
    return any(
        isinstance(cte.this, _MODIFYING) for clause in _find_with_clauses(tree) for cte in clause.expressions
    )


def _split_ctes(clause: exp.With, columns_of: ColumnsOf, *, by_name: bool) -> Iterator[exp.Expr]:
    """Yield the CTEs that modify data, each with the CTEs before it, and replace them by what they return."""
    before: list[exp.Expr] = []
    for cte in clause.expressions:
        statement = cte.this
        if isinstance(statement, _MODIFYING):
            query = select_returned(statement, columns_of, by_name=by_name) or exp.select(exp.null())
            alone = statement.copy()
            if before:
                holder = alone.expression if isinstance(alone, exp.Insert) else alone
                holder.set("with_", exp.With(expressions=[other.copy() for other in before]))
            yield alone
            cte.set("this", query)
        before.append(cte)


def select_returned(tree: exp.Expr, columns_of: ColumnsOf, *, by_name: bool = False) -> exp.Query | None:
    """Return the rows that an INSERT, UPDATE, DELETE or MERGE returns as a query; None without RETURNING."""
    returning = tree.args.get("returning")
    if returning is None:
        return None
    expressions: list[exp.Expr] = returning.expressions
    if isinstance(tree, exp.Insert):
        return _select_inserted(tree, expressions, columns_of)
    result: exp.Query | None = None
    for change in changes_of(tree, by_name=by_name):
        query = change.query.copy()
        target = change.target
        assigned = {fold(value.alias): value.this for value in query.selects if isinstance(value, exp.Alias)}
        names = columns_of(target) if isinstance(target, exp.Table) else ((), False)
        table = target.alias_or_name

        def new(name: str, assigned: dict[str, exp.Expr] = assigned, table: str = table) -> exp.Expr:
            value = assigned.get(fold(name))
            return exp.column(name, table) if value is None else exp.paren(value)

        query.set("expressions", list(_rewrite_returned(expressions, target, names, new)))
        result = query if result is None else exp.union(result, query, distinct=False, copy=False)
    return result


def _select_inserted(
    insert: exp.Insert, expressions: Sequence[exp.Expr], columns_of: ColumnsOf
) -> exp.Query | None:
    """Return what an INSERT returns: values of its query, generated ones of its target."""
    target = insert.this.this if isinstance(insert.this, exp.Schema) else insert.this
    query = insert.expression
    if not isinstance(target, exp.Table) or not isinstance(query, exp.Query | exp.Values):
        return None
    known, complete = columns_of(target)
    listed = [part.name for part in insert.this.expressions] if isinstance(insert.this, exp.Schema) else []
    names = listed or list(known)
    inserted = {fold(name) for name in names}
    table = target.alias_or_name

    def new(name: str) -> exp.Expr:
        return exp.column(name, _INSERTED if fold(name) in inserted else table)

    selected = list(_rewrite_returned(expressions, target, (known, complete), new))
    alias = exp.TableAlias(
        this=exp.to_identifier(_INSERTED), columns=[exp.to_identifier(name, quoted=True) for name in names]
    )
    rows = query.copy()
    own = exp.Subquery(this=rows, alias=alias) if isinstance(rows, exp.Query) else rows
    own.set("alias", alias)
    result = exp.Select(expressions=selected, from_=exp.From(this=own))
    if any(column.table == table for value in selected for column in value.find_all(exp.Column)):
        result.append("joins", exp.Join(this=target.copy()))
    return result


def _rewrite_returned(
    expressions: Sequence[exp.Expr],
    target: exp.Expr,
    columns: tuple[Sequence[str], bool],
    new: Callable[[str], exp.Expr],
) -> Iterator[exp.Expr]:
    """Yield the returned expressions in terms of what the statement reads.

    `new` returns the value of a column after the change, `columns` the names of the target's.
    """
    known, complete = columns
    own = {"", fold(target.alias_or_name), fold(target.name)}
    for expression in expressions:
        column = expression.unalias()
        if column.is_star:
            qualifier = fold(column.table) if isinstance(column, exp.Column) else ""
            if qualifier in _OLD or (qualifier in own | _NEW and not complete):
                yield exp.Column(this=exp.Star(), table=exp.to_identifier(target.alias_or_name))
            elif qualifier in own | _NEW:
                yield from (exp.alias_(new(name), name, quoted=True) for name in known)
            else:
                yield expression.copy()
            continue
        value = expression.copy()
        name = "" if isinstance(value, exp.Alias) else value.name if isinstance(value, exp.Column) else ""
        for reference in [value] if isinstance(value, exp.Column) else list(value.find_all(exp.Column)):
            qualifier = fold(reference.table)
            if reference.name.startswith("$"):  # T-SQL's $action
                replacement: exp.Expr = exp.null()
            elif qualifier in _OLD:
                replacement = exp.column(reference.name, target.alias_or_name)
            elif qualifier in _NEW | own and (qualifier or _is_of_target(reference.name, known, complete)):
                replacement = new(reference.name)
            else:
                continue
            if reference is value:
                value = replacement
            else:
                reference.replace(replacement)
        yield exp.alias_(value, name, quoted=True) if name else value


def _is_of_target(name: str, known: Sequence[str], complete: bool) -> bool:
    return not complete or fold(name) in {fold(column) for column in known}
