"""Filters, joins and grouping of a query as comparable texts. Pure; needs sqlglot.

Names of CTEs and aliases, comments, the order of conditions and the case of names do not count.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage.sql.parsing import with_deep_stack
from lineage_merge.review.qualifiers import Qualifiers, SelectPlace
from lineage_merge.review.relations import Relations, plain, text_of, without_qualifiers, written

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
    clauses: Mapping[QueryClause, int]
    rest: str = ""
    is_parsed: bool = True
    expressions: Mapping[QueryClause, int] = field(default_factory=dict)
    placed: Mapping[tuple[QueryClause, SelectPlace], int] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()


def query_of(sql: str, dialect: Dialect, relations: Mapping[tuple[str, ...], str]) -> ComparableQuery:
    """Return the clauses of a query. `relations`: names of tables by their folded parts."""
    try:
        return with_deep_stack(lambda: _query(sql, dialect, relations))
    except (SqlglotError, RecursionError, ValueError):
        text = " ".join(sql.split())
        return ComparableQuery(text, {}, text, is_parsed=False)


def parts_of(relation: str, dialect: Dialect) -> tuple[str, ...]:
    """Return the folded parts of a relation's name; () if it is no name."""
    try:
        table = exp.to_table(relation, dialect=dialect)
    except (SqlglotError, ValueError):
        return ()
    return tuple(part.name.lower() for part in table.parts)


def _query(sql: str, dialect: Dialect, relations: Mapping[tuple[str, ...], str]) -> ComparableQuery:
    statements = [each for each in dialect.parse(sql) if each is not None]
    if not statements:
        return ComparableQuery("", {})
    return _of_tree(statements[0], dialect, relations)


def query_of_tree(tree: exp.Expr, dialect: Dialect) -> ComparableQuery:
    """Return the clauses of a parsed statement; only an empty text if it is nested too deeply."""
    try:
        return with_deep_stack(lambda: _of_tree(tree.copy(), dialect, {}))
    except (SqlglotError, RecursionError, ValueError):
        return ComparableQuery("", {}, is_parsed=False)


def _of_tree(tree: exp.Expr, dialect: Dialect, relations: Mapping[tuple[str, ...], str]) -> ComparableQuery:
    for node in tree.walk():
        node.comments = None
        if isinstance(node, exp.Identifier) and _PLAIN_NAME.fullmatch(node.name):
            node.set("quoted", False)
    reads = Relations(dialect)
    _name_tables(tree, relations, reads)
    qualifiers = Qualifiers(tree, reads)
    found: Counter[QueryClause] = Counter()
    of_select: dict[int, list[QueryClause]] = {}
    for select in tree.find_all(exp.Select):
        of_select[id(select)] = list(_clauses_of(select, reads, dialect, qualifiers))
        found.update(of_select[id(select)])
    for union in tree.find_all(exp.SetOperation):
        distinct = "" if union.args.get("distinct") else " all"
        found[QueryClause(SET, f"{type(union).__name__.lower()}{distinct}")] += 1
    for limit in tree.find_all(exp.Limit, exp.Fetch):
        found[QueryClause(LIMIT, text_of(limit, dialect))] += 1
    placed = Counter(
        (clause, place)
        for select, place in qualifiers.places()
        for clause in of_select.get(id(select), ())
        if clause.kind != JOIN
    )
    text = text_of(_anonymous(tree, reads), dialect)
    return ComparableQuery(
        text,
        dict(found),
        "\n".join(sorted(set(_rest(tree, reads, dialect)))),
        expressions=dict(Counter(_expressions(tree, dialect, qualifiers))),
        placed=dict(placed),
        sources=qualifiers.all(),
    )


def _expressions(tree: exp.Expr, dialect: Dialect, qualifiers: Qualifiers) -> Iterator[QueryClause]:
    """Yield what the SELECT lists compute, columns of tables that are read twice, and orders."""
    for select in tree.find_all(exp.Select):
        for expression in select.expressions:
            value = expression.unalias()
            if not isinstance(value, exp.Column) or qualifiers.is_ambiguous(value):
                clause = _clause(EXPRESSION, value, dialect, qualifiers, expression.alias_or_name.lower())
                if any(clause.sources):
                    yield clause
    for node in tree.find_all(exp.Order, exp.Lateral, exp.Unnest, exp.Pivot):
        if not node.find_ancestor(exp.Window):
            yield _clause(EXPRESSION, node, dialect, qualifiers)


