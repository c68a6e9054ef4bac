"""Differences of the columns and queries of one dbt model between two versions. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.review import clause_comparison, clauses
from lineage_merge.review.clauses import Query
from lineage_merge.review.column_comparison import Columns, Input, compare_columns
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.review.findings import Finding, Severity
from lineage_merge.review.sql_text import without_qualifiers
from lineage_merge.sources.dbt.columns import Column, ColumnLineage
from lineage_merge.sources.dbt.nodes import Node

_NO_COLUMNS = ColumnLineage()
_CLAUSES = {"FILTER": clauses.FILTER, "JOIN": clauses.JOIN, "GROUP_BY": clauses.GROUPING}


@dataclass(frozen=True, slots=True)
class Pair:
    """An entry in both versions, with its queries, and new by old unique id of renamed entries."""

    before: DbtVersion
    after: DbtVersion
    old: Node
    new: Node
    old_query: Query
    new_query: Query
    renamed: Mapping[str, str]

    @property
    def title(self) -> str:
        """The name of the dataset before the change."""
        dataset = self.before.datasets.get(self.old.unique_id, "")
        return title_of_id(dataset) if dataset else self.old.name

    def finding(self, kind: str, message: str, severity: Severity = Severity.CHANGED) -> Finding:
        """Return a finding on the dataset."""
        return Finding(
            kind,
            self.title,
            self.new.unique_id,
            message,
            severity,
            dataset=self.before.datasets.get(self.old.unique_id, ""),
            file_path=self.new.metadata.properties.get("file_path", ""),
        )

    def of_column(self, kind: str, column: str, message: str) -> Finding:
        """Return a finding on a column."""
        found = self.finding(kind, message)
        return replace(found, title=f"{self.title}#{column}", column=column)


def columns_of(version: DbtVersion, node: Node) -> tuple[Column, ...]:
    """Return the known columns of an entry."""
    return version.columns.get(node.unique_id, _NO_COLUMNS).columns


def unparsed_findings(pair: Pair) -> Iterator[Finding]:
    """Yield the difference of texts that are not SQL, or that cannot be parsed."""
    if pair.old_query.text != pair.new_query.text:
        what = "SQL" if pair.new.code.language == "sql" else pair.new.code.language.capitalize()
        why = "" if what != "SQL" else "; it cannot be parsed"
        yield pair.finding("query changed", f"the {what} differs{why}: columns and filters are not compared")


def column_findings(pair: Pair) -> tuple[list[Finding], list[str]]:
    """Return the differences of columns, and a note if they are not known in both versions."""
    old = _columns(pair.before, pair.old, pair.renamed)
    new = _columns(pair.after, pair.new, {})
    notes = []
    if old.named and not (old.is_complete and new.is_complete):
        notes.append(f"{pair.new.unique_id}: its columns are not all known: dropped ones are not reported")
    return list(compare_columns(pair.of_column, old, new)), notes


def _columns(version: DbtVersion, node: Node, renamed: Mapping[str, str]) -> Columns:
    lineage = version.columns.get(node.unique_id, _NO_COLUMNS)
    inputs = (
        (each.target_column, Input(renamed.get(each.source, each.source), fold(each.column), how, expression))
        for each in lineage.flows
        for how in [tuple(int(step) for step in each.transformations)]
        for expression in [without_qualifiers(each.expression)]
    )
    return Columns.of(lineage.columns, inputs, lambda source: ".".join(source.split(".")[2:]) or source)


def query_findings(pair: Pair, of_columns: Sequence[Finding]) -> Iterator[Finding]:
    """Yield changed filters, joins, grouping and expressions; or that something else of the query did."""
    found: list[Finding] = []
    changed = clause_comparison.difference(pair.old_query, pair.new_query)
    for kind, (removed, added) in changed.items():
        found.append(_clause(pair, kind, removed, added))
    found += _influences(pair, changed.keys())
    found += _expressions(pair, {each.column.lower() for each in of_columns})
    if not found and not of_columns:
        moved = clause_comparison.moved(pair.old_query, pair.new_query)
        found += [_clause(pair, kind, removed, added) for kind, (removed, added) in moved.items()]
    yield from found
    is_same = pair.old_query.rest == pair.new_query.rest
    if not found and not of_columns and not is_same:
        yield pair.finding("query changed", "the SQL differs; its columns, filters and joins do not")


def _expressions(pair: Pair, reported: Collection[str]) -> Iterator[Finding]:
    """Yield expressions with equal texts that use columns of other sources."""
    known = [
        {fold(each.name) for each in columns_of(version, node)}
        for version, node in ((pair.before, pair.old), (pair.after, pair.new))
    ]
    for expression, before, after in clause_comparison.altered_expressions(pair.old_query, pair.new_query):
        message = f"was {before}, is {after}"
        column = fold(expression.column)
        if column in known[0] & known[1]:
            if column not in reported:
                found = pair.of_column("expression changed", expression.column, message)
                yield replace(found, before=before, after=after)
        elif not reported:
            yield replace(pair.finding("query changed", message), before=before, after=after)


def _clause(pair: Pair, kind: str, removed: Sequence[str], added: Sequence[str]) -> Finding:
    before, after = " and ".join(removed), " and ".join(added)
    message = f"was {before or 'none'}, is {after or 'none'}"
    return replace(pair.finding(f"{kind} changed", message), before=before, after=after)


def _influences(pair: Pair, reported: Iterable[str]) -> Iterator[Finding]:
    """Yield clauses with equal texts that use columns of other relations."""
    known = set(reported)
    versions: tuple[tuple[DbtVersion, Node, Mapping[str, str]], ...] = (
        (pair.before, pair.old, pair.renamed),
        (pair.after, pair.new, {}),
    )
    used: list[dict[str, set[str]]] = []
    for version, node, renamed in versions:
        of_kind: dict[str, set[str]] = {}
        for each in version.columns.get(node.unique_id, _NO_COLUMNS).influences:
            source = renamed.get(each.source, each.source)
            for kind in each.kinds:
                name = f"{'.'.join(source.split('.')[2:]) or source}#{fold(each.column)}"
                of_kind.setdefault(kind.value, set()).add(name)
        used.append(of_kind)
    for kind_name, clause in _CLAUSES.items():
        was, now = used[0].get(kind_name, set()), used[1].get(kind_name, set())
        if was != now and clause not in known:
            yield _clause(pair, clause, sorted(was - now), sorted(now - was))
