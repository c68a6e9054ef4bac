"""Differences between two versions of a dbt project: entries, relations, columns, queries, tests. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.infra.batches import gather
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review.comparison import compare_columns
from lineage_merge.review.dbt_queries import (
    BUILT,
    DbtEntry,
    DbtQueries,
    file_of,
    is_relation,
    query_findings,
    report_unparsed,
    short,
    subject_of,
)
from lineage_merge.review.dbt_readers import missing_columns
from lineage_merge.review.dbt_versions import DbtVersion, readers_of
from lineage_merge.review.findings import Finding, Severity, Subject
from lineage_merge.sources.dbt.declared_tests import DeclaredTest
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.order import find_behind

NOT_COMPARED = "columns, filters and joins are not compared"

_MAX_NOTES = 5


def compare(before: DbtVersion, after: DbtVersion) -> tuple[list[Finding], list[str]]:
    """Return the findings of a change, and notes on what could not be compared."""
    renamed = _find_renamed(before, after)
    findings = list(_report_removed_and_added(before, after, renamed))
    notes: list[str] = []
    queries = DbtQueries(before.manifest, after.manifest, renamed)
    # New by old names of dropped ("") and renamed columns of an entry.
    columns: dict[tuple[str, str], str] = {}
    uncompiled: list[tuple[str, str]] = []
    are_compiled = all(_is_compiled(version.manifest) for version in (before, after))
    for old, new in queries.pairs():
        findings += _relation_findings(before, after, old, new)
        if old.kind not in BUILT:
            continue
        if _is_uncompiled(old) or _is_uncompiled(new):
            # Ephemeral models are compared in the models that read them, if those are compiled.
            is_elsewhere = (old.folded or new.folded) and are_compiled
            if (verb := _code_change(old, new)) and not is_elsewhere:
                uncompiled.append((new.unique_id, verb))
            continue
        if old.folded or new.folded:
            continue
        if old.kind != new.kind and "seed" in (old.kind, new.kind):
            notes.append(f"{new.unique_id} was a {old.kind}, is a {new.kind}: its columns are not compared")
            continue
        if old.code == new.code and before.lineage(old).columns == after.lineage(new).columns:
            continue
        entries = (
            DbtEntry(before, old, queries.find(0, old), renamed),
            DbtEntry(after, new, queries.find(1, new), {}),
        )
        texts = [entry.query.text for entry in entries]
        # Without aliases: those of equal queries may read columns of another relation.
        is_alike = texts[0] == texts[1] and old.code.columns == new.code.columns
        is_same_file = old.code.source_digest == new.code.source_digest or old.kind != "seed"
        if is_alike and is_same_file and old.code.sql == new.code.sql:
            continue
        if not all(entry.query.is_parsed for entry in entries):
            findings += [report_unparsed(*entries)] if texts[0] != texts[1] else []
            continue
        known = entries[0].columns(), entries[1].columns()
        of_columns = list(compare_columns(subject_of(*entries), *known))
        if is_alike and is_same_file:
            of_columns = [finding for finding in of_columns if finding.kind == "expression changed"]
        elif not all(side.is_complete for side in known):
            notes.append(f"{new.unique_id}: its columns are not all known: dropped ones are not reported")
        columns |= {
            (new.unique_id, finding.column.lower()): finding.after.lower()
            for finding in of_columns
            if finding.change
        }
        findings += [*of_columns, *query_findings(*entries, of_columns)]
    findings += missing_columns(before, after, renamed)
    notes += _unread_readers(after, {unique_id for unique_id, _ in columns})
    findings += _tests(before.manifest, after, renamed, columns)
    return findings, [*_notes_on_entries(uncompiled), *notes]


def _unread_readers(after: DbtVersion, altered: Set[str]) -> Iterator[str]:
    """Yield notes on entries whose code is not read, and that read an entry with dropped or other columns."""
    for unique_id, node in sorted(after.manifest.nodes.items()):
        parents = {parent for parent, _ in find_behind(after.manifest.nodes, node)} & altered
        if parents and not node.folded and after.lineage(node).is_unread:
            names = ", ".join(map(short, sorted(parents)))
            yield f"{unique_id} reads {names}, whose columns change; which it uses is unknown"


# ---- models without compiled SQL, as in manifests of ``dbt parse``


def _is_uncompiled(node: Node) -> bool:
    return node.kind in ("model", "snapshot") and not node.code.sql.strip()


def _is_compiled(manifest: Manifest) -> bool:
    """Return whether a manifest has compiled code of a model or snapshot."""
    return any(
        node.code.sql.strip() for node in manifest.nodes.values() if node.kind in ("model", "snapshot")
    )


def _code_change(old: Node, new: Node) -> str:
    """Return "differs" or, if its code before compilation is unknown, "may differ"; "" if it is equal."""
    if old.code.source_digest and new.code.source_digest:
        return "differs" if old.code.source_digest != new.code.source_digest else ""
    return "may differ" if old != new else ""


def _notes_on_entries(changed: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield notes on changed entries without compiled SQL: the first ones, and the number of the others.

    `changed`: unique ids, with "differs" or "may differ".
    """
    for unique_id, verb in changed[:_MAX_NOTES]:
        yield f"{unique_id} {verb}, but has no compiled SQL: its {NOT_COMPARED}"
    rest = len(changed) - _MAX_NOTES
    if rest > 0:
        noun = "model has" if rest == 1 else "models have"
        yield f"{rest:,} more changed {noun} no compiled SQL: their {NOT_COMPARED}"


