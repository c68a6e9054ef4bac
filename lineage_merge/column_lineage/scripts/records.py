"""Records of procedures: rows of a loop's query or a cursor, whose columns a statement uses. Pure."""

from collections.abc import Container, Set

from sqlglot import exp

from lineage_merge.column_lineage.sql.tables import fold


def table_of_record(name: str) -> exp.Table:
    """Return the table that represents a record; no table of a script has its name."""
    return exp.Table(
        this=exp.to_identifier(f":{name}", quoted=True), alias=exp.TableAlias(this=exp.to_identifier(name))
    )


def join_records(tree: exp.Expr, records: Set[str]) -> exp.Expr:
    """Return the statement with each record that it uses as a joined table; itself if it uses none."""
    relations = {fold(table.alias_or_name) for table in tree.find_all(exp.Table, exp.Subquery)}
    used = {fold(column.table) for column in tree.find_all(exp.Column)} & (records - relations)
    if not used:
        return tree
    tree = tree.copy()
    _select_values(tree, used)
    joined: set[tuple[int, str]] = set()
    for column in list(tree.find_all(exp.Column)):
        name = fold(column.table)
        reader = column.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Merge)
        if reader is not None and isinstance(reader.parent, exp.When):
            reader = reader.find_ancestor(exp.Merge)
        if name in used and reader is not None and (id(reader), name) not in joined:
            joined.add((id(reader), name))
            _join(reader, table_of_record(name))
    return tree


def _select_values(tree: exp.Expr, records: Container[str]) -> None:
    """Replace the single row of VALUES that uses records by a SELECT of it."""
    values = tree.expression if isinstance(tree, exp.Insert) else None
    if isinstance(values, exp.Values) and len(values.expressions) == 1:
        row = values.expressions[0]
        if any(fold(column.table) in records for column in row.find_all(exp.Column)):
            values.replace(exp.Select(expressions=[expression.copy() for expression in row.expressions]))


def _join(reader: exp.Expr, table: exp.Table) -> None:
    if isinstance(reader, exp.Delete):
        reader.set("using", [*(reader.args.get("using") or ()), table])
        return
    if isinstance(reader, exp.Merge):
        reader.args["using"].append("joins", exp.Join(this=table))
        return
    clause = reader.args.get("from_")
    if clause is None:
        reader.set("from_", exp.From(this=table))
    elif isinstance(reader, exp.Update):
        clause.this.append("joins", exp.Join(this=table))
    else:
        reader.append("joins", exp.Join(this=table))
