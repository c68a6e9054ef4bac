"""Differences between two versions of a dbt project: entries, relations, tests. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.questions.effects import Change
from lineage_merge.review.column_changes import (
    DbtPair,
    column_findings,
    columns_of,
    query_findings,
    unparsed_findings,
)
from lineage_merge.review.dbt_renames import BUILT, DbtQueries, renamed_entries, short
from lineage_merge.review.dbt_uncompiled import (
    change_of,
    is_compiled,
    is_uncompiled,
    notes_on_entries,
)
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.review.findings import Finding, Severity
from lineage_merge.sources.dbt.declared_tests import DeclaredTest
from lineage_merge.sources.dbt.nodes import Manifest, Node


def compare(before: DbtVersion, after: DbtVersion) -> tuple[list[Finding], list[str]]:
    """Return the findings of a change, and notes on what could not be compared."""
    renamed = renamed_entries(before, after)
    findings: list[Finding] = []
    notes: list[str] = []
    findings += _removed_and_added(before, after, renamed)
    texts = DbtQueries(before, after, renamed)
    columns: dict[tuple[str, str], str] = {}
    uncompiled: list[tuple[str, str]] = []
    are_compiled = is_compiled(before.manifest), is_compiled(after.manifest)
    for old, new in texts.pairs():
        findings += _relation_findings(before, after, old, new)
        if old.kind not in BUILT:
            continue
        if is_uncompiled(old) or is_uncompiled(new):
            # Ephemeral models are compared in the models that read them, if those are compiled.
            is_elsewhere = (old.folded or new.folded) and all(are_compiled)
            if (verb := change_of(old, new)) and not is_elsewhere:
                uncompiled.append((new.unique_id, verb))
            continue
        if old.folded or new.folded:
            continue
        if old.kind != new.kind and "seed" in (old.kind, new.kind):
            notes.append(f"{new.unique_id} was a {old.kind}, is a {new.kind}: its columns are not compared")
            continue
        if old.code == new.code and columns_of(before, old) == columns_of(after, new):
            continue
        queries = texts.query(old, new)
        # DbtQueries have no aliases: those of equal queries may read columns of another relation.
        is_alike = queries[0].text == queries[1].text and old.code.columns == new.code.columns
        if is_alike and old.code.sql == new.code.sql:
            continue
        pair = DbtPair(before, after, old, new, *queries, renamed)
        if not all(query.is_parsed for query in queries):
            findings += unparsed_findings(pair)
            continue
        of_columns, unknown = column_findings(pair)
        if is_alike:
            of_columns, unknown = [column for column in of_columns if column.kind == "expression changed"], []
        found = [*of_columns, *query_findings(pair, of_columns)]
        columns |= {
            (new.unique_id, column.column.lower()): column.after.lower()
            for column in of_columns
            if column.change
        }
        notes += unknown
        findings += found
    findings += _tests(before.manifest, after, renamed, columns)
    return findings, [*notes_on_entries(uncompiled), *notes]


def _title(version: DbtVersion, unique_id: str) -> str:
    dataset = version.datasets.get(unique_id, "")
    is_relation = version.manifest.nodes[unique_id].kind in (*BUILT, "source")
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
        other = renamed.get(unique_id)
        if other and dataset and dataset == after.datasets.get(other):
            what = "" if node.kind == new[other].kind else f"the {new[other].kind} "
            yield Finding(
                f"{node.kind} renamed", title, other, f"renamed to {what}{short(other)}; its relation stays",
                Severity.INFO, before=short(unique_id), after=short(other), dataset=dataset,
                file_path=file_of(new[other]),
            )  # fmt: skip
        elif other:
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
        elif node.kind in BUILT and not node.folded:
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
    if old.unique_id == new.unique_id and was and now and was != now and old.kind in (*BUILT, "source"):
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
        of = [renamed.get(check, check) for check in test.checks]
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
    checks = tuple(sorted(renamed.get(check, check) for check in test.checks))
    column = test.column.lower()
    for check in checks:
        column = columns.get((check, column)) or column
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
    of = ", ".join(short(check) for check in test.checks)
    return f"{of}#{test.column}" if test.column else of or test.name
