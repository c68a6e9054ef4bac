"""Changes of single rows of Delta Lake, whose commands have the clauses. Pure."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lineage_merge.sources.spline.columns.plan_text import TextItem, column_references, items, split_top
from lineage_merge.sources.spline.columns.row_changes import parse_delta_clause
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode, nodes
from lineage_merge.sources.spline.event_log.row_changes import (
    NO_NUMBER,
    SUBQUERY,
    UNCHANGED,
    Clause,
    RowChange,
    find_changed,
    make_change,
)

_CLAUSES = re.compile(r"^\[(?:Update|Delete|Insert) \[")
# spark_catalog.delta.`/data/t`
_PATH = re.compile(r"\bdelta\.`(?P<path>[^`]+)`$", re.IGNORECASE)
_DELTA = re.compile(r"^Delta\[version=-?\d+, (?P<path>[^\]]+)\]$")


def read_delta_update(node: PhysicalNode) -> tuple[RowChange, str] | None:
    """Return the change of an `UpdateCommand` of Delta, and the path of its table."""
    command = next((child for child in node.children if child.name == "UpdateCommand"), node)
    arguments = split_top(command.fields.get("Arguments", ""))
    relation = _leaf(command)
    paths = [*filter(None, map(_DELTA.match, arguments))]
    lists = [argument for argument in arguments if argument.startswith("[")]
    if relation.name != "LogicalRelation" or len(paths) != 1 or len(lists) != 1:
        return None
    output = next((part for part in split_top(relation.fields.get("Arguments", "")) if part[0] == "["), "")
    columns, more = items(output[1:-1])
    values = split_top(lists[0][1:-1])
    is_last = arguments[-1] == lists[0]
    condition = "" if is_last else arguments[-1]
    if more or len(values) != len(columns) or SUBQUERY.search(" ".join(arguments)):
        return None
    fields = {"Output": output, "Location": f"TahoeBatchFileIndex [{paths[0]['path']}]"}
    scan = PhysicalNode(relation.number, "Scan delta", fields=fields)
    own = {column.name: column.text for column in columns}
    clause = Clause(condition, find_changed(columns, values, own))
    return make_change("update", scan, columns, [clause]), paths[0]["path"]


def read_delta_delete(node: PhysicalNode) -> tuple[RowChange, str] | None:
    """Return the change of a `DeleteCommand` of Delta, and the path of its table, "" for one by name."""
    command = next((child for child in node.children if child.name == "DeleteCommand"), node)
    arguments = split_top(command.fields.get("Arguments", ""))
    relation = _leaf(command)
    if relation.name != "LogicalRelation" or len(arguments) < 2 or SUBQUERY.search(arguments[-1]):
        return None
    aliases = (below.fields.get("Arguments", "") for below in nodes(command) if below.name == "SubqueryAlias")
    path = next((found["path"] for alias in aliases if (found := _PATH.search(alias))), "")
    output = next((part for part in split_top(relation.fields.get("Arguments", "")) if part[0] == "["), "")
    # Without a path there is no source: a table need not be said to decide on itself.
    fields = {"Output": output} | ({"Location": f"TahoeBatchFileIndex [{path}]"} if path else {})
    scan = PhysicalNode(NO_NUMBER, "Scan delta" if path else "LocalTableScan", fields=fields)
    condition = "" if arguments[-1] == "true" else arguments[-1]
    return make_change("delete", scan, items(output[1:-1])[0], [Clause(condition, ())]), path


@dataclass(frozen=True, slots=True)
class DeltaMerge:
    """A `MergeIntoCommand` of Delta: the `path` of its target, the condition of ON, and the clauses.

    `names` are the columns of the target, `assigned` the values of each clause by column, `columns` all
    columns in the text.
    """

    path: str
    condition: str
    names: tuple[str, ...]
    conditions: tuple[str, ...]
    assigned: tuple[Mapping[str, str], ...]
    columns: Mapping[int, str]

    def join(self, plan: FormattedPlan, source: PhysicalNode, output: Collection[int]) -> PhysicalNode | None:
        """Return the assigned values above the join of the target with a query; None if that is no source.

        `output` are the ids of the query's columns.
        """
        others = {identifier: text for identifier, text in self.columns.items() if identifier not in output}
        own = {text.rpartition("#")[0].strip("`"): text for text in others.values()}
        is_whole = len(own) == len(others) and own.keys() <= set(self.names)
        if not is_whole or any(self._is_target(node) for node in nodes(plan.root)):
            return None
        fields = {
            "Output": f"[{', '.join(others.values())}]",
            "Location": f"TahoeBatchFileIndex [{self.path}]",
        }
        target = PhysicalNode(NO_NUMBER, "Scan delta", fields=fields)
        fields = {"Join type": "FullOuter", "Join condition": self.condition}
        joined = PhysicalNode(NO_NUMBER, "SortMergeJoin FullOuter", fields=fields, children=[target, source])
        columns = [TextItem(0, name, "", name) for name in self.names]
        clauses = [
            Clause(
                condition, find_changed(columns, (values.get(name, UNCHANGED) for name in self.names), own)
            )
            for condition, values in zip(self.conditions, self.assigned, strict=True)
        ]
        return make_change("merge", joined, columns, clauses).rows

    def _is_target(self, node: PhysicalNode) -> bool:
        return self.path.partition(":")[2].strip("/") in node.fields.get("Location", "")


def read_delta_merge(node: PhysicalNode) -> DeltaMerge | None:
    """Return a MERGE of Delta; None for a form that is not known."""
    command = next((child for child in node.children if child.name == "MergeIntoCommand"), node)
    text = command.fields.get("Arguments", "")
    arguments = split_top(text)
    paths = [*filter(None, map(_DELTA.match, arguments))]
    conditions = [argument for argument in arguments if argument.startswith("(")]
    if len(paths) != 1 or not conditions or SUBQUERY.search(text) or "more fields" in text:
        return None
    found: list[tuple[str, dict[str, str]]] = []
    for part in arguments:
        if not _CLAUSES.match(part):
            continue
        for text_of_clause in split_top(part[1:-1]):
            clause = parse_delta_clause(text_of_clause)
            if clause is None:
                return None
            found.append((clause[0], dict(clause[1])))
    names = tuple(dict.fromkeys(name for _, values in found for name in values))
    texts = (text for condition, values in found for text in (condition, *values.values()))
    columns = {
        column.id: f"{column.name}#{column.id}"
        for text in (conditions[0], *texts)
        for column in column_references(text)
    }
    if not names:
        return None
    assigned = tuple(values for _, values in found)
    deciding = tuple(condition for condition, _ in found)
    return DeltaMerge(paths[0]["path"], conditions[0], names, deciding, assigned, columns)


def _leaf(node: PhysicalNode) -> PhysicalNode:
    while len(node.children) == 1:
        node = node.children[0]
    return node
