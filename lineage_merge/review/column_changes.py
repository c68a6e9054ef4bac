"""Differences of the columns and queries of one dbt model between two versions. Pure."""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.review import clause_comparison
from lineage_merge.review.clauses import ComparableQuery
from lineage_merge.review.column_comparison import ColumnInput, Columns, compare_columns
from lineage_merge.review.dbt_renames import short
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.review.findings import Finding, Subject
from lineage_merge.review.relations import without_qualifiers
from lineage_merge.sources.dbt.columns import Column, ColumnLineage
from lineage_merge.sources.dbt.nodes import Node

_NO_COLUMNS = ColumnLineage()


@dataclass(frozen=True, slots=True)
class DbtPair:
    """An entry in both versions, with its queries, and new by old unique id of renamed entries."""

    before: DbtVersion
    after: DbtVersion
    old: Node
    new: Node
    old_query: ComparableQuery
    new_query: ComparableQuery
    renamed: Mapping[str, str]

    @property
    def subject(self) -> Subject:
        """The dataset before the change."""
        dataset = self.before.datasets.get(self.old.unique_id, "")
        title = title_of_id(dataset) if dataset else self.old.name
        file_path = self.new.metadata.properties.get("file_path", "")
        return Subject(title, self.new.unique_id, dataset, file_path)


def columns_of(version: DbtVersion, node: Node) -> tuple[Column, ...]:
    """Return the known columns of an entry."""
    return version.columns.get(node.unique_id, _NO_COLUMNS).columns


def unparsed_findings(pair: DbtPair) -> Iterator[Finding]:
    """Yield the difference of texts that are not SQL, or that cannot be parsed."""
    if pair.old_query.text != pair.new_query.text:
        what = "SQL" if pair.new.code.language == "sql" else pair.new.code.language.capitalize()
        why = "" if what != "SQL" else "; it cannot be parsed"
        yield pair.subject.finding(
            "query changed", f"the {what} differs{why}: columns and filters are not compared"
        )


def column_findings(pair: DbtPair) -> tuple[list[Finding], list[str]]:
    """Return the differences of columns, and a note if they are not known in both versions."""
    old = _columns(pair.before, pair.old, pair.renamed)
    new = _columns(pair.after, pair.new, {})
    notes = []
    if old.named and not (old.is_complete and new.is_complete):
        notes.append(f"{pair.new.unique_id}: its columns are not all known: dropped ones are not reported")
    return list(compare_columns(pair.subject.of_column, old, new)), notes


def _columns(version: DbtVersion, node: Node, renamed: Mapping[str, str]) -> Columns:
    lineage = version.columns.get(node.unique_id, _NO_COLUMNS)
    inputs = (
        (
            flow.target_column,
            ColumnInput(renamed.get(flow.source, flow.source), fold(flow.column), how, expression),
        )
        for flow in lineage.flows
        for how in [tuple(int(step) for step in flow.transformations)]
        for expression in [without_qualifiers(flow.expression)]
    )
    return Columns.of(lineage.columns, inputs, short)


def query_findings(pair: DbtPair, of_columns: Sequence[Finding]) -> Iterator[Finding]:
    """Yield changed filters, joins, grouping and expressions; or that something else of the query did."""
    findings: list[Finding] = []
    changed = clause_comparison.difference(pair.old_query, pair.new_query)
    for kind, (removed, added) in changed.items():
        findings.append(pair.subject.clause(kind, removed, added))
    findings += _influences(pair, changed.keys())
    findings += _expressions(pair, {column.column.lower() for column in of_columns})
    if not findings and not of_columns:
        moved = clause_comparison.moved(pair.old_query, pair.new_query)
        findings += [pair.subject.clause(kind, removed, added) for kind, (removed, added) in moved.items()]
    yield from findings
    is_same = pair.old_query.rest == pair.new_query.rest
    if not findings and not of_columns and not is_same:
        yield pair.subject.finding("query changed", "the SQL differs; its columns, filters and joins do not")


def _expressions(pair: DbtPair, reported: Collection[str]) -> Iterator[Finding]:
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
                found = pair.subject.of_column("expression changed", expression.column, message)
                yield replace(found, before=before, after=after)
        elif not reported:
            yield replace(pair.subject.finding("query changed", message), before=before, after=after)


def _influences(pair: DbtPair, reported: Container[str]) -> Iterator[Finding]:
    """Yield clauses with equal texts that use columns of other relations."""
    used = (
        _columns_of_clauses(pair.before, pair.old, pair.renamed),
        _columns_of_clauses(pair.after, pair.new, {}),
    )
    for kind, removed, added in clause_comparison.altered_influences(*used, reported):
        yield pair.subject.clause(kind, removed, added)


def _columns_of_clauses(version: DbtVersion, node: Node, renamed: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the columns that determine the rows of an entry, by transformation."""
    used: dict[str, set[str]] = {}
    for influence in version.columns.get(node.unique_id, _NO_COLUMNS).influences:
        name = f"{short(renamed.get(influence.source, influence.source))}#{fold(influence.column)}"
        for kind in influence.kinds:
            used.setdefault(kind.value, set()).add(name)
    return used
