"""Filters, joins and grouping of a query as comparable texts. Pure; needs sqlglot.

Names of CTEs and aliases, comments, the order of conditions and the case of names do not count.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage.sql.parsing import run_with_deep_stack
from lineage_merge.review.query_sources import (
    QuerySources,
    SelectPlace,
    plain,
    remove_qualifiers,
    text_of,
    write_expression,
)

FILTER = "filter"
JOIN = "join"
GROUPING = "grouping"
SET = "set operation"
LIMIT = "limit"
EXPRESSION = "expression"
# Parts of a query that are neither columns nor clauses.
_OTHERS = (exp.Order, exp.Offset, exp.Lateral, exp.Unnest, exp.Values, exp.Pivot, exp.TableSample)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, order=True)
class QueryClause:
    """A condition, join or expression: its kind, and its text without aliases.

    `sources`: those of its columns, in their order; `shown`: its text with aliases; `column`: that of an
    expression in the SELECT list.
    """

    kind: str
    text: str
    sources: tuple[str, ...] = ()
    column: str = ""
    shown: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ComparableQuery:
    """The clauses of a query with their numbers, its whole text, and the rest that they do not contain.

    `expressions`: those whose columns have sources; `placed`: filters and groupings with their places;
    `sources`: all that its SELECTs read. `is_parsed` false: only the text is known.
    """

    text: str
    clauses: Counter[QueryClause] = field(default_factory=Counter)
    rest: str = ""
    is_parsed: bool = True
    expressions: Counter[QueryClause] = field(default_factory=Counter)
    placed: Counter[tuple[QueryClause, SelectPlace]] = field(default_factory=Counter)
    sources: frozenset[str] = frozenset()


def query_of(
    sql: str | exp.Expr, dialect: Dialect, relations: Mapping[tuple[str, ...], str] | None = None
) -> ComparableQuery:
    """Return the clauses of a query or parsed statement. `relations`: names of tables by their folded parts.

    Only its text (of a parsed statement: nothing) if it is invalid, or nested too deeply.
    """
    try:
        return run_with_deep_stack(lambda: _query(sql, dialect, relations or {}))
    except (SqlglotError, RecursionError, ValueError):
        text = " ".join(sql.split()) if isinstance(sql, str) else ""
        return ComparableQuery(text, rest=text, is_parsed=False)


def _query(
    sql: str | exp.Expr, dialect: Dialect, relations: Mapping[tuple[str, ...], str]
) -> ComparableQuery:
    trees = filter(None, dialect.parse(sql) if isinstance(sql, str) else [sql.copy()])
    tree = next(trees, None)
    if tree is None:
        return ComparableQuery("")
    for node in tree.walk():
        node.comments = None
        if isinstance(node, exp.Identifier) and _PLAIN_NAME.fullmatch(node.name):
            node.set("quoted", False)
    sources = QuerySources(tree, dialect)
    _name_tables(tree, relations, sources)
    of_select = {id(select): list(_clauses_of(select, sources)) for select in tree.find_all(exp.Select)}
    clauses = Counter(clause for listed in of_select.values() for clause in listed)
    for union in tree.find_all(exp.SetOperation):
        distinct = "" if union.args.get("distinct") else " all"
        clauses[QueryClause(SET, f"{type(union).__name__.lower()}{distinct}")] += 1
    for limit in tree.find_all(exp.Limit, exp.Fetch):
        clauses[QueryClause(LIMIT, text_of(limit, dialect))] += 1
    placed = Counter(
        (clause, place)
        for select, place in sources.places()
        for clause in of_select.get(id(select), ())
        if clause.kind != JOIN
    )
    return ComparableQuery(
        text_of(_anonymous(tree, sources), dialect),
        clauses,
        "\n".join(sorted(set(_rest(tree, sources)))),
        expressions=Counter(_expressions(tree, sources)),
        placed=placed,
        sources=sources.all(),
    )


def _expressions(tree: exp.Expr, sources: QuerySources) -> Iterator[QueryClause]:
    """Yield what the SELECT lists compute, columns of tables that are read twice, and orders."""
    for select in tree.find_all(exp.Select):
        for expression in select.expressions:
            value = expression.unalias()
            if not isinstance(value, exp.Column) or sources.is_ambiguous(value):
                clause = _clause(EXPRESSION, value, sources, expression.alias_or_name.lower())
                if any(clause.sources):
                    yield clause
    for node in tree.find_all(exp.Order, exp.Lateral, exp.Unnest, exp.Pivot):
        if not node.find_ancestor(exp.Window):
            yield _clause(EXPRESSION, node, sources)


def _rest(tree: exp.Expr, sources: QuerySources) -> Iterator[str]:
    """Yield texts of what neither columns nor clauses contain: constants, orders, sources without a name.

    Independent of the order of columns, and of CTEs and subqueries that only pass columns on.
    """
    for select in tree.find_all(exp.Select):
        around = select.parent
        while isinstance(around, exp.Subquery | exp.Paren):
            around = around.parent
        in_set = isinstance(around, exp.SetOperation)
        for position, expression in enumerate(select.expressions):
            value = expression.unalias()
            if not isinstance(value, exp.Column | exp.Star):
                # In a set operation, positions determine the column.
                place = f"{position}: " if in_set else ""
                yield place + text_of(value if in_set else expression, sources.dialect)
    yield from (text_of(node, sources.dialect) for node in tree.find_all(*_OTHERS))
    yield from (f"from {relation}" for relation in sources.find_below(tree))


def _name_tables(tree: exp.Expr, relations: Mapping[tuple[str, ...], str], sources: QuerySources) -> None:
    """Replace the names of relations by those of `relations`, which a move does not change."""
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier) or sources.cte_of(table) is not None:
            continue
        parts = tuple(part.name.lower() for part in table.parts)
        if name := relations.get(parts):
            alias = table.alias or parts[-1]
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", None)
            table.set("catalog", None)
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))


def _clauses_of(select: exp.Select, sources: QuerySources) -> Iterator[QueryClause]:
    for key in ("where", "having", "qualify"):
        if clause := select.args.get(key):
            for condition in _conditions(clause.this):
                yield _clause(FILTER, condition, sources)
    for join in select.args.get("joins") or ():
        # A condition of a comma join is in the filter.
        kind = " ".join(
            word.lower()
            for word in (join.method, join.side, join.kind)
            if word and word.upper() not in ("OUTER", "INNER")
        )
        on = join.args.get("on")
        using = join.args.get("using") or ()
        parts = [_clause(JOIN, condition, sources) for condition in _conditions(on)] if on else []
        equal = [f"{column.name.lower()} = {column.name.lower()}" for column in using]
        parts += [QueryClause(JOIN, text, ("", ""), shown=text) for text in equal]
        start = f"{kind or 'inner'} join {sources.name_below(join.this)}{' on ' if parts else ''}"
        yield _join(JOIN, start, " and ", parts)
    if group := select.args.get("group"):
        keys = [_clause(GROUPING, key, sources) for key in _list_groups(select, group)]
        yield _join(GROUPING, "group by ", ", ", keys)
    if select.args.get("distinct"):
        yield QueryClause(GROUPING, "distinct")


def _clause(kind: str, node: exp.Expr, sources: QuerySources, column: str = "") -> QueryClause:
    text = write_expression(node, sources.dialect)
    shown = plain(text, is_qualified=True)
    return QueryClause(kind, remove_qualifiers(text), sources.list_column_sources(node), column, shown)


def _join(kind: str, start: str, separator: str, parts: Iterable[QueryClause]) -> QueryClause:
    """Return one clause of several, in the order of their texts."""
    ordered = sorted(parts)
    text = start + separator.join(part.text for part in ordered)
    shown = start + separator.join(part.shown for part in ordered)
    return QueryClause(kind, text, tuple(source for part in ordered for source in part.sources), shown=shown)


def _list_groups(select: exp.Select, group: exp.Expr) -> Iterator[exp.Expr]:
    for argument, value in group.args.items():
        for key in value if isinstance(value, list) else [value]:
            if isinstance(key, exp.Literal) and key.is_int and argument == "expressions":
                at = int(key.name) - 1
                yield select.expressions[at].unalias() if 0 <= at < len(select.expressions) else key
            elif isinstance(key, exp.Expr):
                yield key


def _conditions(condition: exp.Expr) -> Iterator[exp.Expr]:
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        for part in inner.flatten():
            yield from _conditions(part)
    else:
        yield inner


def _anonymous(tree: exp.Expr, sources: QuerySources) -> exp.Expr:
    """Return a copy of a query with numbered CTEs and without aliases of tables."""
    copy = tree.copy()
    numbers = {id(cte): f"cte{number}" for number, cte in enumerate(copy.find_all(exp.CTE))}
    tables = [(table, sources.cte_of(table)) for table in copy.find_all(exp.Table)]
    for cte in list(copy.find_all(exp.CTE)):
        cte.args["alias"].set("this", exp.to_identifier(numbers[id(cte)]))
    for table, of_cte in tables:
        if isinstance(table.this, exp.Identifier) and not table.args.get("db"):
            name = table.name if of_cte is None else numbers[id(of_cte)]
            table.set("this", exp.to_identifier(name, quoted=False))
    for source in list(copy.find_all(exp.Table, exp.TableFromRows, exp.Subquery)):
        alias = source.args.get("alias")
        if alias is not None and not alias.args.get("columns"):
            source.set("alias", None)
    for join in copy.find_all(exp.Join):
        if (join.kind or "").upper() in ("OUTER", "INNER"):
            join.set("kind", None)
    return copy