# ---- entries


def _find_renamed(before: DbtVersion, after: DbtVersion) -> dict[str, str]:
    """Return new by old unique id of models and sources that are, or seem to be, renamed.

    The relation is the same. Otherwise, a model: the new one has the same SQL; a source: the same models read
    it.
    """
    versions = before, after
    removed = sorted(before.manifest.nodes.keys() - after.manifest.nodes.keys())
    added = sorted(after.manifest.nodes.keys() - before.manifest.nodes.keys())
    if not removed or not added:
        return {}

    def relation(at: int, unique_id: str) -> tuple[bool, str] | None:
        node = versions[at].manifest.nodes[unique_id]
        dataset = versions[at].dataset(node)
        return (node.kind == "source", dataset) if dataset and is_relation(node) else None

    there = {relation(1, unique_id): unique_id for unique_id in added}
    there.pop(None, None)
    renamed: dict[str, str] = {}
    for unique_id in removed:
        if other := there.pop(relation(0, unique_id), ""):
            renamed[unique_id] = other

    queries = DbtQueries(before.manifest, after.manifest, {})
    readers = [readers_of(version.manifest) for version in versions]

    def content(at: int, unique_id: str) -> tuple[str, str | frozenset[str]] | None:
        node = versions[at].manifest.nodes[unique_id]
        if node.kind == "source":
            names = readers[at].get(unique_id)
            return (node.kind, frozenset(names)) if names else None
        if node.code.sql.strip():
            return node.kind, queries.find(at, node).text
        return (node.kind, f"#{node.code.source_digest}") if node.code.source_digest else None

    unmatched = (unique_id for unique_id in added if unique_id not in renamed.values())
    candidates = gather((key, unique_id) for unique_id in unmatched if (key := content(1, unique_id)))
    for unique_id in removed:
        key = None if unique_id in renamed else content(0, unique_id)
        if key and len(others := candidates.get(key, [])) == 1:
            renamed[unique_id] = others.pop()
    return renamed


def _subject(version: DbtVersion, node: Node, reported: Node, dataset: str = "") -> Subject:
    """Return an entry as the subject of findings, under the id and file of `reported`."""
    own = version.dataset(node)
    title = title_of_id(own) if own and node.kind in (*BUILT, "source") else short(node.unique_id)
    return Subject(title, reported.unique_id, dataset, file_of(reported))


