"""Differences between two versions of a dbt project: entries, relations, tests. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from sqlglot import Dialect

from lineage_merge.query.effects import Change
from lineage_merge.query.elements import title_of_id
from lineage_merge.query.review.clauses import Query, parts_of, query_of
from lineage_merge.query.review.column_changes import (
    Pair,
    column_findings,
    columns_of,
    query_findings,
    unparsed_findings,
)
from lineage_merge.query.review.dbt_versions import DbtVersion
from lineage_merge.query.review.findings import Finding, Severity
from lineage_merge.sources.dbt.columns import dialect_of, relation_name
from lineage_merge.sources.dbt.declared_tests import DeclaredTest
from lineage_merge.sources.dbt.nodes import Manifest, Node

_BUILT = ("model", "snapshot", "seed")


def compare(before: DbtVersion, after: DbtVersion) -> tuple[list[Finding], list[str]]:
    """Return the findings of a change, and notes on what could not be compared."""
    renamed = renamed_entries(before, after)
    findings: list[Finding] = []
    notes: list[str] = []
    findings += _removed_and_added(before, after, renamed)
    texts = _Texts(before, after, renamed)
    columns: dict[tuple[str, str], str] = {}
    for old, new in texts.pairs():
        findings += _relation_findings(before, after, old, new)
        if old.kind not in _BUILT or old.folded or new.folded:
            continue
        if _uncompiled(old) or _uncompiled(new):
            if old != new:
                notes.append(f"{new.unique_id} has no compiled SQL: its columns and filters are not compared")
            continue
        if old.code == new.code and columns_of(before, old) == columns_of(after, new):
            continue
        queries = texts.query(old, new)
        # Texts have no aliases: those of equal queries may read columns of another relation.
        is_alike = queries[0].text == queries[1].text and old.code.columns == new.code.columns
        if is_alike and old.code.sql == new.code.sql:
            continue
        pair = Pair(before, after, old, new, *queries, renamed)
        if not all(each.is_parsed for each in queries):
            findings += unparsed_findings(pair)
            continue
        of_columns, unknown = column_findings(pair)
        if is_alike:
            of_columns, unknown = [each for each in of_columns if each.kind == "expression changed"], []
        found = [*of_columns, *query_findings(pair, of_columns)]
        columns |= {
            (new.unique_id, each.column.lower()): each.after.lower() for each in of_columns if each.change
        }
        notes += unknown
        findings += found
    findings += _tests(before.manifest, after, renamed, columns)
    return findings, notes


def _uncompiled(node: Node) -> bool:
    return node.kind in ("model", "snapshot") and node.code.language == "sql" and not node.code.sql.strip()


def renamed_entries(before: DbtVersion, after: DbtVersion) -> dict[str, str]:
    """Return new by old unique id of models and sources that seem to be renamed.

    A model: the new one has the same SQL. A source: the same models read it, with equal queries.
    """
    old, new = before.manifest.nodes, after.manifest.nodes
    removed, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    found: dict[str, str] = {}
    children = [_children(each.manifest) for each in (before, after)]
    for each in removed:
        candidates = []
        for other in added:
            if old[each].kind != new[other].kind or other in found.values():
                continue
            if old[each].kind == "source":
                same = bool(children[0].get(each)) and children[0].get(each) == children[1].get(other)
            else:
                same = bool(old[each].code.sql.strip()) and _same_sql(before, after, old[each], new[other])
            if same:
                candidates.append(other)
        if len(candidates) == 1:
            found[each] = candidates[0]
    return found


def _same_sql(before: DbtVersion, after: DbtVersion, old: Node, new: Node) -> bool:
    queries = _Texts(before, after, {}).query(old, new)
    return queries[0].text == queries[1].text


def _children(manifest: Manifest) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for unique_id, node in manifest.nodes.items():
        for parent in node.parents:
            found.setdefault(parent, set()).add(unique_id)
    return found


class _Texts:
    """Queries of both versions with relations named by unique id."""

    def __init__(self, before: DbtVersion, after: DbtVersion, renamed: Mapping[str, str]) -> None:
        self._versions = (before, after)
        self._renamed = renamed
        self._dialects = [dialect_of(each.manifest) for each in self._versions]
        self._relations: list[dict[tuple[str, ...], str]] = []
        for version in self._versions:
            dialect = _known(dialect_of(version.manifest))
            names = {
                parts_of(relation_name(node), dialect): short(renamed.get(unique_id, unique_id))
                for unique_id, node in version.manifest.nodes.items()
                if node.kind in ("source", *_BUILT) and not node.folded
            }
            self._relations.append({parts: name for parts, name in names.items() if parts})

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Yield entries that both versions have, renamed ones included."""
        old, new = (each.manifest.nodes for each in self._versions)
        for unique_id, node in sorted(old.items()):
            other = new.get(self._renamed.get(unique_id, unique_id))
            if other is not None:
                yield node, other

    def query(self, old: Node, new: Node) -> tuple[Query, Query]:
        """Return the queries of an entry in both versions."""
        found = [
            query_of(node.code.sql, _known(dialect), relations)
            if node.code.language == "sql"
            else Query(node.code.sql, {}, node.code.sql, is_parsed=False)
            for node, dialect, relations in zip((old, new), self._dialects, self._relations, strict=True)
        ]
        return found[0], found[1]


def _known(dialect: Dialect | None) -> Dialect:
    return dialect or Dialect.get_or_raise(None)


def short(unique_id: str) -> str:
    """Return the name of an entry without its kind and package: ``orders``, ``raw.orders``."""
    return ".".join(unique_id.split(".")[2:]) or unique_id


