"""Facts in the clauses of parsed statements. Pure."""

from collections.abc import Container, Iterable

from sqlglot import exp

from lineage_merge.column_lineage.sql.platforms import TSQL
from lineage_merge.column_lineage.sql.tables import fold

# What USE of Snowflake may select instead of a database.
_NO_DATABASE = frozenset({"ROLE", "WAREHOUSE"})


def is_value(table: exp.Table) -> bool:
    """Return whether ``o.items`` in FROM is a column of a preceding table."""
    parts = table.parts
    if len(parts) < 2:
        return False
    select = table.find_ancestor(exp.Select)
    if select is None:
        return False
    clause = select.args.get("from_")
    around = [clause.this] if clause is not None else []
    around += [join.this for join in select.args.get("joins") or ()]
    names = {fold(other.alias) for other in around if other is not table and other.alias}
    return fold(parts[0].name) in names


def is_ddl(tree: object) -> bool:
    """Return whether a statement creates a table without a query, or selects a database."""
    if isinstance(tree, exp.Create):
        return not isinstance(tree.expression, exp.Query | exp.Values | exp.Table)
    return isinstance(tree, exp.Use | exp.Alter | exp.Drop)


def find_used_database(use: exp.Use, platform: str) -> tuple[str, ...] | None:
    """Return the database (and schema) that USE selects; None for a role or a warehouse."""
    kind = use.args.get("kind")
    if not isinstance(use.this, exp.Table) or (kind is not None and kind.name.upper() in _NO_DATABASE):
        return None
    parts = tuple(part.name for part in use.this.parts)
    return (*parts, "dbo") if platform in TSQL else parts


def complete_inserts(tree: exp.Expr) -> None:
    """Make the query of each INSERT self-contained: with the CTEs and the FROM that precede it."""
    if isinstance(tree, exp.MultitableInserts):
        for insert in tree.expressions:
            if isinstance(insert.expression, exp.Select):
                insert.expression.set("from_", exp.From(this=tree.args["source"].copy()))
                _add_ctes(insert.expression, tree.args.get("with_"))
    elif isinstance(tree, exp.Insert):
        _add_ctes(tree.expression, tree.args.get("with_"))


def name_tables_of_tsql(tree: exp.Expr) -> None:
    """Name table variables ``@ids`` and temporary tables ``#ids``, and complete ``db..t``."""
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Parameter):
            table.set("this", exp.to_identifier(f"@{table.this.name}", quoted=True))
        if table.args.get("catalog") and not table.args.get("db"):
            table.set("db", exp.to_identifier("dbo"))
    for name in list(tree.find_all(exp.Identifier)):
        if name.args.get("temporary") or name.args.get("global_"):
            name.replace(exp.to_identifier(f"#{name.name}", quoted=True))


def _add_ctes(query: object, clause: exp.Expr | None) -> None:
    if clause is None or not isinstance(query, exp.Query):
        return
    own = query.args.get("with_")
    merged = clause.copy()
    if own is not None:
        merged.set("expressions", [*merged.expressions, *own.expressions])
    query.set("with_", merged)


def paths_of_copy(copy: exp.Copy) -> list[str]:
    """Return the paths of files that a COPY reads; Snowflake's parser has them as tables."""
    return [path for file in copy.args.get("files") or () if (path := literal_of(file))]


def literal_of(node: object) -> str:
    """Return the text of a literal, or of one in the place of a table, else ""."""
    literal = node.this if isinstance(node, exp.Table) else node
    return literal.name if isinstance(literal, exp.Literal) else ""


def stage_of(table: object) -> str:
    """Return the name of a stage of Snowflake, with its folder: ``@stage/folder``; "" for others."""
    name = table.this if isinstance(table, exp.Table) else None
    return name.name if isinstance(name, exp.Var) and name.name.startswith("@") else ""


def uris_of(properties: Iterable[exp.Expr], names: Container[str] = ("uri", "uris")) -> list[str]:
    """Return the paths in options, such as BigQuery's `uri` and `uris`."""
    paths: list[str] = []
    for option in properties:
        value = option.args.get("value")
        if option.name.lower() in names and isinstance(value, exp.Expr):
            literals = value.expressions if isinstance(value, exp.Array) else [value]
            paths += [path.name for path in literals if isinstance(path, exp.Literal)]
    return paths


def location_of(create: exp.Create) -> str:
    """Return the path in a CREATE, "" without one."""
    location = create.find(exp.LocationProperty)
    if location is not None and isinstance(location.this, exp.Expr):
        return str(location.this.name)
    for stored in create.find_all(exp.Property):  # Athena's
        value = stored.args.get("value")
        if stored.name.lower() == "external_location" and isinstance(value, exp.Expr):
            return str(value.name)
    if uris := uris_of(create.find_all(exp.Property)):
        return uris[0]
    for options in create.find_all(exp.OptionsProperty):
        for expression in options.expressions:
            if expression.name.lower() == "path" and isinstance(expression.args.get("value"), exp.Expr):
                return str(expression.args["value"].name)
    return ""