def _report_removed_and_added(
    before: DbtVersion, after: DbtVersion, renamed: Mapping[str, str]
) -> Iterator[Finding]:
    old, new = before.manifest.nodes, after.manifest.nodes
    for unique_id in sorted(old.keys() - new.keys()):
        node = old[unique_id]
        if other := new.get(renamed.get(unique_id, "")):
            yield _report_renamed(before, after, node, other)
        elif node.kind in BUILT and not node.folded:
            subject = _subject(before, node, node, before.dataset(node))
            message = "is disabled" if after.manifest.left_out.get(unique_id) else "is no longer built"
            yield subject.finding(f"{node.kind} removed", message, before=subject.title, change=Change.DROP)
        else:
            subject = _subject(before, node, node)
            message = "is removed from the project"
            yield subject.finding(f"{_kind(node)} removed", message, Severity.INFO, before=subject.title)
    for unique_id in sorted(new.keys() - old.keys() - set(renamed.values())):
        node = new[unique_id]
        subject = _subject(after, node, node, after.dataset(node))
        yield subject.finding(f"{_kind(node)} added", "is new", Severity.INFO, after=subject.title)


def _report_renamed(before: DbtVersion, after: DbtVersion, old: Node, new: Node) -> Finding:
    was, now = before.dataset(old), after.dataset(new)
    if was and was == now:
        kind = "" if old.kind == new.kind else f"the {new.kind} "
        name = short(new.unique_id)
        return _subject(before, old, new, was).finding(
            f"{old.kind} renamed",
            f"renamed to {kind}{name}; its relation stays",
            Severity.INFO,
            before=short(old.unique_id),
            after=name,
        )
    is_source = old.kind == "source"
    subject = _subject(before, old, new, now if is_source else was)
    place = _subject(after, new, new).title
    reason = "the same models read it" if is_source else "the SQL is equal"
    return subject.finding(
        f"{old.kind} renamed",
        f"renamed to {place} (a guess: {reason})",
        before=subject.title,
        after=place,
        is_guess=True,
        change=Change.RENAME if old.is_built and not old.folded else None,
    )


def _kind(node: Node) -> str:
    if node.kind == "model" and node.folded:
        return "ephemeral model"
    return node.kind.replace("_", " ")


def _relation_findings(before: DbtVersion, after: DbtVersion, old: Node, new: Node) -> Iterator[Finding]:
    was, now = before.dataset(old), after.dataset(new)
    if old.unique_id == new.unique_id and was and now and was != now and old.kind in (*BUILT, "source"):
        is_source = old.kind == "source"
        subject = _subject(before, old, new, now if is_source else was)
        place = title_of_id(now) if title_of_id(now) != title_of_id(was) else now
        yield subject.finding(
            f"{old.kind} moved",
            f"{'now refers to' if is_source else 'is now built as'} {place}",
            before=subject.title,
            after=place,
            change=None if is_source else Change.RENAME,
        )
    if old.kind in ("model", "snapshot") and old.materialized != new.materialized:
        is_dropped = new.folded and not old.folded
        message = f"was {old.materialized}, is {new.materialized}"
        yield _subject(before, old, new, was).finding(
            "materialization changed",
            message + (": its relation is no longer built" if is_dropped else ""),
            before=old.materialized,
            after=new.materialized,
            change=Change.DROP if is_dropped else None,
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
    old = {test.unique_id: (_test_key(test, renamed, columns), test) for test in before.tests}
    new = {test.unique_id: (_test_key(test, {}, {}), test) for test in after.manifest.tests}
    there = Counter(key for key, _ in new.values())
    was = Counter(key for key, _ in old.values())
    for _, (key, test) in sorted(old.items()):
        checks = [renamed.get(check, check) for check in test.checks]
        if there[key] < was[key] and any(check in new_ids for check in checks):
            was[key] -= 1
            if columns.get((checks[0], test.column.lower())) == "":
                continue  # the column is dropped, which is a finding of its own
            subject = _test_subject(test)
            yield subject.finding("test removed", f"{test.type} is no longer checked", before=test.name)
    was = Counter(key for key, _ in old.values())
    for _, (key, test) in sorted(new.items()):
        if was[key] < there[key]:
            there[key] -= 1
            subject = _test_subject(test)
            yield subject.finding("test added", f"{test.type} is checked", Severity.INFO, after=test.name)


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


def _test_subject(test: DeclaredTest) -> Subject:
    checks = ", ".join(short(check) for check in test.checks)
    title = f"{checks}#{test.column}" if test.column else checks or test.name
    return Subject(title, test.unique_id, "", test.file_path)