def _title(version: DbtVersion, unique_id: str) -> str:
    dataset = version.datasets.get(unique_id, "")
    is_relation = version.manifest.nodes[unique_id].kind in (*_BUILT, "source")
    return title_of_id(dataset) if dataset and is_relation else short(unique_id)


def file_of(node: Node) -> str:
    """Return the file of an entry, relative to its project."""
    return node.metadata.properties.get("file_path", "")


def _removed_and_added(
    before: DbtVersion, after: DbtVersion, renamed: Mapping[str, str]
) -> Iterator[Finding]:
    old, new = before.manifest.nodes, after.manifest.nodes
    for unique_id in sorted(old.keys() - new.keys()):
        node = old[unique_id]
        title, dataset = _title(before, unique_id), before.datasets.get(unique_id, "")
        if other := renamed.get(unique_id):
            where = _title(after, other)
            reason = "the same models read it" if node.kind == "source" else "the SQL is equal"
            yield Finding(
                f"{node.kind} renamed",
                title,
                other,
                f"renamed to {where} (a guess: {reason})",
                before=title,
                after=where,
                dataset=after.datasets.get(other, "") if node.kind == "source" else dataset,
                is_guess=True,
                change=Change.RENAME if node.is_built and not node.folded else None,
                file_path=file_of(new[other]),
            )
        elif node.kind in _BUILT and not node.folded:
            message = "is no longer built" if not after.manifest.left_out.get(unique_id) else "is disabled"
            yield Finding(
                f"{node.kind} removed", title, unique_id, message,
                before=title, dataset=dataset, change=Change.DROP, file_path=file_of(node),
            )  # fmt: skip
        else:
            yield Finding(
                f"{_kind(node)} removed", title, unique_id, "is removed from the project",
                Severity.INFO, before=title, file_path=file_of(node),
            )  # fmt: skip
    for unique_id in sorted(new.keys() - old.keys() - set(renamed.values())):
        node = new[unique_id]
        yield Finding(
            f"{_kind(node)} added", _title(after, unique_id), unique_id, "is new",
            Severity.INFO, after=_title(after, unique_id), file_path=file_of(node),
        )  # fmt: skip


def _kind(node: Node) -> str:
    if node.kind == "model" and node.folded:
        return "ephemeral model"
    return node.kind.replace("_", " ")


def _relation_findings(before: DbtVersion, after: DbtVersion, old: Node, new: Node) -> Iterator[Finding]:
    was, now = before.datasets.get(old.unique_id, ""), after.datasets.get(new.unique_id, "")
    title = _title(before, old.unique_id)
    if old.unique_id == new.unique_id and was and now and was != now and old.kind in (*_BUILT, "source"):
        moved_to = title_of_id(now) if title_of_id(now) != title_of_id(was) else now
        is_source = old.kind == "source"
        yield Finding(
            f"{old.kind} moved",
            title,
            new.unique_id,
            f"{'now refers to' if is_source else 'is now built as'} {moved_to}",
            before=title,
            after=moved_to,
            dataset=now if is_source else was,
            change=None if is_source else Change.RENAME,
            file_path=file_of(new),
        )
    if old.kind in ("model", "snapshot") and old.materialized != new.materialized:
        is_dropped = new.folded and not old.folded
        yield Finding(
            "materialization changed",
            title,
            new.unique_id,
            f"was {old.materialized}, is {new.materialized}"
            + (": its relation is no longer built" if is_dropped else ""),
            before=old.materialized,
            after=new.materialized,
            dataset=was,
            change=Change.DROP if is_dropped else None,
            file_path=file_of(new),
        )


# ---- tests


def _tests(
    before: Manifest,
    after: DbtVersion,
    renamed: Mapping[str, str],
    columns: Mapping[tuple[str, str], str],
) -> Iterator[Finding]:
    """Yield removed and added tests of entries that both versions have."""
    new_ids = after.manifest.nodes.keys()
    old = {each.unique_id: (_test_key(each, renamed, columns), each) for each in before.tests}
    new = {each.unique_id: (_test_key(each, {}, {}), each) for each in after.manifest.tests}
    there = Counter(key for key, _ in new.values())
    was = Counter(key for key, _ in old.values())
    for unique_id, (key, test) in sorted(old.items()):
        of = [renamed.get(each, each) for each in test.checks]
        if there[key] < was[key] and any(each in new_ids for each in of):
            was[key] -= 1
            if columns.get((of[0] if of else "", test.column.lower())) == "":
                continue  # the column is dropped, which is a finding of its own
            yield Finding(
                "test removed", _test_title(test), unique_id, f"{test.type} is no longer checked",
                before=test.name, file_path=test.file_path,
            )  # fmt: skip
    was = Counter(key for key, _ in old.values())
    for unique_id, (key, test) in sorted(new.items()):
        if was[key] < there[key]:
            there[key] -= 1
            yield Finding(
                "test added", _test_title(test), unique_id, f"{test.type} is checked",
                Severity.INFO, after=test.name, file_path=test.file_path,
            )  # fmt: skip


_TestKey = tuple[str, str, tuple[str, ...], str, str]


def _test_key(
    test: DeclaredTest, renamed: Mapping[str, str], columns: Mapping[tuple[str, str], str]
) -> _TestKey:
    checks = tuple(sorted(renamed.get(each, each) for each in test.checks))
    column = test.column.lower()
    for each in checks:
        column = columns.get((each, column)) or column
    other, other_column = test.references or ("", "")
    is_generic = test.type not in ("custom_sql", "unit_test")
    return (
        test.type,
        column,
        checks,
        f"{renamed.get(other, other)}#{other_column.lower()}",
        "" if is_generic else test.name,
    )


def _test_title(test: DeclaredTest) -> str:
    of = ", ".join(short(each) for each in test.checks)
    return f"{of}#{test.column}" if test.column else of or test.name
