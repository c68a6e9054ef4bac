"""Parser of Spark's formatted physical plans (`spark.sql.ui.explainMode`: formatted, the default). Pure.

A tree of numbered nodes, then a section of keyed lines for each of them, then the plans of subqueries in the
same form.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

BEGIN = "== Physical Plan =="
_SUBQUERIES = re.compile(r"^=+ Subqueries =+$", re.MULTILINE)
_SUBQUERY = re.compile(
    r"^Subquery:\d+ Hosting operator id = \d+ Hosting Expression = (?P<host>.*)$", re.MULTILINE
)
SUBQUERY_ID = re.compile(r"subquery#(?P<id>\d+)")
# A subquery in an expression: its id is as that of a column.
_REFERENCE = re.compile(r"(?:ReusedSubquery )?Subquery ((?:scalar-)?subquery#\d+)(?:, \[id=#\d+\])?")
_NODE = re.compile(r"^(?P<indent>[ :+-]*)(?:\* )?(?P<name>\S.*?) \((?P<number>\d+)\)(?:, Statistics\(.*)?$")
_PART = re.compile(r"^(?P<indent>[ :+-]*)== (?P<name>Final|Initial|Current) Plan ==$")
_SECTION = re.compile(r"^\((?P<number>\d+)\) ")
_KEYS = (
    "Output Input Arguments Keys Functions Results Condition Batched Location PartitionFilters PushedFilters "
    "DataFilters ReadSchema"
).split()
_WORDS = ("Aggregate Attributes", "Left keys", "Right keys", "Join type", "Join condition")
_FIELD = re.compile(rf"^(?P<key>{'|'.join([*_WORDS, *_KEYS])})(?: \[(?P<count>\d+)\])? ?: ?(?P<value>.*)$")

_CUT = re.compile(r"\.\.\. \d+ more characters$")


@dataclass(slots=True)
class PhysicalNode:
    """An operation: its `fields` by key, and below "" lines without a key.

    `number` is that in the text, `title` the first line of its section, with details.
    """

    number: int
    name: str
    title: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    children: "list[PhysicalNode]" = field(default_factory=list)

    def list_of(self, key: str) -> str:
        """Return the inside of a list in brackets, "" without one."""
        value = self.fields.get(key, "")
        return value[1:-1] if value.startswith("[") and value.endswith("]") else ""


@dataclass(slots=True)
class FormattedPlan:
    """A plan: its root, the roots of its subqueries by id, and whether Spark cut its text."""

    root: PhysicalNode
    subqueries: dict[int, PhysicalNode] = field(default_factory=dict)
    is_cut: bool = False


def nodes(root: PhysicalNode) -> Iterator[PhysicalNode]:
    """Yield an operation and those below, each before its inputs, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def is_cut(text: str) -> bool:
    """Return whether Spark cut the text of a plan."""
    return _CUT.search(text) is not None


def strip_subqueries(text: str) -> str:
    """Return a text in which a subquery is written like a column."""
    return _REFERENCE.sub(r"\1", text)


def parse_formatted_plan(text: str) -> FormattedPlan | None:
    """Parse the text of a plan, None for another form."""
    _, found, rest = text.partition(BEGIN)
    if not found:
        return None
    main, *others = _SUBQUERIES.split(rest, maxsplit=1)
    nodes: dict[int, PhysicalNode] = {}
    root = _read_tree(main, nodes)
    if root is None:
        return None
    plan = FormattedPlan(root, is_cut=is_cut(text))
    for part in others:
        hosts = list(_SUBQUERY.finditer(part))
        ends = (*(host.start() for host in hosts[1:]), len(part))
        for host, end in zip(hosts, ends, strict=True):
            identifier = SUBQUERY_ID.search(host["host"])
            tree = _read_tree(part[host.end() : end], nodes)
            if identifier and tree:
                plan.subqueries.setdefault(int(identifier["id"]), tree)
    return plan


def _read_tree(text: str, nodes: dict[int, PhysicalNode]) -> PhysicalNode | None:
    """Read a tree and its sections; `nodes`: those of all trees so far, by number."""
    lines = iter(text.strip("\n").split("\n"))
    own: dict[int, PhysicalNode] = {}
    root = _read_nodes(lines, own)
    nodes.update(own)
    _read_sections(lines, nodes)
    return root


def _read_nodes(lines: Iterator[str], nodes: dict[int, PhysicalNode]) -> PhysicalNode | None:
    root: PhysicalNode | None = None
    stack: list[tuple[int, PhysicalNode]] = []
    for line in lines:
        if not line.strip():
            break
        matched = _NODE.match(line)
        part = None if matched else _PART.match(line)
        if part is not None:
            # Its root has the same indentation.
            depth, node = len(part["indent"]) - 1, PhysicalNode(0, f"{part['name']} Plan")
        elif matched is not None:
            depth, node = (
                len(matched["indent"]),
                PhysicalNode(int(matched["number"]), matched["name"].strip()),
            )
            if node.number in nodes:  # a cached plan that is used twice
                node.fields = nodes[node.number].fields
            nodes[node.number] = node
        else:
            continue
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if stack:
            stack[-1][1].children.append(node)
        elif root is None:
            root = node
        stack.append((depth, node))
    return root


def _read_sections(lines: Iterator[str], nodes: dict[int, PhysicalNode]) -> None:
    node: PhysicalNode | None = None
    key = ""
    for line in lines:
        section = _SECTION.match(line)
        if section and int(section["number"]) in nodes:
            node, key = nodes[int(section["number"])], ""
            node.title = line[section.end() :]
            continue
        if node is None:
            continue
        matched = _FIELD.match(line)
        if matched and matched["key"] not in node.fields:
            key = matched["key"]
            node.fields[key] = strip_subqueries(matched["value"])
        elif line.strip():
            # A literal, or the text of a table, has several lines.
            before = node.fields.get(key, "")
            node.fields[key] = f"{before}\n{line}" if before else line
