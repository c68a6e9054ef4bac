"""Facts about the last merge of an environment and DAG, as the properties of its `merge_run` vertex. Pure."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.infra.batches import gather
from lineage_merge.load.result import LoadResult
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import encode

LABEL = "merge_run"
# Characters. The stored report is for readers of the graph; report.json has the full list.
_MAX_REPORT_LENGTH = 200_000


@dataclass(frozen=True, slots=True)
class MergeRun:
    """The last merge of a DAG, as stored in the graph; times in ms since 1970."""

    environment: str
    dag_name: str
    last_merged_at: int
    elements_written: int
    elements_retired: int
    report: Report | None

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object for scripts."""
        values = {name: getattr(self, name) for name in self.__match_args__}
        return values | {"report": self.report.as_json() if self.report else None}


def run_id(environment: str, dag_name: str) -> str:
    """Return the id of the vertex: ``dev|tickit_daily|merge_run``."""
    return f"{encode(environment)}|{encode(dag_name)}|{LABEL}"


@dataclass(frozen=True, slots=True)
class LastLoad:
    """When the last load of a DAG ended, in ms since 1970 (0: never), and whether another has not ended.

    `is_followed`: loads of other DAGs have changed elements of the DAG since, or are about to. `edition`: a
    text that each load of the DAG replaces, in an embedded graph also whatever else changes the graph.
    """

    merged_at: int = 0
    is_unfinished: bool = False
    is_followed: bool = False
    edition: str = ""


def merge_run_of(environment: str, dag_name: str, properties: Mapping[str, Any]) -> MergeRun | None:
    """Return the last merge of a DAG by the properties of the vertex; None if no merge has ended."""
    if "last_merged_at" not in properties:
        return None
    return MergeRun(
        environment,
        dag_name,
        properties["last_merged_at"],
        properties.get("elements_written", 0),
        properties.get("elements_retired", 0),
        Report.from_json(json.loads(properties["report"])) if "report" in properties else None,
    )


def run_values(
    result: LoadResult, report: Report | None, *, requests: int, elements_read: int
) -> dict[str, Any]:
    """Return the facts about a merge that has ended now, as properties of the vertex."""
    numbers: dict[str, Any] = {
        "last_merged_at": time.time_ns() // 1_000_000,
        "elements_written": result.nodes + result.edges,
        "elements_retired": result.retired_nodes + result.retired_edges,
        "requests": requests,
        "elements_read": elements_read,
    }
    if report:
        numbers["documents_read"] = sum(report.read.values())
        numbers["not_joined"] = report.totals.get("not-joined", 0)
    return numbers | {"report": report_text(report)} if report else numbers


def report_text(report: Report) -> str:
    """Return the report as JSON; if too long, with the longest lists truncated (`totals` has all counts)."""
    shown = report.as_redacted_json()
    while True:
        text = json.dumps(shown, ensure_ascii=False)
        if len(text) <= _MAX_REPORT_LENGTH or not (shown["problems"] or shown["near_misses"]):
            return text
        near_misses = len(json.dumps(shown["near_misses"], ensure_ascii=False))
        if not shown["problems"] or near_misses > _MAX_REPORT_LENGTH // 2:
            shown["near_misses"] = shown["near_misses"][: len(shown["near_misses"]) // 2]
            continue
        by_kind = gather((problem["kind"], problem) for problem in shown["problems"])
        longest = max(by_kind, key=lambda kind: len(json.dumps(by_kind[kind])))
        by_kind[longest] = by_kind[longest][: len(by_kind[longest]) // 2]
        shown["problems"] = [problem for kind in by_kind.values() for problem in kind]
