"""The select list: columns, their names, and the expansion of ``*``."""

from collections.abc import Callable

from sqlglot import exp

from lineage_merge.column_lineage.sql.derivation import Derivation
from lineage_merge.column_lineage.sql.items import replaced, star, without
from lineage_merge.column_lineage.sql.scope import Item, Named, Scope
from lineage_merge.column_lineage.sql.tables import AllColumns, fold
from lineage_merge.column_lineage.sql.values import Values

# Platforms where a select expression may use the alias of a preceding one.
_LATERAL_ALIASES = frozenset(
    {"redshift", "snowflake", "duckdb", "spark", "spark2", "databricks", "clickhouse", "teradata", "dremio"}
)
_NAMED_AFTER_FUNCTION = (
    exp.Abs,
    exp.Avg,
    exp.Coalesce,
    exp.Count,
    exp.Lower,
    exp.Max,
    exp.Min,
    exp.Round,
    exp.RowNumber,
    exp.Sum,
    exp.Upper,
)


class Projections:
    """Reads the select lists of one model or statement."""

    def __init__(self, platform: str, values: Values, note: Callable[[str, str], None]) -> None:
        self._platform = platform
        self._values = values
        self._note = note

    def read(self, query: exp.Select, scope: Scope) -> list[Item]:
        """Return the columns of the SELECT, and add their aliases to `scope` for other clauses."""
        items: list[Item] = []
        aliases: dict[str, Derivation] = {}
        early = self._platform in _LATERAL_ALIASES
        for part in query.expressions:
            if isinstance(part, exp.Aliases):
                derivation = self._values.trace(part.this, scope)
                items += [Named(name.name, derivation) for name in part.expressions]
            elif isinstance(part, exp.Star) or (
                isinstance(part, exp.Column | exp.Dot) and isinstance(_last(part), exp.Star)
            ):
                items += self._expanded(part, scope)
            elif part.find(exp.Columns) or (isinstance(part, exp.Binary) and isinstance(part.this, exp.Star)):
                self._note("selects columns by a pattern", "")
                items.append(AllColumns(None))
            else:
                derivation = self._values.trace(part, scope)
                name = self._name(part)
                items.append(Named(name, derivation))
                aliases.setdefault(fold(name), derivation)
                if early and isinstance(part, exp.Alias):
                    scope.aliases.setdefault(fold(name), derivation)
        scope.aliases = aliases
        exclude = query.args.get("exclude")
        if exclude:
            names = exclude if isinstance(exclude, list) else exclude.expressions or [exclude]
            items = without(items, {fold(name.name) for name in names})
        return items

    def _name(self, part: exp.Expr) -> str:
        part = part.unnest()
        name: str = part.alias_or_name if isinstance(part, exp.Alias | exp.Column) else ""
        if isinstance(part, exp.Dot):
            name = part.expression.name
        if not name and self._platform in ("postgres", "redshift"):
            if isinstance(part, exp.Cast) and isinstance(part.this, exp.Column) and part.this.name != "*":
                name = part.this.name
            elif isinstance(part, exp.Case):
                name = "case"
            elif isinstance(part, _NAMED_AFTER_FUNCTION):
                name = part.sql_name().lower()
        return name

    def _expanded(self, part: exp.Expr, scope: Scope) -> list[Item]:
        last = _last(part)
        if part is last:
            items = star(scope)
        else:
            path = tuple(fold(step.name) for step in _parts(part)[:-1])
            source = next((found for inner in scope.chain() if (found := inner.named(path))), None)
            if source is None:  # the fields of a struct
                if isinstance(part, exp.Column) and len(path) == 1:
                    self._values.column(exp.column(_parts(part)[0]), scope)
                return [AllColumns(None)]
            items = list(source.relation.items)
        if last.args.get("ilike"):
            self._note("selects columns by a pattern", "")
            return [AllColumns(None)]
        hidden = {fold(name.name) for name in last.args.get("except_") or ()}
        items = without(items, hidden) if hidden else items
        for alias in last.args.get("replace") or ():
            items = replaced(items, alias.alias, alias.alias, self._values.trace(alias, scope))
        for alias in last.args.get("rename") or ():
            derivation, _ = self._values.column(alias.this, scope)
            items = replaced(items, alias.this.name, alias.alias, derivation)
        return items


def _last(part: exp.Expr) -> exp.Expr:
    last = part
    if isinstance(part, exp.Column):
        last = part.this
    elif isinstance(part, exp.Dot):
        last = part.expression
    return last


def _parts(part: exp.Expr) -> list[exp.Expr]:
    return part.parts if isinstance(part, exp.Column | exp.Dot) else [part]
