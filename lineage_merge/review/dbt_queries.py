"""Columns and queries of dbt entries in two versions, with relations named by entry. Pure."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.model.elements import FIELD, dot_path
from lineage_merge.review import comparison
from lineage_merge.review.clauses import ComparableQuery, query_of
from lineage_merge.review.comparison import ColumnInput, Columns
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.review.findings import Finding, Subject
from lineage_merge.review.query_sources import remove_qualifiers
from lineage_merge.sources.dbt.columns import dialect_of, relation_name
from lineage_merge.sources.dbt.nodes import Manifest, Node

BUILT = ("model", "snapshot", "seed")


def short(unique_id: str) -> str:
    """Return the name of an entry without its kind and package: ``orders``, ``raw.orders``."""
    return ".".join(unique_id.split(".")[2:]) or unique_id


def file_of(node: Node) -> str:
    """Return the file of an entry, relative to its project."""
    return node.metadata.properties.get("file_path", "")


def is_relation(node: Node) -> bool:
    """Return whether an entry is a relation of the warehouse."""
    return node.kind in ("source", *BUILT) and not node.folded


class DbtQueries:
    """Queries of both versions. `renamed`: new by old unique id."""

    def __init__(self, before: Manifest, after: Manifest, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed
        self._nodes = before.nodes, after.nodes
        self._dialects: list[Dialect] = []
        self._relations: list[dict[tuple[str, ...], str]] = []
        for manifest in (before, after):
            dialect = dialect_of(manifest) or Dialect.get_or_raise(None)
            names = {
                _parts_of(relation_name(node), dialect): short(renamed.get(unique_id, unique_id))
                for unique_id, node in manifest.nodes.items()
                if is_relation(node)
            }
            self._dialects.append(dialect)
            self._relations.append({parts: name for parts, name in names.items() if parts})

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Yield entries that both versions have, renamed ones included."""
        old, new = self._nodes
        for unique_id, node in sorted(old.items()):
            other = new.get(self._renamed.get(unique_id, unique_id))
            if other is not None:
                yield node, other

    def find(self, at: int, node: Node) -> ComparableQuery:
        """Return the query of an entry in the version before (0) or after (1)."""
        if node.code.language != "sql":
            return ComparableQuery(node.code.sql, rest=node.code.sql, is_parsed=False)
        return query_of(node.code.sql, self._dialects[at], self._relations[at])


def _parts_of(relation: str, dialect: Dialect) -> tuple[str, ...]:
    """Return the folded parts of a relation's name; () if it is no name."""
    try:
        table = exp.to_table(relation, dialect=dialect)
    except (SqlglotError, ValueError):
        return ()
    return tuple(part.name.lower() for part in table.parts)


@dataclass(frozen=True, slots=True)
class DbtEntry:
    """An entry in one version, with its query. `renamed`: new by old unique id of what it reads."""

    version: DbtVersion
    node: Node
    query: ComparableQuery
    renamed: Mapping[str, str]

    def columns(self) -> Columns:
        """Return the columns and what they are computed from."""
        lineage = self.version.lineage(self.node)
        inputs = (
            (
                flow.target_column.partition(FIELD)[0],
                ColumnInput(
                    self.renamed.get(flow.source, flow.source),
                    dot_path(fold(flow.column)),
                    tuple(int(step) for step in flow.transformations),
                    remove_qualifiers(flow.expression),
                ),
            )
            for flow in lineage.flows
        )
        return Columns.from_columns(lineage.columns, inputs, short)

    def columns_of_clauses(self) -> Mapping[str, Set[str]]:
        """Return the columns that determine the rows of an entry, by transformation."""
        used: dict[str, set[str]] = {}
        for influence in self.version.lineage(self.node).influences:
            source = short(self.renamed.get(influence.source, influence.source))
            name = f"{source}#{dot_path(fold(influence.column))}"
            for kind in influence.kinds:
                used.setdefault(kind.value, set()).add(name)
        return used


def subject_of(old: DbtEntry, new: DbtEntry) -> Subject:
    """Return the dataset before the change."""
    dataset = old.version.dataset(old.node)
    title = title_of_id(dataset) if dataset else old.node.name
    return Subject(title, new.node.unique_id, dataset, file_of(new.node))


def report_unparsed(old: DbtEntry, new: DbtEntry) -> Finding:
    """Return the difference of texts that are not SQL, or that cannot be parsed."""
    code = new.node.code
    why = (
        "the SQL differs; it cannot be parsed"
        if code.language == "sql"
        else f"the {code.language.capitalize()} differs"
    )
    return subject_of(old, new).finding("query changed", f"{why}: columns and filters are not compared")


def query_findings(old: DbtEntry, new: DbtEntry, of_columns: Sequence[Finding]) -> list[Finding]:
    """Return changed filters, joins, grouping and expressions; or that something else of the query did."""
    subject = subject_of(old, new)
    changed = comparison.difference(old.query, new.query)
    findings = [subject.clause(kind, *texts) for kind, texts in changed.items()]
    # Clauses with equal texts that use columns of other relations.
    used = old.columns_of_clauses(), new.columns_of_clauses()
    findings += (subject.clause(*altered) for altered in comparison.find_altered_influences(*used, changed))
    findings += _expressions(subject, old, new, {finding.column.lower() for finding in of_columns})
    if not findings and not of_columns:
        moved = comparison.find_moved_clauses(old.query, new.query)
        findings = [subject.clause(kind, *texts) for kind, texts in moved.items()]
    if not findings and not of_columns and old.query.rest != new.query.rest:
        message = "the SQL differs; its columns, filters and joins do not"
        findings.append(subject.finding("query changed", message))
    return findings


def _expressions(subject: Subject, old: DbtEntry, new: DbtEntry, reported: Set[str]) -> Iterator[Finding]:
    """Yield expressions with equal texts that use columns of other sources."""
    known = [
        {fold(column.name) for column in entry.version.lineage(entry.node).columns} for entry in (old, new)
    ]
    for expression, before, after in comparison.find_altered_expressions(old.query, new.query):
        column = fold(expression.column)
        if column in known[0] & known[1]:
            if column not in reported:
                yield subject.report_altered("expression changed", before, after, column=expression.column)
        elif not reported:
            yield subject.report_altered("query changed", before, after)
