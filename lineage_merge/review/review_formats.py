"""A review as JSON, as SARIF 2.1.0, and as Markdown for a comment on a pull or merge request.

In Markdown, names and expressions are code spans: they can contain no markup, and mention no user.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, subgraph, title_of_id
from lineage_merge.model.counts import format_count, format_names
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.version import __version__
from lineage_merge.questions.fields import row_as_json
from lineage_merge.questions.formats.describe import declarations
from lineage_merge.questions.formats.diagrams import mermaid
from lineage_merge.questions.impact import impact_as_json
from lineage_merge.questions.policies.reports import SCHEMA
from lineage_merge.questions.traversal.dependents import Dependent
from lineage_merge.questions.usage import usage_row
from lineage_merge.review.findings import NO_DAG, Assessed, Finding, ReviewResult, Severity

_LEVELS = {
    Severity.BREAKING: "error",
    Severity.POLICY: "error",
    Severity.CHANGED: "warning",
    Severity.INFO: "note",
}
# GitHub refuses comments of more than 65,536 characters; Mermaid, diagrams of 50,000 characters or 500 edges.
_MAX_COMMENT = 60_000
_MAX_TABLE = 30_000
_MAX_DIAGRAM = 20_000
_MAX_EDGES = 400
_MAX_VERTICES = 40
_MAX_ROWS = 50
_MAX_LISTED = 25
_MAX_NAMES = 3
_MAX_TEXT = 300
# The first line, by which CI finds its comment again.
MARKER = "<!-- lineage-merge review -->"


def review_as_json(result: ReviewResult) -> dict[str, Any]:
    """Return the fields of a review; fields are only added::

    {"counts": {"breaking": 1, "policy": 0, "changed": 2, "info": 0},
     "findings": [{"severity": "breaking", "kind": "column renamed", "title": "shop.orders#revenue",
                   "unique_id": "model.shop.orders", "message": "...", "before": "revenue",
                   "after": "net_revenue", "is_guess": true, "file_path": "models/orders.sql",
                   "impact": {...}, "usage": {"reads": 1204, "last_read": 1795132800000, ...}}],
     "notes": []}

    `impact` is that of the command impact with the finding's change, null if the graph lacks the element;
    `usage` a row of the command usage, null if no query log covers the element.
    """
    return {
        "counts": {severity.value: number for severity, number in result.counts.items()},
        "findings": [_as_json(assessed) for assessed in result.findings],
        "notes": list(result.notes),
    }


def _as_json(assessed: Assessed) -> dict[str, Any]:
    finding = assessed.finding
    shown = ("kind", "title", "unique_id", "message", "before", "after", "is_guess", "file_path")
    return {
        "severity": finding.severity.value,
        **{name: getattr(finding, name) for name in shown},
        "owners": assessed.owners,
        "impact": impact_as_json(assessed.dependents, assessed.tests) if assessed.dependents else None,
        "usage": row_as_json(usage_row(assessed.observed_usage)) if assessed.observed_usage else None,
    }


def review_sarif(result: ReviewResult) -> dict[str, Any]:
    """Return a log with one run: a rule per kind of finding, a result per finding, located in its file."""
    kinds = sorted({finding.finding.kind for finding in result.findings})
    rules = [{"id": _rule_id(kind), "shortDescription": {"text": kind}} for kind in kinds]
    notifications = [{"level": "note", "message": {"text": note}} for note in result.notes]
    run = {
        "tool": {"driver": {"name": "lineage-merge review", "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, kinds.index(finding.finding.kind)) for finding in result.findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_id(kind: str) -> str:
    return kind.replace(" ", "-")


def _sarif_result(assessed: Assessed, index: int) -> dict[str, Any]:
    finding = assessed.finding
    lines = [f"{finding.title}: {finding.kind}: {finding.message}"]
    if broken := sorted({vertex.title for vertex in assessed.broken_datasets.values()}):
        lines.append(f"breaks: {', '.join(broken)}")
    if assessed.affected:
        lines.append(f"affected: {', '.join(map(affected_title, assessed.affected))}")
    kind = "member" if finding.column else "resource"
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding.title, "kind": kind}]}
    if finding.file_path:
        path = finding.file_path.replace("\\", "/").lstrip("/")
        uri = quote(path.encode("utf-8", "replace"), safe="/")
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    identity = "\n".join((finding.kind, finding.unique_id, finding.title, finding.after))
    return {
        "ruleId": _rule_id(finding.kind),
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(lines)},
        "locations": [location],
        "partialFingerprints": {
            "lineageMerge/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()
        },
    }


def affected_title(element: Dependent) -> str:
    """Return the title of a dataset, and who declares that it is affected, if no tool reports it."""
    declared = declarations(element.declared)
    return element.vertex.title + (f" ({declared})" if declared else "")


# ---- Markdown


def review_markdown(result: ReviewResult) -> str:
    """Return a comment: summary, table, diagram of what is affected, folded details, as far as they fit."""
    head = "\n".join((MARKER, f"**Lineage review: {result.summary}**{_reach(result)}", "", *_table(result)))
    parts = [head]
    listed = (f"- {code(note)}" for note in result.notes[:_MAX_LISTED])
    notes = "\n".join((*listed, *_more(result.notes, " notes")))
    used = len(head) + len(notes) + 200
    for part in (_diagram(result), *_details(result)):
        if part and used + len(part) <= _MAX_COMMENT:
            parts.append(part)
            used += len(part) + 2
        elif part:
            parts.append(
                "Details are omitted: the comment would be too long. The JSON format has all of them."
            )
            break
    return "\n\n".join((*parts, *([notes] if notes else []))) + "\n"


def _reach(result: ReviewResult) -> str:
    affected = {
        (element.kind, element.vertex.id) for assessed in result.findings for element in assessed.affected
    }
    if not affected:
        return ""
    numbers: Counter[str] = Counter(kind for kind, _ in affected)
    numbers["test"] = len({test.vertex.id for assessed in result.findings for test in assessed.tests})
    numbers["DAG"] = len({dag for assessed in result.findings for dag in assessed.dags})
    nouns = ("dataset", "exposure", "test", "DAG")
    shown = [format_count(numbers[noun], noun) for noun in nouns if numbers[noun]]
    return f" · affected: {', '.join(shown)}"


def _table(result: ReviewResult) -> Iterator[str]:
    if not result.findings:
        nothing = "Nothing that affects lineage is changed: columns, conditions, joins, relations and tests."
        # A note says what is not compared.
        yield "No findings." if result.notes else nothing
        return
    yield "| severity | element | change | breaks | also affected | owners |"
    yield "| --- | --- | --- | --- | --- | --- |"
    used = shown = 0
    for assessed in result.findings[:_MAX_ROWS]:
        row = f"| {' | '.join(map(_escape_cell, _cells(assessed)))} |"
        used += len(row)
        if used > _MAX_TABLE:
            break
        shown += 1
        yield row
    if len(result.findings) > shown:
        yield ""
        yield f"and {len(result.findings) - shown:,} more findings"


def _cells(assessed: Assessed) -> Iterator[str]:
    finding, broken = assessed.finding, assessed.broken_datasets
    yield finding.severity.value
    yield code(finding.title)
    yield _change(finding)
    yield _names(vertex.title for vertex in broken.values())
    yield _names(element.vertex.title for element in assessed.affected if element.vertex.id not in broken)
    yield _names(assessed.owners)


def _change(finding: Finding) -> str:
    """Return the kind of a change with what it was and is; a rename with the reason why it is a guess."""
    _, guess, reason = finding.message.rpartition(" (a guess: ")
    note = f" (a guess: {reason}" if finding.is_guess and guess else ""
    if finding.before and finding.after:
        # Such as what happens to the relation of a model that becomes ephemeral.
        rest = finding.message.removeprefix(f"was {finding.before}, is {finding.after}")
        note = note or (rest if rest.startswith(": ") else "")
        return f"{_kind(finding)}: {code(finding.before)} → {code(finding.after)}{note}"
    if finding.kind in _SELF_EXPLANATORY:
        return finding.kind
    return f"{_kind(finding)}: {code(finding.message)}"


def _kind(finding: Finding) -> str:
    """Return the kind; as a code span if it is not in plain words."""
    return finding.kind if re.fullmatch(r"[A-Za-z]+(?:[ -][A-Za-z]+)*", finding.kind) else code(finding.kind)


_SELF_EXPLANATORY = frozenset({"column dropped", "column added"})


def _escape_cell(text: str) -> str:
    # A backslash before a pipe would undo its escape: GitHub looks for the ends of cells first.
    return re.sub(r"\\+(?=\|)", r"\g<0> ", text).replace("|", "\\|")


def _names(names: Iterable[str]) -> str:
    return format_names([*map(code, dict.fromkeys(names))], _MAX_NAMES)


def _one_line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def code(text: str) -> str:
    """Return a code span; long texts are cut."""
    line = _one_line(text)
    line = line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"
    if not line:
        return ""
    fence = "`" * (max((len(ticks) for ticks in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


# ---- diagram


def select_affected(result: ReviewResult) -> tuple[Subgraph, int]:
    """Return the datasets and exposures that changes affect, and how many of them are omitted."""
    nearest: dict[str, tuple[int, Vertex]] = {}
    pairs: set[tuple[str, str]] = set()
    for assessed in result.findings:
        if assessed.dependents is None or not assessed.affected:
            continue
        changed = assessed.dependents.changed
        if not changed.is_dataset:
            start = dataset_of(changed.id)
            changed = Vertex(start, "table", {"qualified_name": title_of_id(start)})
        nearest[changed.id] = (0, changed)
        for element in assessed.affected:
            if element.vertex.id not in nearest or nearest[element.vertex.id][0] > element.distance:
                nearest[element.vertex.id] = (element.distance, element.vertex)
        for edge in assessed.dependents.impact.subgraph.edges:
            if edge.label in ("feeds", "feeds_column", "influences"):
                pairs.add((dataset_of(edge.from_id), dataset_of(edge.to_id)))
    order = sorted(nearest.values(), key=lambda entry: (entry[0], entry[1].id))
    shown = [vertex for _, vertex in order[:_MAX_VERTICES]]
    edges = [Edge(f"{a}>{b}", "feeds", a, b) for a, b in sorted(pairs) if a != b]
    return subgraph(shown, edges), len(order) - len(shown)


def _diagram(result: ReviewResult) -> str:
    part, omitted = select_affected(result)
    while len(part.edges) > _MAX_EDGES:
        nearest = list(part.vertices.values())[: len(part.vertices) * 3 // 4]
        omitted += len(part.vertices) - len(nearest)
        part = subgraph(nearest, part.edges)
    if not part.edges:
        return ""
    text = mermaid(part) + "".join(_styles(result, part))
    if len(text) > _MAX_DIAGRAM:
        return ""
    note = f"The diagram omits {omitted:,} datasets and exposures at a greater distance."
    return f"```mermaid\n{text}```" + (f"\n\n{note}" if omitted else "")


def _styles(result: ReviewResult, part: Subgraph) -> Iterator[str]:
    """Yield lines that mark what is changed (thick) and what breaks (red)."""
    dependents = (assessed.dependents for assessed in result.findings if assessed.dependents)
    changed = {dataset_of(of_one.changed.id) for of_one in dependents}
    broken = {element.vertex.id for assessed in result.findings for element in assessed.broken}
    for number, identifier in enumerate(part.vertices):
        if identifier in changed:
            yield f"  style n{number} stroke-width:4px\n"
        elif identifier in broken:
            yield f"  style n{number} stroke:#d1242f,stroke-width:2px\n"


# ---- details


def _details(result: ReviewResult) -> Iterator[str]:
    for assessed in result.findings:
        finding, lines = assessed.finding, "\n".join(_write_finding(assessed))
        is_addition = finding.severity is Severity.INFO and not assessed.affected
        if lines and not is_addition:
            title = escape(_one_line(f"{finding.title}: {finding.kind}"), quote=False)[:_MAX_TEXT]
            yield f"<details><summary><code>{title}</code></summary>\n\n{lines}\n\n</details>"


def _write_finding(assessed: Assessed) -> Iterator[str]:
    finding, affected = assessed.finding, assessed.affected
    if finding.file_path:
        yield f"- file: {code(finding.file_path)}"
    if finding.kind == "policy violated":
        yield f"- fix: {code(finding.after)}"
    if assessed.observed_usage:
        yield f"- usage by statements of the warehouse: {code(assessed.observed_usage.text)}"
    for element in affected[:_MAX_LISTED]:
        vertex, held = element.vertex, element.vertex.properties
        facts = [
            *([element.effect.value] if element.effect else []),
            *(f"DAG {code(dag)}" for dag in vertex.dags if dag != NO_DAG),
            *(f"owner {code(owner)}" for owner in held.get("owners", ())),
            *(f"tag {code(tag)}" for tag in held.get("tags", ())),
            *(code(text) for text in [declarations(element.declared)] if text),
        ]
        yield f"- {vertex.label} {code(vertex.title)}{': ' if facts else ''}{', '.join(facts)}"
    yield from _more(affected)
    if columns := [element.vertex.title for element in assessed.broken if element.kind == "column"]:
        yield f"- columns that break: {_names(columns)}"
    for test in assessed.tests[:_MAX_LISTED]:
        yield f"- test {code(test.vertex.name)}{f': {test.effect.value}' if test.effect else ''}"
    yield from _more(assessed.tests, " tests")


def _more(listed: Sequence[object], of_what: str = "") -> Iterator[str]:
    if len(listed) > _MAX_LISTED:
        yield f"- and {len(listed) - _MAX_LISTED:,} more{of_what}"