def _rest(tree: exp.Expr, reads: Relations, dialect: Dialect) -> Iterator[str]:
    """Yield texts of what neither columns nor clauses contain: constants, orders, sources without a name.

    Independent of the order of columns, and of CTEs and subqueries that only pass columns on.
    """
    for select in tree.find_all(exp.Select):
        around = select.parent
        while isinstance(around, exp.Subquery | exp.Paren):
            around = around.parent
        in_set = isinstance(around, exp.SetOperation)
        for position, each in enumerate(select.expressions):
            if not isinstance(each.unalias(), exp.Column | exp.Star):
                # In a set operation, positions determine the column.
                shown = f"{position}: " if in_set else ""
                yield shown + text_of(each.unalias() if in_set else each, dialect)
    for node in tree.find_all(*_OTHERS):
        yield text_of(node, dialect)
    yield from (f"from {relation}" for relation in reads.below(tree))


def _name_tables(tree: exp.Expr, relations: Mapping[tuple[str, ...], str], reads: Relations) -> None:
    """Replace the names of relations by those of `relations`, which a move does not change."""
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier) or reads.cte_of(table) is not None:
            continue
        parts = tuple(part.name.lower() for part in table.parts)
        if name := relations.get(parts):
            alias = table.alias or parts[-1]
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", None)
            table.set("catalog", None)
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))


def _clauses_of(
    select: exp.Select, reads: Relations, dialect: Dialect, qualifiers: Qualifiers
) -> Iterator[QueryClause]:
    for key in ("where", "having", "qualify"):
        if clause := select.args.get(key):
            for condition in _conditions(clause.this):
                yield _clause(FILTER, condition, dialect, qualifiers)
    for join in select.args.get("joins") or ():
        # A condition of a comma join is in the filter.
        kind = " ".join(
            word.lower()
            for word in (join.method, join.side, join.kind)
            if word and word.upper() not in ("OUTER", "INNER")
        )
        on = join.args.get("on")
        using = join.args.get("using") or ()
        parts = [_clause(JOIN, each, dialect, qualifiers) for each in _conditions(on)] if on else []
        equal = [f"{each.name.lower()} = {each.name.lower()}" for each in using]
        parts += [QueryClause(JOIN, each, ("", ""), shown=each) for each in equal]
        source = "+".join(sorted(reads.below(join.this)))
        start = f"{kind or 'inner'} join {source}{' on ' if parts else ''}"
        yield _joined(JOIN, start, " and ", parts)
    if group := select.args.get("group"):
        keys = [_clause(GROUPING, each, dialect, qualifiers) for each in _grouped(select, group)]
        yield _joined(GROUPING, "group by ", ", ", keys)
    if select.args.get("distinct"):
        yield QueryClause(GROUPING, "distinct")


def _clause(
    kind: str, node: exp.Expr, dialect: Dialect, qualifiers: Qualifiers, column: str = ""
) -> QueryClause:
    text = written(node, dialect)
    shown = plain(text, is_qualified=True)
    return QueryClause(kind, without_qualifiers(text), qualifiers.of(node), column, shown)


def _joined(kind: str, start: str, separator: str, parts: Iterable[QueryClause]) -> QueryClause:
    """Return one clause of several, in the order of their texts."""
    ordered = sorted(parts)
    texts = [
        start + separator.join(texts) for texts in zip(*((e.text, e.shown) for e in ordered), strict=True)
    ]
    text, shown = texts or (start, start)
    return QueryClause(kind, text, tuple(source for part in ordered for source in part.sources), shown=shown)


def _grouped(select: exp.Select, group: exp.Expr) -> Iterator[exp.Expr]:
    for key, value in group.args.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, exp.Expr):
                continue
            shown: exp.Expr = each
            if isinstance(each, exp.Literal) and each.is_int and key == "expressions":
                at = int(each.name) - 1
                if 0 <= at < len(select.expressions):
                    shown = select.expressions[at].unalias()
            yield shown


def _conditions(condition: exp.Expr) -> Iterator[exp.Expr]:
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        for each in inner.flatten():
            yield from _conditions(each)
    else:
        yield inner


def _anonymous(tree: exp.Expr, reads: Relations) -> exp.Expr:
    """Return a copy of a query with numbered CTEs and without aliases of tables."""
    copy = tree.copy()
    numbers = {id(cte): f"cte{number}" for number, cte in enumerate(copy.find_all(exp.CTE))}
    tables = [(table, reads.cte_of(table)) for table in copy.find_all(exp.Table)]
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
