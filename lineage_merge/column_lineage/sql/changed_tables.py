"""The table that UPDATE or DELETE changes, which may be the alias of a join, or a CTE. Pure."""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from lineage_merge.column_lineage.sql.tables import fold


def find_joined_tables(item: exp.Expr) -> Iterator[exp.Expr]:
    """Yield an item of FROM and those joined to it."""
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table):  # parentheses around joins
        yield from find_joined_tables(item.this)
    else:
        yield item
    for join in item.args.get("joins") or ():
        yield from find_joined_tables(join.this)


def find_named_table(target: exp.Expr, items: Iterable[exp.Expr], *, by_name: bool) -> exp.Table | None:
    """Return the table in FROM that a target refers to, by its alias or its name without an alias.

    `by_name`: also by its name if it has an alias, as in T-SQL. Elsewhere this is another instance of it.
    """
    tables = [table for item in items for table in find_joined_tables(item) if isinstance(table, exp.Table)]
    if not isinstance(target, exp.Table):
        return None
    for table in tables:
        is_alias = fold(table.alias) == fold(target.name) and not target.db
        if is_alias if table.alias else _is_same(table, target):
            return table
    same = [table for table in tables if _is_same(table, target)]
    return same[0] if by_name and len(same) == 1 else None


def base_of(table: exp.Expr, with_: exp.Expr | None) -> tuple[exp.Expr, dict[str, str]]:
    """Return the table whose rows a CTE has, and its columns by their names (folded) in the CTE.

    Other tables are returned as they are.
    """
    ctes = {fold(cte.alias): cte.this for cte in with_.expressions} if with_ is not None else {}
    columns: dict[str, str] = {}
    while isinstance(table, exp.Table) and not table.db:
        query = ctes.pop(fold(table.name), None)
        clause = query.args.get("from_") if isinstance(query, exp.Select) else None
        if clause is None:
            break
        renamed = {
            fold(select.alias_or_name): select.unalias().name
            for select in query.selects
            if isinstance(select.unalias(), exp.Column) and not select.is_star
        }
        columns = {name: renamed.get(fold(inner), inner) for name, inner in columns.items()} or renamed
        table = clause.this
    return table, columns


def _is_same(table: exp.Table, target: exp.Table) -> bool:
    """Return whether two names are of one table; one of them may have fewer parts."""
    parts, wanted = ([fold(part.name) for part in name.parts] for name in (table, target))
    length = min(len(parts), len(wanted))
    return parts[-length:] == wanted[-length:]
