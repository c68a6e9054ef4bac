"""Tools on changes and merges: diff, compare, history, report."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lineage_merge.mcp.answer_values import SHORT, moment, text
from lineage_merge.mcp.answers import ChangeRow, HistoryRow, OnlyRow, ReportRow
from lineage_merge.mcp.arguments import CompareArguments, DiffArguments, HistoryArguments, ReportArguments
from lineage_merge.mcp.paging import Found
from lineage_merge.mcp.scoped_graph import ScopedGraph
from lineage_merge.mcp.untrusted_text import escape
from lineage_merge.model.elements import Problem, decode
from lineage_merge.model.errors import Ambiguous, NotFound

if TYPE_CHECKING:
    from lineage_merge.merge.report import NearMiss

_MERGE_RUN = "merge_run"
_NO_REPORT = "the merge has stored no report"


def diff(scoped: ScopedGraph, given: DiffArguments) -> Found:
    """Return what changed between two moments."""
    scoped.require_history()
    limits = {"upstream_of": given.upstream_of, "downstream_of": given.downstream_of}
    found = scoped.lineage.diff(given.start, given.end, **limits)
    moments = {"start": str(found.before.moment), "end": str(found.after.moment)}
    return Found(list(found.records()), _change, {**moments, "note": text(found.note)})


def compare(scoped: ScopedGraph, given: CompareArguments) -> Found:
    """Return what only one of two environments has."""
    found = scoped.lineage.compare(given.first, given.second)
    return Found(list(found.records()), _only, {"note": text(found.note)})


def history(scoped: ScopedGraph, given: HistoryArguments) -> Found:
    """Return the merges, or what they changed of an element."""
    scoped.require_history()
    if given.name is None:
        merges = scoped.lineage.merges()
        return Found(list(merges.records()), _merge, {"note": text(merges.note)})
    found = scoped.lineage.history(given.name)
    header = {"of": escape(found.element.id), "note": text(found.note)}
    return Found(list(found.records()), _merge, header)


def report(scoped: ScopedGraph, given: ReportArguments) -> Found:
    """Return the report of the last merge of a DAG: near misses, then problems."""
    environment, dag = _merged(scoped, given)
    run = scoped.within(environment, dag).lineage.report().run
    stored = run.report
    items: list[NearMiss | Problem] = [*stored.near_misses, *stored.problems] if stored else []
    header: dict[str, Any] = {
        "environment": escape(run.environment),
        "dag": escape(run.dag_name),
        "merged_at": moment(run.last_merged_at),
        "written": run.elements_written,
        "retired": run.elements_retired,
        "note": "" if stored else _NO_REPORT,
    }
    if stored:
        header["datasets_joined"] = stored.datasets_joined
        header["totals"] = {escape(key): number for key, number in stored.totals.items()}
        header["unmet"] = [text(each) for each in stored.unmet]
    return Found(items, _problem, header)


def _merged(scoped: ScopedGraph, given: ReportArguments) -> tuple[str, str]:
    """Return environment and DAG of the report: the only ones of the scope, if it does not set both.

    Raises `NotFound`, `Ambiguous`.
    """
    environment, dag = given.environment or scoped.environment, given.dag or scoped.dag
    if environment and dag:
        return environment, dag
    scopes = sorted(_scopes(scoped, environment, dag))
    named = tuple(f"{first} {second}" for first, second in scopes)
    if not scopes:
        is_folder = scoped.session.selection.folder
        raise NotFound("the graph has no merge" + (": folders of build have none" if is_folder else ""))
    if len(scopes) > 1:
        raise Ambiguous("several merges. Fix: set environment and dag", named)
    return scopes[0]


def _scopes(scoped: ScopedGraph, environment: str | None, dag: str | None) -> set[tuple[str, str]]:
    """Return the merged environments and DAGs; as of a moment those of the history."""
    if scoped.session.scope.as_of:
        known = {each.scope for each in scoped.session.scope.merges}
        return {
            (each.environment, each.dag_name)
            for each in known
            if environment in (None, each.environment) and dag in (None, each.dag_name)
        }
    ids = scoped.graph.ids([_MERGE_RUN], environment, dag)
    return {(decode(each.split("|")[0]), decode(each.split("|")[1])) for each in ids if "|" in each}


def _change(record: Mapping[str, Any]) -> ChangeRow:
    return ChangeRow(
        action=record["action"],
        kind=record["kind"],
        id=escape(record["id"]),
        source=escape(record["from"] or ""),
        property=text(record["property"], SHORT),
        before=text(record["before"]),
        after=text(record["after"]),
    )


def _only(record: Mapping[str, Any]) -> OnlyRow:
    return OnlyRow(
        environment=escape(record["environment"]),
        kind=record["kind"],
        id=escape(record["what"]),
        target=escape(record["to"] or ""),
    )


def _merge(record: Mapping[str, Any]) -> HistoryRow:
    return HistoryRow(
        merge=record["merge"],
        at=moment(record["at"]),
        environment=escape(record["environment"]),
        dag=escape(record["dag"]),
        event=record.get("event") or "",
        what=text(record.get("what")),
        name=text(record.get("name")),
        before=text(record.get("before")),
        after=text(record.get("after")),
        added=record.get("added") or 0,
        changed=record.get("changed") or 0,
        retired=record.get("retired") or 0,
    )


def _problem(item: "NearMiss | Problem") -> ReportRow:
    if isinstance(item, Problem):
        return ReportRow(
            kind=item.kind,
            document=text(_without_folder(item.document), SHORT),
            field=text(item.field, SHORT),
            message=text(item.message),
        )
    return ReportRow(
        kind="near-miss",
        written=escape(item.written),
        read=escape(item.read),
        score=item.score,
        evidence=[text(each) for each in item.evidence],
        fix_key=text(item.fix_key, SHORT),
        fix=[escape(line) for line in item.fix.splitlines()],
    )


def _without_folder(document: str) -> str:
    """Return a document without the folder of the machine that merged it."""
    local = document.removeprefix("file://")
    return local.rpartition("/")[2] if local.startswith("/") else document
